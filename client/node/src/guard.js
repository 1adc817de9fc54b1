// The guard: a call of a tool that is made once per effect. The rules of every client are its order
// of things. Promise: fn is called only by a grant that is fresh and that somebody waits for, once
// for each grant; what it comes to is reported.

import { Claim } from './claim.js';
import { elapsedMs } from './clock.js';
import { currentRun } from './context.js';
import {
  decisionError,
  Failed,
  InvalidParams,
  Late,
  naming,
  ResultGone,
  Strange,
  wireError,
} from './errors.js';
import { rawMember } from './json.js';
import { coreOf } from './ledger.js';
import { beginParams } from './params.js';
import { withValueAt } from './pointer.js';
import { reportError, reportValue } from './report.js';
import { callSettings, guardSettings } from './settings.js';
import { joined } from './signals.js';

/** See index.d.ts. */
export function guard(ledger, options, fn) {
  const core = coreOf(ledger);
  const fixed = guardSettings(options);
  if (typeof fn !== 'function') {
    throw new TypeError('guard(): fn must be a function');
  }
  if (/Generator/.test(fn.constructor?.name)) {
    throw new TypeError('guard(): the work of a generator is not done when it returns');
  }
  const outcome = async (args, perCall = {}) => {
    const how = { ...core.settings, ...currentRun(), ...fixed, ...callSettings(perCall) };
    const { signal, leave } = joined(fixed.signal, perCall.signal);
    try {
      return await core.during(() => call(core, { ...how, signal }, fn, args));
    } finally {
      leave();
    }
  };
  const guarded = async (args, perCall) => (await outcome(args, perCall)).value;
  guarded.outcome = outcome;
  return guarded;
}

async function call(core, how, fn, args) {
  how.signal?.throwIfAborted();
  const { params, waitMs, leaseMs } = beginParams(how, args);
  const { message, text, sent } = await core.begin(params, {
    timeoutMs: how.beginTimeoutMs + waitMs,
    signal: how.signal,
    reportTimeoutMs: how.reportTimeoutMs,
  });
  if (message.error) {
    throw wireError(message.error);
  }
  const answer = message.result;
  switch (answer?.decision) {
    case 'run':
      return run(core, { ...how, leaseMs }, answer, sent, fn, args);
    case 'pass':
      how.signal?.throwIfAborted();
      return { value: await fn(args, passing(how.signal)), replayed: false };
    case 'replay':
      return replay(answer, text, how);
    default:
      throw typeof answer?.decision === 'string'
        ? decisionError(answer)
        : new Strange("the ledger's answer is none that this client knows: nothing was called", {
            answer,
          });
  }
}

function isGrant({ effect, token, lease_ms: leaseMs, waited_ms: waitedMs = 0 }) {
  return (
    typeof effect === 'string' &&
    typeof token === 'string' &&
    Number.isFinite(leaseMs) &&
    Number.isFinite(waitedMs)
  );
}

/** The args for fn: those that begin was sent get the provider's key where the policy wants it. */
function argsFor(grant, how, args) {
  const { provider_key_to: pointer } = grant;
  if (pointer === undefined || how.args !== undefined) {
    return { args };
  }
  try {
    return { args: withValueAt(args, String(pointer), grant.provider_key) };
  } catch (cause) {
    const why = `the provider's key has no place there: ${cause.message}`;
    const place = `/args${pointer}`; // as in the daemon's own InvalidParams
    return { fault: new InvalidParams(`params${place}: ${why}`, { cause, pointer: place, why }) };
  }
}

async function run(core, how, grant, sent, fn, args) {
  if (!isGrant(grant)) {
    throw new Strange('the ledger granted a run that is not whole: nothing was called', {
      answer: grant,
    });
  }
  const given = argsFor(grant, how, args);
  if (given.fault) {
    await core.say('release', grant, given.fault.message, how.reportTimeoutMs);
    throw given.fault;
  }
  if (how.signal?.aborted) {
    core.giveBack(grant, how.reportTimeoutMs);
    throw how.signal.reason;
  }
  const spanMs = grant.lease_ms + (grant.waited_ms ?? 0);
  if (elapsedMs(sent) >= spanMs) {
    await core.say(
      'release',
      grant,
      'the answer was too old to start the call by, it was not made',
      how.reportTimeoutMs,
    );
    throw new Late(
      naming(
        grant.effect,
        'the claim was older than its lease when the call could have started: it was given back, ' +
          'nothing was called',
      ),
      { effect: grant.effect, key: grant.key },
    );
  }
  const claim = new Claim(core, grant, { sent, spanMs, leaseMs: how.leaseMs, signal: how.signal });
  let value;
  try {
    value = done(await fn(given.args, claim.effect));
  } catch (error) {
    claim.end();
    await reportError(core, grant, error, how, claim.isStopped);
    throw error;
  }
  claim.end();
  await reportValue(core, grant, value, how);
  return { value, replayed: false, effect: grant.effect, key: grant.key, attempt: grant.attempt };
}

/** fn's value; not where its work is still to be done by whoever reads it. */
function done(value) {
  const isPending =
    typeof value?.next === 'function' || typeof value?.[Symbol.asyncIterator] === 'function';
  if (isPending) {
    throw new TypeError(
      'fn returned an iterator: its work is still to be done, and cannot be recorded',
    );
  }
  return value;
}

/** What fn gets where no claim is needed. */
function passing(signal = new AbortController().signal) {
  return Object.freeze({ signal, extend: async () => ({}) });
}

function replay(answer, text, how) {
  const { effect, key, attempt, done_at: doneAt, by, result_state: resultState } = answer;
  const raw = rawMember(rawMember(text, 'result'), 'result');
  const parsed = () => (how.parse && raw !== undefined ? how.parse(raw) : answer.result);
  if (answer.outcome === 'failed') {
    throw new Failed(
      `${answer.advice ?? 'it was refused for good'} (a replay: it failed at ${doneAt})`,
      { effect, key, answer, replayed: true, doneAt, raw, result: parsed() },
    );
  }
  if (answer.outcome !== 'succeeded') {
    throw new Strange(
      'the ledger replayed an outcome that this client does not know: nothing was called',
      { effect, key, answer },
    );
  }
  if (raw === undefined) {
    throw new ResultGone(
      naming(effect, `it was done at ${doneAt}, its result is kept no more: do not call again`),
      { effect, key, answer },
    );
  }
  return { value: parsed(), replayed: true, raw, effect, key, attempt, doneAt, by, resultState };
}
