// Every error of the package, one class each, by the names that all clients of effectd use.
// `message` is a sentence that may be shown to a model: where the daemon gave an advice it is that
// advice, with the effect's id, by which it can be looked up. None of these is ever a reason to try
// another key.

/** Everything that this package throws by itself. */
export class EffectError extends Error {
  /** `more`: members of the error, such as `effect`, `key`, `answer`; `cause` as of every Error. */
  constructor(message, { cause, ...more } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    for (const [name, value] of Object.entries(more)) {
      if (value !== undefined) {
        this[name] = value;
      }
    }
  }

  /** The text that a model may read. */
  get advice() {
    return typeof this.answer?.advice === 'string' ? this.answer.advice : this.message;
  }
}

// what begin decided, when it is not `run`: nothing was called; `answer` is what the daemon said

export class Busy extends EffectError {}
export class Mismatch extends EffectError {}
export class Unknown extends EffectError {}
export class Escalated extends EffectError {}
export class Exhausted extends EffectError {}
export class Held extends EffectError {}
/** It was done, and its result is kept no more. */
export class ResultGone extends EffectError {}
/** A decision, or an answer, that this version does not know. */
export class Strange extends EffectError {}

// ---- what fn says by throwing; Failed is also what a replayed failure is ----

/**
 * The provider refused for good: recorded, and replayed to every repeat. `result` (any JSON) is
 * kept with it.
 */
export class Failed extends EffectError {
  constructor(message, more) {
    super(message, more);
    this.replayed ??= false;
  }
}
/** The tool answered with an error; what that means is the policy's `on_error`. */
export class ToolError extends EffectError {}
/** It is certain that nothing was sent: the effect may be run again at once. */
export class NotSent extends EffectError {}

// ---- what happened to the call itself ----

/**
 * No answer in time, or the ledger is away: nobody was told to run anything, and nothing was
 * called.
 */
export class Unavailable extends EffectError {}
/** The grant was too old to start by; it was given back, and nothing was called. */
export class Late extends EffectError {}
/** The claim is lost: what effect.signal aborts with. */
export class Lost extends EffectError {}
/**
 * The call was made and its outcome could not be recorded. `value` is what came of it. Do not call
 * again.
 */
export class NotRecorded extends EffectError {}

// ---- errors that the daemon answered ----

/** `code`, `data`, `pointer`, `why`, `state`, `attempt`: as in the error object of the wire. */
export class WireError extends EffectError {}
export class ParseError extends WireError {}
export class InvalidRequest extends WireError {}
export class UnknownMethod extends WireError {}
export class InvalidParams extends WireError {}
export class Internal extends WireError {}
export class Denied extends WireError {}
export class NotFound extends WireError {}
export class NotOwner extends WireError {}
export class Overloaded extends WireError {}
export class ToolFailed extends WireError {}
/**
 * Another outcome stands than the one that was reported. `value` is what the call came to; a person
 * will look.
 */
export class Conflict extends WireError {}

// by hand, as a bundler may rename the classes
for (const [name, { prototype }] of Object.entries({
  EffectError,
  Busy,
  Mismatch,
  Unknown,
  Escalated,
  Exhausted,
  Held,
  ResultGone,
  Strange,
  Failed,
  ToolError,
  NotSent,
  Unavailable,
  Late,
  Lost,
  NotRecorded,
  WireError,
  ParseError,
  InvalidRequest,
  UnknownMethod,
  InvalidParams,
  Internal,
  Denied,
  NotFound,
  NotOwner,
  Overloaded,
  ToolFailed,
  Conflict,
})) {
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true });
}

const DECISIONS = {
  busy: Busy,
  mismatch: Mismatch,
  unknown: Unknown,
  escalated: Escalated,
  exhausted: Exhausted,
  held: Held,
};

const WIRE = {
  parse_error: ParseError,
  invalid_request: InvalidRequest,
  unknown_method: UnknownMethod,
  invalid_params: InvalidParams,
  internal: Internal,
  denied: Denied,
  not_found: NotFound,
  not_owner: NotOwner,
  overloaded: Overloaded,
  tool_failed: ToolFailed,
  conflict: Conflict,
  unavailable: Unavailable,
};

/** A sentence for a model, which can look the effect up. */
export function naming(effect, sentence) {
  return effect === undefined ? sentence : `${sentence} (effect ${effect})`;
}

/** The error of a decision that is neither run, replay nor pass. */
export function decisionError(answer) {
  const known = Object.hasOwn(DECISIONS, answer.decision);
  const advice =
    typeof answer.advice === 'string'
      ? answer.advice
      : `the answer was ${answer.decision}: do not call`;
  return new (known ? DECISIONS[answer.decision] : Strange)(naming(answer.effect, advice), {
    effect: answer.effect,
    key: answer.key,
    answer,
  });
}

/** The error of an error object that the daemon answered. */
export function wireError(error) {
  const data = error.data !== null && typeof error.data === 'object' ? error.data : {};
  const { pointer, why, state, attempt } = data;
  const Kind =
    typeof data.name === 'string' && Object.hasOwn(WIRE, data.name) ? WIRE[data.name] : WireError;
  const message =
    typeof error.message === 'string' ? error.message : 'the daemon answered with an error';
  const told = new Kind(message, { code: error.code, data, pointer, why, state, attempt });
  if (Kind === WireError && /^[a-z]+(_[a-z]+)*$/.test(data.name)) {
    told.name = data.name.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
  }
  return told;
}
