// JSON where JSON.parse and JSON.stringify lose something: the very text of a member, integers
// beyond 2^53, and values that JSON cannot carry, which must not turn into others without a word.
// Pure.

import { createHash, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';

const REASON_BYTES_MAX = 1000;

/** Where the value that starts at `at` ends. `text` is known to be JSON. */
function valueEnd(text, at) {
  let depth = 0;
  for (let i = at; ; i++) {
    switch (text[i]) {
      case '"':
        i = stringEnd(text, i) - 1;
        break;
      case '{':
      case '[':
        depth++;
        continue;
      case '}':
      case ']':
        depth--;
        break;
      case ',':
      case ':':
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        continue;
      default:
        i = scalarEnd(text, i) - 1;
    }
    if (depth === 0) {
      return i + 1;
    }
  }
}

/** Behind the closing quote of the string that starts at `at`. */
function stringEnd(text, at) {
  for (let i = text.indexOf('"', at + 1); ; i = text.indexOf('"', i + 1)) {
    let escapes = 0;
    while (text[i - 1 - escapes] === '\\') {
      escapes++;
    }
    if (escapes % 2 === 0) {
      return i + 1;
    }
  }
}

function scalarEnd(text, at) {
  let i = at + 1;
  while (i < text.length && !',:]} \t\n\r'.includes(text[i])) {
    i++;
  }
  return i;
}

function skipBlanks(text, at) {
  let i = at;
  while (' \t\n\r'.includes(text[i])) {
    i++;
  }
  return i;
}

/** How deep arrays and objects nest in it. */
export function depthOf(text) {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      i = stringEnd(text, i) - 1;
    } else if (c === '{' || c === '[') {
      deepest = Math.max(deepest, ++depth);
    } else if (c === '}' || c === ']') {
      depth--;
    }
  }
  return deepest;
}

/**
 * The very text of the member `name` of the object that stands at `text`; undefined if it has none.
 * `text` is JSON.
 */
export function rawMember(text, name) {
  let found;
  let i = skipBlanks(text, 0);
  if (text[i] !== '{') {
    return undefined;
  }
  i = skipBlanks(text, i + 1);
  while (text[i] === '"') {
    const nameEnd = stringEnd(text, i);
    const is = JSON.parse(text.slice(i, nameEnd)) === name;
    const start = skipBlanks(text, skipBlanks(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    found = is ? text.slice(start, end) : found; // as JSON.parse does: the last one counts
    i = skipBlanks(text, end);
    i = text[i] === ',' ? skipBlanks(text, i + 1) : i;
  }
  return found;
}

function kindOf(value) {
  return value.constructor?.name || 'object';
}

/** Would JSON lose this without a word? Why, or undefined. */
function lost(kept) {
  if (typeof kept === 'number' && !Number.isFinite(kept)) {
    return `${kept}`;
  }
  if (typeof kept === 'function' || typeof kept === 'symbol') {
    return `a ${typeof kept}`;
  }
  if (kept === null || typeof kept !== 'object' || Array.isArray(kept)) {
    return undefined;
  }
  const prototype = Object.getPrototypeOf(kept);
  const isPlain =
    prototype === null ||
    Object.getPrototypeOf(prototype) === null ||
    kept instanceof String ||
    kept instanceof Number ||
    kept instanceof Boolean;
  // a Map, a Set, an Error, a Promise, private fields: JSON.stringify writes {}, whatever is in
  // there
  return isPlain || Object.keys(kept).length > 0 ? undefined : `a ${kindOf(kept)}`;
}

/**
 * The JSON text of a value that JSON can carry; undefined is null. Throws a TypeError naming the
 * member where something would have been lost without a word: a Map, NaN, a function. A member that
 * is undefined is left out, as everywhere. `bigints`: their digits are written; else they are
 * refused.
 */
export function encode(value, { bigints = false } = {}) {
  let mark;
  const text = JSON.stringify(value === undefined ? null : value, function member(name, kept) {
    const why = kept === null && this[name] instanceof Date ? 'an invalid date' : lost(kept);
    if (why !== undefined) {
      throw new TypeError(
        `${name === '' ? 'the value' : `member '${name}'`} is ${why}, which JSON cannot carry`,
      );
    }
    if (typeof kept === 'bigint' && bigints) {
      mark ??= randomUUID();
      return `${mark}${kept}`;
    }
    return kept;
  });
  if (text === undefined) {
    throw new TypeError('the value is none that JSON can carry');
  }
  return mark === undefined ? text : text.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}

/** One line: a line end can only stand between two tokens, where a blank says the same. */
export function oneLine(text) {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, ' ') : text;
}

/** Something to tell of a value that is no JSON. Never throws. */
export function describe(value) {
  try {
    return typeof value === 'string' ? value : inspect(value);
  } catch {
    return `a ${typeof value}`;
  }
}

/** What `omitted` says of a text. */
export function digest(text) {
  return {
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  };
}

/**
 * A text that the wire takes as a reason: at most 1000 bytes, no U+0000, no half of a surrogate
 * pair, not empty.
 */
export function reasonText(text) {
  const clean = text
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replaceAll('\0', ' ')
    .trim();
  const bytes = Buffer.from(clean === '' ? 'no reason was given' : clean);
  let end = Math.min(bytes.length, REASON_BYTES_MAX);
  while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) {
    end--;
  }
  return bytes.toString('utf8', 0, end);
}
