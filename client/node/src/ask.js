// Asks, and asks again: the same params on a new connection, after a pause, until there is an
// answer that stands or the time is over. Holds the connections: one, and another for each so many
// begins, since a daemon reads no further where too many requests of one connection are open, and
// the report that they wait for must not stand behind them.

import { nowMs, sleep, TIMER_MS_MAX } from './clock.js';
import { Connection } from './connection.js';
import { Unavailable } from './errors.js';
import { onAbort } from './signals.js';

const PAUSE_MS = 50;
const PAUSE_MS_MAX = 1000;

const AGAIN = new Set(['unavailable', 'internal', 'overloaded', -32001, -32603, -32006]);

export class Connections {
  #path;
  #beginsMax;
  #all = [];

  /**
   * `path` is a function. `maxInflight`: so many open requests of a connection the daemon takes.
   */
  constructor(path, maxInflight) {
    this.isClosed = false;
    this.#path = path;
    // a daemon that stopped reading goes on at half of its limit
    this.#beginsMax = Math.max(1, Math.floor((maxInflight - 1) / 2));
  }

  /** The one to send on; opened here if there is none. */
  pick(method) {
    const begins = method === 'begin' || method === 'execute';
    this.#all = this.#all.filter((connection) => !connection.closed);
    let found = begins
      ? this.#all.find((connection) => connection.nBegins < this.#beginsMax)
      : undefined;
    if (!begins && this.#all.length > 0) {
      found = this.#all.reduce((least, connection) =>
        connection.nOpen < least.nOpen ? connection : least,
      );
    }
    if (!found) {
      found = new Connection(this.#path());
      this.#all.push(found);
    }
    return found;
  }

  destroy(why) {
    this.isClosed = true;
    for (const connection of this.#all) {
      connection.destroy(why);
    }
    this.#all = [];
  }
}

/**
 * One try. Resolves to { message, text, sent } or { lost }; to undefined when `until` is over or
 * `signal` aborted first. The answer may still come then: late(promise) gets it, or { lost }.
 */
function once(connections, method, params, { until, signal, late }) {
  return new Promise((resolve) => {
    const connection = connections.pick(method);
    let open;
    let later; // resolves what late() got
    const settle = (value) => {
      clearTimeout(timer);
      off?.();
      resolve(value);
    };
    const leave = () => {
      connection.hush(open);
      late?.(
        new Promise((resolveLater) => {
          later = resolveLater;
        }),
      );
      settle(undefined);
    };
    const came = (answer) => (later ?? settle)(answer);
    const timer = setTimeout(leave, Math.min(Math.max(0, until - nowMs()), TIMER_MS_MAX));
    const off = signal && onAbort(signal, leave);
    open = connection.send(method, params, {
      answered: came,
      lost: (error) => came({ lost: error }),
    });
  });
}

function pauseAfter(error, n) {
  const told = error?.data?.retry_after_ms;
  const pause =
    Number.isFinite(told) && told >= 0 ? told : Math.min(PAUSE_MS * 2 ** n, PAUSE_MS_MAX);
  return pause * (1 + Math.random() / 2);
}

function isWhole(message) {
  return Object.hasOwn(message, 'error')
    ? message.error !== null && typeof message.error === 'object'
    : Object.hasOwn(message, 'result');
}

/**
 * Resolves to { message, text, sent }: an answer that stands, with its line and the instant at
 * which its request was sent. Throws Unavailable after `timeoutMs`, or `signal.reason`; an answer
 * that comes after that goes to `late` (as a promise, see above). `params` is JSON; the very same
 * text is sent each time.
 */
export async function ask(connections, method, params, { timeoutMs, signal, late }) {
  const until = nowMs() + timeoutMs;
  for (let n = 0; ; n++) {
    signal?.throwIfAborted();
    if (connections.isClosed) {
      throw unavailable(method, timeoutMs, 'the ledger was closed');
    }
    const answer = await once(connections, method, params, { until, signal, late });
    if (signal?.aborted) {
      if (answer?.message) {
        late?.(Promise.resolve(answer));
      }
      throw signal.reason;
    }
    if (answer === undefined) {
      throw unavailable(method, timeoutMs, 'no answer came');
    }
    const error = answer.message?.error;
    if (
      answer.message &&
      isWhole(answer.message) &&
      !(error && AGAIN.has(error.data?.name ?? error.code))
    ) {
      return answer;
    }
    const pause = pauseAfter(error, n);
    if (nowMs() + pause >= until) {
      throw unavailable(
        method,
        timeoutMs,
        error?.message ?? answer.lost?.message ?? 'the answer was none',
        answer.lost,
        error,
      );
    }
    await sleep(pause, signal);
  }
}

function unavailable(method, timeoutMs, why, cause, error) {
  const end = method === 'begin' ? 'nothing was called' : 'it may have been done';
  return new Unavailable(
    `no answer to ${method} within ${Math.round(timeoutMs)} ms (${why}): ${end}`,
    { cause, code: error?.code, data: error?.data },
  );
}
