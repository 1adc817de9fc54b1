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

/** An instant, for elapsedMs(). */
export function instant() {
  return { process: performance.now(), host: uptime() * 1000 };
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
