// What is behind a Ledger: its connections, its settings, and who is still at work. The guard and
// the plain methods stand on it.

import { ask, Connections } from './ask.js';
import { Unavailable } from './errors.js';
import { encode, reasonText } from './json.js';
import { socketPath } from './place.js';

const LINGER_MS = 5000; // close(), and the process, wait so long for an answer that nobody needs

/** Resolves with `promise`, which does not reject, or after so long. */
function atMost(promise, ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export class Core {
  #connections;
  #nAtWork = 0;
  #isClosed = false;
  #onIdle = [];

  constructor(settings) {
    this.settings = settings;
    if (settings.socket !== undefined) {
      socketPath(settings.socket); // a path that no socket can have is found out here
    }
    this.#connections = new Connections(() => socketPath(settings.socket), settings.maxInflight);
  }

  /**
   * Does `work` (a function that returns a promise), unless the ledger was closed: then it throws.
   */
  async during(work) {
    if (this.#isClosed) {
      throw new Unavailable('the ledger was closed: nothing was called');
    }
    return this.#during(work);
  }

  /** close() waits for it. */
  async #during(work) {
    this.#nAtWork++;
    try {
      return await work();
    } finally {
      this.#nAtWork--;
      if (this.#nAtWork === 0) {
        this.#onIdle.splice(0).forEach((resolve) => resolve());
      }
    }
  }

  /** See ask.js. `params` is JSON. */
  ask(method, params, { timeoutMs, signal, late }) {
    return ask(this.#connections, method, params, { timeoutMs, signal, late });
  }

  /** begin. A `run` that comes when nobody waits for it any more is given back. */
  begin(params, { timeoutMs, signal, reportTimeoutMs = this.settings.reportTimeoutMs }) {
    const late = (promise) => {
      const back = promise.then(({ message }) => {
        if (message?.result?.decision === 'run') {
          this.giveBack(message.result, reportTimeoutMs);
        }
      });
      this.#during(() => atMost(back, LINGER_MS));
    };
    return this.ask('begin', params, { timeoutMs, signal, late });
  }

  /** release in the background: the caller of this grant has left. */
  giveBack(grant, timeoutMs) {
    const reason = 'nobody waits for this call any more, it was not made';
    this.#during(() => this.say('release', grant, reason, timeoutMs));
  }

  /**
   * release or unknown, asked until it is answered or the time is over: the end of the lease says
   * the same. Never throws.
   */
  async say(method, grant, reason, timeoutMs) {
    try {
      await this.ask(
        method,
        encode({ effect: grant.effect, token: grant.token, reason: reasonText(reason) }),
        { timeoutMs },
      );
    } catch {
      // the end of the lease says it
    }
  }

  /** Takes nothing new, waits for what is under way, then closes the connections. */
  async close() {
    this.#isClosed = true;
    if (this.#nAtWork > 0) {
      await new Promise((resolve) => this.#onIdle.push(resolve));
    }
    this.destroy();
  }

  /**
   * Closes the connections at once: what is open is unavailable, claims that are held turn unknown.
   */
  destroy() {
    this.#isClosed = true;
    this.#connections.destroy(new Error('the ledger was closed'));
  }
}
