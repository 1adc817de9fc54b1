// Reports what fn came to. Promise: whatever it came to, the daemon is told, and the caller gets a
// value only where it stands recorded. A result's text, its size or its kind never prevents that.

import {
  Conflict,
  EffectError,
  Failed,
  naming,
  NotFound,
  NotOwner,
  NotRecorded,
  NotSent,
  ToolError,
  wireError,
} from './errors.js';
import { describe, digest, encode, oneLine } from './json.js';

const ENVELOPE_BYTES = 80; // of a line around its params, at most

/** The JSON of a result, or of its place: `"result":...` or `"omitted":...`. */
function resultMember(value, stringify) {
  try {
    if (!stringify) {
      return { result: encode(value) };
    }
    const text = oneLine(stringify(value));
    JSON.parse(text); // whatever it is called with: a line must stay one
    return { result: text };
  } catch {
    return omitted(describe(value));
  }
}

function omitted(text) {
  return { omitted: JSON.stringify(digest(text)) };
}

function members(object) {
  return `{${Object.entries(object)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}

/**
 * complete's params as JSON; `value` is made JSON here. short(): the same with a result left out.
 */
export function completeParams({ effect, token, outcome }, value, { stringify, maxLine }) {
  const head = {
    effect: JSON.stringify(effect),
    token: JSON.stringify(token),
    outcome: encode(outcome),
  };
  const result = resultMember(value, stringify);
  const whole = members({ ...head, ...result });
  const short = () =>
    result.result === undefined ? whole : members({ ...head, ...omitted(result.result) });
  return { short, params: Buffer.byteLength(whole) + ENVELOPE_BYTES > maxLine ? short() : whole };
}

/**
 * complete, with a result that is too long for this daemon's lines left out. Resolves to what ask()
 * does.
 */
export async function complete(core, { params, short }, timeoutMs) {
  const answer = await core.ask('complete', params, { timeoutMs });
  const isRefused = answer.message.error?.data?.name === 'invalid_request';
  return isRefused && params !== short() ? core.ask('complete', short(), { timeoutMs }) : answer;
}

/** Throws NotRecorded or Conflict, each with the value, unless it is recorded. */
async function record(core, grant, outcome, value, how, cause) {
  const { effect, key } = grant;
  const fail = (Kind, what, error, more) => {
    const message = `the call was made, and ${what}: do not call again (${error.message})`;
    throw new Kind(naming(effect, message), { ...more, effect, key, value, cause: cause ?? error });
  };
  let answer;
  try {
    const params = completeParams({ effect, token: grant.token, outcome }, value, how);
    answer = await complete(core, params, how.completeTimeoutMs);
  } catch (error) {
    fail(NotRecorded, 'its outcome could not be recorded', error);
  }
  if (!answer.message.error) {
    return;
  }
  const error = wireError(answer.message.error);
  if (error instanceof Conflict || error instanceof NotOwner || error instanceof NotFound) {
    const { code, data, state, attempt } = error;
    const what = 'another outcome stands in the ledger, a person will look';
    fail(Conflict, what, error, { code, data, state, attempt });
  }
  fail(NotRecorded, 'its outcome was not taken', error);
}

/** fn returned `value`. */
export function reportValue(core, grant, value, how) {
  return record(core, grant, 'succeeded', value, how);
}

// What a time-out, a cancellation or a lost connection calls itself: of such a call nobody knows,
// whatever kinds of errors were named. The words are those of every client (rule 6).
const NOBODY_KNOWS = new RegExp(
  'time[ _-]?d?[ _-]?out|deadline|abort|cancel|connection|disconnect|socket|network|transport|' +
    'pipe|protocol|incomplete|terminated|^E(CONN|HOST|NET|PIPE)|^ERR_(HTTP2|STREAM)|UND_ERR|' +
    '^fetch failed|^HPE_',
  'i',
);
const CAUSES_MAX = 16; // a chain of causes may be a ring

function* kindsOf(error) {
  yield* [error.name, error.code, error.type];
  for (let at = Object.getPrototypeOf(error); at; at = Object.getPrototypeOf(at)) {
    yield at.constructor?.name;
  }
  if (error.name === 'Error' || error.name === 'TypeError') {
    yield error.message; // it has no kind of its own
  }
}

/** By its kinds, and those of what it was caused by. */
function isOpen(error) {
  let n = 0;
  for (let at = error; at instanceof Object && n < CAUSES_MAX; at = at.cause, n++) {
    if ([...kindsOf(at)].some((kind) => typeof kind === 'string' && NOBODY_KNOWS.test(kind))) {
      return true;
    }
  }
  return false;
}

function isNamed(error, errors) {
  try {
    // an error of this package speaks of another call
    if (errors === undefined || error instanceof EffectError || isOpen(error)) {
      return false;
    }
    return Array.isArray(errors)
      ? errors.some((Kind) => error instanceof Kind)
      : errors(error) === true;
  } catch {
    return false;
  }
}

function reasonOf(error) {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : describe(error);
  } catch {
    return 'an error that cannot be told';
  }
}

/** What is recorded of an error: its `result`, else its message. */
function resultOf(error) {
  return error?.result === undefined ? { error: reasonOf(error) } : error.result;
}

// Errors that were the word about one claim. Where such a one comes out of a guarded call inside
// another's fn, it says nothing about the outer call: what is not sent in there may be sent out
// here.
const spoken = new WeakSet();

/** What fn said by this error: failed, not_sent, tool_error; else nobody knows. */
function wordOf(error, errors) {
  if (error instanceof Object) {
    if (spoken.has(error) || error.replayed) {
      return 'unknown';
    }
    spoken.add(error);
  }
  if (error instanceof Failed) {
    return 'failed';
  }
  if (error instanceof NotSent) {
    return 'not_sent';
  }
  return error instanceof ToolError || isNamed(error, errors) ? 'tool_error' : 'unknown';
}

/**
 * fn ended by `error`. Resolves when the daemon was told; the caller then gets that error. Where fn
 * was told to stop (`isStopped`), what it ends by may be that, whatever it calls itself: then
 * nothing but its own words counts.
 */
export async function reportError(core, grant, error, how, isStopped) {
  const word = wordOf(error, isStopped ? undefined : how.errors);
  if (word === 'failed' || word === 'tool_error') {
    await record(core, grant, word === 'failed' ? 'failed' : 'error', resultOf(error), how, error);
  } else {
    await core.say(
      word === 'not_sent' ? 'release' : 'unknown',
      grant,
      reasonOf(error),
      how.reportTimeoutMs,
    );
  }
}
