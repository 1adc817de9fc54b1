// The clock by which a grant is fresh: it goes on while the host sleeps. Node's own (hrtime,
// performance.now, timers) is CLOCK_MONOTONIC, which stops then; os.uptime() goes on, but tells
// hundredths of a second only (whole ones where there is no /proc). So both are asked, and whoever
// says that more time went by is believed: at worst a call is not started that could have been,
// never the other way round.

import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';

import { onAbort } from './signals.js';

const UPTIME_STEP_MS = 10;

/** What setTimeout() takes; more of it would be none. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Milliseconds of the process, for deadlines and back-off. Stops while the host sleeps, as timers
 * do.
 */
export function nowMs() {
  return performance.now();
}

const INSTANT_KEEP_MS = 10;
let last = { process: -Infinity, host: 0 };

/**
 * An instant, for elapsedMs(). The host's clock costs a few microseconds, so its value may be one
 * of a moment ago: then too much seems to have gone by since, by so little.
 */
export function instant() {
  const now = performance.now();
  if (now - last.process >= INSTANT_KEEP_MS) {
    last = { process: now, host: uptime() * 1000 };
  }
  return { process: now, host: last.host };
}

/** How long ago that was, in milliseconds; never too little. */
export function elapsedMs(since) {
  return Math.max(performance.now() - since.process, uptime() * 1000 - since.host + UPTIME_STEP_MS);
}

/**
 * Resolves after so many milliseconds, or at once when `signal` aborts: whoever waits looks for
 * himself.
 */
export function sleep(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      off?.();
      resolve();
    };
    const off = signal && onAbort(signal, end);
    const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX));
  });
}
