// Puts the provider's key where the policy's provider_key_to says, in a copy of the args. Pure.

/** The parts of a JSON pointer (RFC 6901). */
function partsOf(pointer) {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function withMember(container, name, value) {
  const copy = Array.isArray(container) ? [...container] : { ...container };
  // not by assignment, which would not make a member of '__proto__'
  Object.defineProperty(copy, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
  return copy;
}

function put(container, [name, ...rest], value) {
  if (name === undefined) {
    return value;
  }
  const isList = Array.isArray(container);
  const isThere = container !== undefined && Object.hasOwn(Object(container), name);
  if (container === null || (container !== undefined && typeof container !== 'object')) {
    throw new TypeError('something on the way is no object');
  }
  if (isList && !(isThere && /^(0|[1-9]\d*)$/.test(name))) {
    throw new TypeError('something on the way is no element of an array');
  }
  return withMember(container ?? {}, name, put(isThere ? container[name] : undefined, rest, value));
}

/**
 * A copy of `args` (absent: {}) with `value` at `pointer`; members that are missing on the way are
 * made. Throws a TypeError where it cannot be put there.
 */
export function withValueAt(args, pointer, value) {
  if (!pointer.startsWith('/')) {
    throw new TypeError('it is no pointer to a member');
  }
  return put(args ?? undefined, partsOf(pointer), value);
}
