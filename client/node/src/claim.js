// A claim that is held while fn runs: keeps its lease, and tells fn when it is lost. Promise:
// nothing is extended after end(), and no timer of it keeps the process alive.

import { elapsedMs, TIMER_MS_MAX } from './clock.js';
import { Lost, NotOwner, Unavailable, wireError } from './errors.js';
import { encode } from './json.js';
import { onAbort } from './signals.js';

const KEEP_MS_MIN = 50;

export class Claim {
  #core;
  #grant;
  #leaseMs; // what the caller asked for; undefined: the policy's
  #from; // the lease is good for #spanMs from this instant
  #spanMs;
  #controller; // of effect.signal, made when it is asked for
  #aborted; // { reason } by which effect.signal is or will be aborted
  #stop; // of extends
  #off; // the caller's signal is listened to no more
  #timer;
  #isOver = false;

  constructor(core, grant, { sent, spanMs, leaseMs, signal }) {
    this.#core = core;
    this.#grant = grant;
    this.#leaseMs = leaseMs;
    this.#from = sent;
    this.#spanMs = spanMs;
    this.#off = signal && onAbort(signal, () => this.#abort(signal.reason));
    const signalOf = () => this.#signal();
    this.effect = Object.freeze({
      id: grant.effect,
      key: grant.key,
      attempt: grant.attempt,
      providerKey: grant.provider_key,
      get signal() {
        return signalOf();
      },
      extend: (ms) => this.#extendNow(ms),
    });
    this.#plan(spanMs);
  }

  #signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) {
        this.#controller.abort(this.#aborted.reason);
      }
    }
    return this.#controller.signal;
  }

  #abort(reason) {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }

  /** Was fn told to stop: is the claim lost, or the call given up? */
  get isStopped() {
    return this.#aborted !== undefined;
  }

  /** fn is over. */
  end() {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.#off?.();
  }

  #leftMs() {
    return this.#spanMs - elapsedMs(this.#from);
  }

  #plan(left = this.#leftMs()) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#keep(),
      left <= 0 ? 0 : Math.min(Math.max(left / 3, KEEP_MS_MIN), TIMER_MS_MAX),
    );
    this.#timer.unref();
  }

  #lose(why) {
    if (!this.#isOver) {
      clearTimeout(this.#timer);
      this.#isOver = true;
      this.#abort(
        new Lost(`the claim on this call is lost: ${why}`, {
          effect: this.#grant.effect,
          key: this.#grant.key,
        }),
      );
    }
  }

  async #keep() {
    const left = this.#leftMs();
    if (left <= 0) {
      this.#lose('its lease ran out');
      return;
    }
    try {
      await this.#extend(this.#leaseMs, left);
    } catch (error) {
      if (error instanceof NotOwner || this.#leftMs() <= 0) {
        this.#lose(error instanceof NotOwner ? 'it is not held any more' : 'its lease ran out');
      }
    }
    if (!this.#isOver) {
      this.#plan();
    }
  }

  /**
   * Throws what the daemon answered, or Unavailable where it gave no answer while the lease was
   * good.
   */
  async #extend(leaseMs, timeoutMs) {
    this.#stop ??= new AbortController();
    const params = encode({
      effect: this.#grant.effect,
      token: this.#grant.token,
      lease_ms: leaseMs,
    });
    const { message, sent } = await this.#core.ask('extend', params, {
      timeoutMs,
      signal: this.#stop.signal,
    });
    if (message.error) {
      throw wireError(message.error);
    }
    const spanMs = leaseMs ?? this.#grant.lease_ms;
    if (spanMs - elapsedMs(sent) > this.#leftMs()) {
      this.#from = sent;
      this.#spanMs = spanMs;
    }
    return message.result;
  }

  /** effect.extend(): a longer lease, now. */
  async #extendNow(ms) {
    if (this.#isOver) {
      throw new Lost('the claim on this call is not held any more');
    }
    try {
      const result = await this.#extend(ms ?? this.#leaseMs, Math.max(this.#leftMs(), 0));
      if (!this.#isOver) {
        this.#plan();
      }
      return { state: result.state, leaseUntil: result.lease_until };
    } catch (error) {
      if (error instanceof NotOwner || (error instanceof Unavailable && this.#leftMs() <= 0)) {
        this.#lose('it is not held any more');
      }
      throw error;
    }
  }
}
