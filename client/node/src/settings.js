// The options of a ledger, of a guard and of a call: which there are, their defaults and their
// limits. A misspelt guard must not be silently off, so a name that is not here is an error.

const LEDGER = [
  'socket',
  'namespace',
  'owner',
  'waitMs',
  'beginTimeoutMs',
  'completeTimeoutMs',
  'reportTimeoutMs',
  'maxLine',
  'maxInflight',
  'parse',
  'stringify',
];
const GUARD = [
  'tool',
  'key',
  'args',
  'namespace',
  'owner',
  'run',
  'step',
  'turn',
  'call',
  'again',
  'leaseMs',
  'waitMs',
  'beginTimeoutMs',
  'completeTimeoutMs',
  'reportTimeoutMs',
  'errors',
  'signal',
  'parse',
  'stringify',
];
const CALL = ['key', 'run', 'step', 'turn', 'call', 'again', 'waitMs', 'signal'];
const TIMES = ['waitMs', 'beginTimeoutMs', 'completeTimeoutMs', 'reportTimeoutMs'];

const DEFAULTS = {
  waitMs: 30000, // begin waits so long for an outcome
  beginTimeoutMs: 10000, // on top of waitMs
  completeTimeoutMs: 60000,
  reportTimeoutMs: 5000, // of release and unknown
  maxLine: 1048576, // bytes: the daemon's max_line
  maxInflight: 256, // the daemon's max_inflight
};

function only(options, names, what) {
  if (options === null || typeof options !== 'object') {
    throw new TypeError(`${what}: the options must be an object`);
  }
  const strange = Object.keys(options).find((name) => !names.includes(name));
  if (strange !== undefined) {
    throw new TypeError(`${what}: there is no option '${strange}', there are ${names.join(', ')}`);
  }
  for (const name of TIMES) {
    const value = options[name];
    if (
      value !== undefined &&
      typeof value !== 'function' &&
      !(Number.isFinite(value) && value >= 0)
    ) {
      throw new TypeError(`${what}: ${name} must be a number of milliseconds`);
    }
  }
  if (options.signal !== undefined && typeof options.signal?.addEventListener !== 'function') {
    throw new TypeError(`${what}: signal must be an AbortSignal`);
  }
}

/** A copy without what is undefined, which is the same as absent. */
function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

export function ledgerSettings(options) {
  only(options, LEDGER, 'new Ledger()');
  return { ...DEFAULTS, ...given(options) };
}

export function guardSettings(options) {
  only(options, GUARD, 'guard()');
  if (typeof options.tool !== 'string' && typeof options.tool !== 'function') {
    throw new TypeError('guard(): tool must be named');
  }
  const { errors } = options;
  if (errors !== undefined && typeof errors !== 'function' && !Array.isArray(errors)) {
    throw new TypeError(
      'guard(): errors must be an array of classes, or a function of an error that says true',
    );
  }
  return given(options);
}

export function callSettings(options) {
  only(options, CALL, 'a guarded call');
  return given(options);
}
