// The ledger as the caller has it: the daemon's methods, asked until there is an answer. The guard
// (guard.js) is the short way.

import { randomUUID } from 'node:crypto';

import { elapsedMs } from './clock.js';
import { Core } from './core.js';
import { wireError } from './errors.js';
import { rawMember } from './json.js';
import { paramsText } from './params.js';
import { complete, completeParams } from './report.js';
import { ledgerSettings } from './settings.js';

let coreOf;

export class Ledger {
  #core;

  static {
    coreOf = (ledger) => {
      if (!(ledger instanceof Ledger)) {
        throw new TypeError('guard(): the first argument must be a Ledger');
      }
      return ledger.#core;
    };
  }

  constructor(options = {}) {
    this.#core = new Core(ledgerSettings(options));
  }

  async #ask(method, params, { timeoutMs = this.#core.settings.beginTimeoutMs, signal } = {}) {
    const text = paramsText(params);
    return this.#core.during(async () => {
      const how = { timeoutMs: timeoutMs + (params.wait_ms ?? 0), signal };
      return resultOf(
        await (method === 'begin'
          ? this.#core.begin(text, how)
          : this.#core.ask(method, text, how)),
      );
    });
  }

  /** Params that every begin has: those of the ledger, and a request of its own. */
  #identity(params, more) {
    const { namespace, owner } = this.#core.settings;
    return { namespace, ...(more && { owner, request: randomUUID() }), ...params };
  }

  async begin(params, how) {
    return this.#ask('begin', this.#identity(params, true), how);
  }

  async execute(params, how) {
    return this.#ask('execute', this.#identity(params, true), how);
  }

  async key(params, how) {
    return this.#ask('key', this.#identity(params), how);
  }

  async get(params, how) {
    return this.#ask('get', params.effect === undefined ? this.#identity(params) : params, how);
  }

  async list(params = {}, how = undefined) {
    return this.#ask('list', this.#identity(params), how);
  }

  async complete(
    { effect, token, outcome, result },
    { timeoutMs = this.#core.settings.completeTimeoutMs } = {},
  ) {
    const params = completeParams(
      { effect, token, outcome: outcome ?? 'succeeded' },
      result,
      this.#core.settings,
    );
    return this.#core.during(async () => resultOf(await complete(this.#core, params, timeoutMs)));
  }

  async release(params, how) {
    return this.#ask('release', params, how);
  }

  async unknown(params, how) {
    return this.#ask('unknown', params, how);
  }

  async extend(params, how) {
    return this.#ask('extend', params, how);
  }

  async call(method, params = {}, how = undefined) {
    if (!/^[a-z_]+$/.test(method)) {
      throw new TypeError("call(): a method's name is of small letters");
    }
    return this.#ask(method, params, how);
  }

  async close() {
    await this.#core.close();
  }

  destroy() {
    this.#core.destroy();
  }
}

if (Symbol.asyncDispose) {
  Object.defineProperty(Ledger.prototype, Symbol.asyncDispose, {
    value: Ledger.prototype.close,
    configurable: true,
    writable: true,
  });
}

/**
 * The result of an answer, as the daemon told it, or its error thrown. Beside its members, and not
 * among them: `rawResult`, the very text of its member `result`, and `isFresh()`, whether a call
 * may still be started by it.
 */
function resultOf({ message, text, sent }) {
  if (message.error) {
    throw wireError(message.error);
  }
  const { result } = message;
  if (result === null || typeof result !== 'object') {
    return result;
  }
  return Object.defineProperties(result, {
    rawResult: { get: () => rawMember(rawMember(text, 'result'), 'result') },
    isFresh: {
      value: () =>
        result.decision === 'pass' ||
        (result.decision === 'run' && elapsedMs(sent) < result.lease_ms + (result.waited_ms ?? 0)),
    },
  });
}

export { coreOf };
