// What is sent to begin and its like: the params as JSON, or InvalidParams for what the daemon
// could not answer by name.

import { randomUUID } from 'node:crypto';

import { InvalidParams } from './errors.js';
import { depthOf, encode } from './json.js';

const DEPTH_MAX = 63; // of params: 64 of a line
const PARTS = ['tool', 'key', 'namespace', 'run', 'step', 'turn', 'call', 'owner', 'again'];

/** Throws InvalidParams. */
export function paramsText(params) {
  let text;
  try {
    text = encode(params, { bigints: true });
  } catch (cause) {
    throw new InvalidParams(`params: ${cause.message}`, { cause, why: cause.message });
  }
  if (depthOf(text) > DEPTH_MAX) {
    throw new InvalidParams(`params nest deeper than ${DEPTH_MAX} levels`, {
      why: 'nests too deep',
    });
  }
  return text;
}

/** A key that was put together from something that was not there is the key of every such call. */
function keyChecked(key) {
  const parts = typeof key === 'string' ? key.split(/[^A-Za-z0-9[\] ]/) : [];
  const hollow = parts.find((part) =>
    ['undefined', 'null', 'NaN', '[object Object]'].includes(part),
  );
  if (hollow !== undefined || key === undefined || key === null || key === '') {
    const why = hollow === undefined ? 'the key is empty' : `'${key}' has a part that is ${hollow}`;
    throw new InvalidParams(`params/key: ${why}`, { pointer: '/key', why });
  }
  return key;
}

/**
 * Of a guarded call: { params, waitMs, leaseMs }. `how` are its options; those that are functions
 * are asked with the args. The `request` is made here: one for each call, in memory only.
 */
export function beginParams(how, args) {
  const said = (name) => (typeof how[name] === 'function' ? how[name](args) : how[name]);
  const params = Object.fromEntries(PARTS.map((name) => [name, said(name)]));
  if (how.key !== undefined) {
    params.key = keyChecked(params.key);
  }
  const waitMs = said('waitMs');
  if (!(waitMs >= 0)) {
    throw new InvalidParams('params/wait_ms must be a number', { pointer: '/wait_ms' });
  }
  params.args = how.args === undefined ? args : said('args');
  params.args ??= undefined;
  params.request = randomUUID();
  params.lease_ms = said('leaseMs');
  params.wait_ms = waitMs;
  params.bind = true;
  return { params: paramsText(params), waitMs, leaseMs: params.lease_ms };
}
