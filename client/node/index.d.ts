// effectd for Node: guards calls that change the world by a local effectd, which remembers each of
// them. Ask before the call, make it only if the answer is `run`, report what came of it: guard()
// does all of that. The wire is daemon/protocol.md of the project, the rules of every client are
// client/README.md there. All times are milliseconds, all instants RFC 3339 texts in UTC.

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

// ---- the ledger ----

/** Limits and times of a ledger; a guard may have its own for all but the socket and the limits. */
export interface LedgerOptions {
  /** Path of the daemon's socket. Absent: $EFFECTD_SOCKET, the user's daemon, the system's. */
  socket?: string;
  /** Needed only by who has rights in several. */
  namespace?: string;
  /** A label of this process, told to others who find an effect busy; at most 255 bytes. */
  owner?: string;
  /** 0 to 60000, default 30000: on busy and unknown a guarded call waits for the outcome. */
  waitMs?: number;
  /** Default 10000, on top of waitMs: begin is asked again for so long, then it is Unavailable. */
  beginTimeoutMs?: number;
  /** Default 60000: a result is reported again for so long, then it is NotRecorded. */
  completeTimeoutMs?: number;
  /** Default 5000: release and unknown are said again; the lease's end says the same. */
  reportTimeoutMs?: number;
  /** The daemon's max_line, default 1048576 bytes: a longer result is recorded by its hash. */
  maxLine?: number;
  /** The daemon's max_inflight, default 256: half of it begins on one connection, then another. */
  maxInflight?: number;
  /** Reads a recorded result; JSON.parse, which rounds integers beyond 2^53, if absent. */
  parse?: (text: string) => unknown;
  /** Writes a result as JSON; absent: JSON.stringify, but nothing is lost without a word. */
  stringify?: (value: unknown) => string;
}

/** How long a plain method is asked, and until when anybody wants the answer. */
export interface AskOptions {
  /** Default: beginTimeoutMs (completeTimeoutMs for complete). */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Params of begin, execute and key, by their names on the wire. */
export interface BeginParams {
  tool: string;
  key?: string;
  args?: object;
  namespace?: string;
  run?: string | number | bigint;
  step?: string | number | bigint;
  turn?: string | number | bigint;
  call?: string;
  owner?: string;
  /** UUID of this one call; made here if absent. In memory only, never in a checkpoint. */
  request?: string;
  lease_ms?: number;
  wait_ms?: number;
  deadline_ms?: number;
  bind?: boolean;
  again?: string;
}

/** What a method answered: the members of the wire by their names, and two things beside them. */
export interface Answer {
  [member: string]: any;
  /** The very text of the member `result`; undefined where there is none. Not enumerable. */
  readonly rawResult: string | undefined;
  /** May the call be started by this answer, now? Ask right before it. Not enumerable. */
  isFresh(): boolean;
}

/** What names a held claim: members of a `run`. */
export interface ClaimParams {
  effect: string;
  token: string;
}

/** What names an effect. */
export interface GetParams {
  effect?: string;
  tool?: string;
  key?: string;
  args?: object;
  namespace?: string;
  run?: string | number | bigint;
  step?: string | number | bigint;
  turn?: string | number | bigint;
  /** How many of its newest events, 0 to 1000, default 20. */
  events?: number;
}

export interface ListParams {
  state?: 'pending' | 'unknown' | 'escalated' | 'released' | 'done';
  tool?: string;
  namespace?: string;
  key_prefix?: string;
  business_key?: string;
  older_than_ms?: number;
  incidents?: boolean;
  /** 1 to 1000, default 100. */
  limit?: number;
  cursor?: string;
}

/**
 * A daemon as seen from this thread: one connection, opened at the first call, opened again when it
 * is lost. An idle ledger keeps no process alive. Each worker thread, each process needs its own.
 *
 * The methods take and give what the wire does. They ask again where there was no answer; they
 * throw a WireError for what the daemon refused, Unavailable when the time is over, signal.reason
 * after an abort. What a `run` of begin() demands of its holder (freshness, the lease, the report)
 * is then the caller's to do; guard() does it.
 */
export class Ledger {
  constructor(options?: LedgerOptions);
  begin(params: BeginParams, options?: AskOptions): Promise<Answer>;
  /** For tools that are SQL: `ran`, or a decision of begin. timeoutMs: as long as they may take. */
  execute(params: BeginParams, options?: AskOptions): Promise<Answer>;
  /** Derives the key and claims nothing: { effect, key, fingerprint, provider_key }. */
  key(params: BeginParams, options?: AskOptions): Promise<Answer>;
  get(params: GetParams, options?: AskOptions): Promise<Answer>;
  list(params?: ListParams, options?: AskOptions): Promise<Answer>;
  /** Records an outcome. Sending it again is always safe. */
  complete(
    params: ClaimParams & { outcome?: 'succeeded' | 'failed' | 'error'; result?: unknown },
    options?: { timeoutMs?: number },
  ): Promise<Answer>;
  /** Nothing was sent, and the caller knows it. */
  release(params: ClaimParams & { reason?: string }, options?: AskOptions): Promise<Answer>;
  /** The caller does not know whether the call landed. */
  unknown(params: ClaimParams & { reason?: string }, options?: AskOptions): Promise<Answer>;
  extend(params: ClaimParams & { lease_ms?: number }, options?: AskOptions): Promise<Answer>;
  /** Any other method, such as `info` or `tools`. */
  call(method: string, params?: object, options?: AskOptions): Promise<any>;
  /** Takes nothing new, waits until all that was begun has reported, closes the connection. */
  close(): Promise<void>;
  /** Closes the connection now: claims that are held turn unknown. */
  destroy(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- the guard ----

type Name = string | number | bigint;
type OfArgs<A, T> = T | ((args: A) => T);

/** Those that may be functions are asked with the args of each call. */
export interface GuardOptions<A = any> {
  tool: OfArgs<A, string>;
  /**
   * What makes two calls the same effect; absent: derived by the tool's policy, which is better.
   * Never a tool-call id, a text that a model wrote, or a clock. A key put together from something
   * that was not there ("refund:undefined") is InvalidParams.
   */
  key?: OfArgs<A, string>;
  /** What effectd sees of the args, if not all of them. It is sent as JSON; what JSON would lose
   * without a word (a Map, NaN) is InvalidParams, the digits of a BigInt are sent as an integer. */
  args?: (args: A) => object;
  namespace?: OfArgs<A, string | undefined>;
  owner?: OfArgs<A, string | undefined>;
  run?: OfArgs<A, Name | undefined>;
  step?: OfArgs<A, Name | undefined>;
  turn?: OfArgs<A, Name | undefined>;
  /** The model's id of this call: logged, and never part of a key. */
  call?: OfArgs<A, string | undefined>;
  /** A person's reason for a deliberate business duplicate. */
  again?: OfArgs<A, string | undefined>;
  /** 1000 to 3600000; absent: the policy's. It is extended while fn runs. */
  leaseMs?: OfArgs<A, number | undefined>;
  waitMs?: OfArgs<A, number>;
  beginTimeoutMs?: number;
  completeTimeoutMs?: number;
  reportTimeoutMs?: number;
  /**
   * Errors that mean that the tool itself answered with an error, like a ToolError. A time-out, an
   * abort and a lost connection never do, whatever is named here, nor does what fn ends by after
   * its signal was aborted.
   */
  errors?: Array<new (...args: any[]) => any> | ((error: unknown) => boolean);
  signal?: AbortSignal;
  parse?: (text: string) => unknown;
  stringify?: (value: unknown) => string;
}

/** What one call may say by itself. It wins over the guard's option, which wins over withRun(). */
export interface CallOptions {
  /** A key from elsewhere, such as one that a checkpoint kept. */
  key?: string;
  run?: Name;
  step?: Name;
  turn?: Name;
  call?: string;
  again?: string;
  waitMs?: number;
  /** Aborted before fn is called: the claim is given back. Then: effect.signal tells fn. */
  signal?: AbortSignal;
}

/** What fn is told of its claim. Of a tool that needs none (`pass`) only `signal` is there. */
export interface Effect {
  readonly id: string;
  readonly key: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** To be handed to the provider as its idempotency key; the same on every attempt. */
  readonly providerKey: string;
  /** Aborts when the caller does, or when the claim is lost (its reason is a Lost then). */
  readonly signal: AbortSignal;
  /** A longer lease by hand; a third of the lease is kept up by itself. Throws where it is lost. */
  extend(leaseMs?: number): Promise<{ state?: string; leaseUntil?: string }>;
}

/** A result, and whether it is that of a call made before. */
export interface Outcome<R> {
  value: R;
  replayed: boolean;
  /** Of a replay: the recorded result, letter by letter. */
  raw?: string;
  effect?: string;
  key?: string;
  attempt?: number;
  doneAt?: string;
  by?: 'caller' | 'probe' | 'operator';
  /** Of a replay: `redacted` where what is secret is "[secret]" in it. */
  resultState?: 'kept' | 'redacted';
}

export interface Guarded<A, R> {
  /** The tool's result, of this call or of the one that was made before. */
  (args: A, options?: CallOptions): Promise<R>;
  /** The same, and where it comes from. */
  outcome(args: A, options?: CallOptions): Promise<Outcome<R>>;
}

/**
 * A function that makes the call once per effect, however often it is called. fn is called only
 * when the ledger says so; what it returns is recorded (undefined as null) and replayed. It may
 * throw Failed, ToolError or NotSent to say what became of the call; any other error, a time-out
 * and an abort too, leaves the outcome unknown, and so does such an error of another guarded call
 * inside fn. fn gets the args; where the policy has a provider_key_to, a copy with the provider's
 * key in its place. It may not return an iterator or a stream of what is still to be done. The
 * caller gets fn's own error, or:
 *
 * nothing was called: Busy, Mismatch, Unknown, Escalated, Exhausted, Held, ResultGone, a replayed
 * Failed, Strange, Late, Unavailable, WireError (InvalidParams, Denied, ...), signal.reason;
 * the call was made: NotRecorded, Conflict.
 */
export function guard<A = any, R = unknown>(
  ledger: Ledger,
  options: GuardOptions<A>,
  fn: (args: A, effect: Effect) => R | Promise<R>,
): Guarded<A, R>;

/** Every guarded call inside fn, however deep, stands at this place of an agent's run. */
export function withRun<T>(where: { run?: Name; step?: Name; turn?: Name }, fn: () => T): T;

// ---- for the model ----

/** A sentence or two for the model's instructions: what an answer like `unknown` asks of it. */
export const INSTRUCTIONS: string;

export interface LookupTool {
  name: 'effect_lookup';
  description: string;
  /** A JSON schema. */
  parameters: {
    type: 'object';
    properties: Record<string, { type: 'string' | 'object'; description: string }>;
    additionalProperties: false;
  };
  execute(input: { effect?: string; tool?: string; key?: string; args?: object }): Promise<{
    found: boolean;
    advice: string;
    [member: string]: any;
  }>;
}

/** A tool by which a model looks up what is recorded about a call. It changes nothing. */
export function lookupTool(ledger: Ledger, options?: { namespace?: string }): LookupTool;

// ---- errors ----

interface More {
  cause?: unknown;
}

/** Everything that this package throws by itself. */
export class EffectError extends Error {
  constructor(message: string, more?: More);
  /** A sentence that may be shown to a model: what to do, what not. */
  readonly advice: string;
  readonly effect?: string;
  readonly key?: string;
  /** What the daemon answered, by the names of the wire. */
  readonly answer?: Record<string, any>;
}

/** Somebody else is making this call. */
export class Busy extends EffectError {}
/** The key stands for other arguments. */
export class Mismatch extends EffectError {}
/** Nobody knows yet whether an attempt landed. */
export class Unknown extends EffectError {}
/** Nobody could find out; a person decides. */
export class Escalated extends EffectError {}
/** Attempts or the turn's budget are used up. */
export class Exhausted extends EffectError {}
/** Another effect does the same business; a person has to confirm (option `again`). */
export class Held extends EffectError {}
/** It was done, and its result is kept no more. */
export class ResultGone extends EffectError {}
/** An answer that this version does not know. */
export class Strange extends EffectError {}

/**
 * Thrown by fn: the provider refused for good. `result` (any JSON) is recorded with it. Thrown by
 * the guard with `replayed`: it was refused before, at `doneAt`.
 */
export class Failed extends EffectError {
  constructor(message: string, more?: More & { result?: unknown });
  readonly result?: unknown;
  readonly replayed: boolean;
  readonly doneAt?: string;
  readonly raw?: string;
}
/** Thrown by fn: the tool answered with an error; the policy's on_error says what that means. */
export class ToolError extends EffectError {
  constructor(message: string, more?: More & { result?: unknown });
  readonly result?: unknown;
}
/** Thrown by fn, which knows it: nothing was sent. */
export class NotSent extends EffectError {}

/** No answer in time. */
export class Unavailable extends EffectError {
  readonly code?: number;
  readonly data?: Record<string, any>;
}
/** The grant was too old to start by. */
export class Late extends EffectError {}
/** The claim is lost: the reason of effect.signal. */
export class Lost extends EffectError {}
/** The call was made, its outcome is not in the ledger; `value` is what it came to. */
export class NotRecorded extends EffectError {
  readonly value: unknown;
}

/** An error of the daemon; `pointer` and `why` say which param broke which rule. */
export class WireError extends EffectError {
  readonly code: number;
  readonly data: Record<string, any>;
  readonly pointer?: string;
  readonly why?: string;
  readonly state?: string;
  readonly attempt?: number;
}
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
/** The call was made, and another outcome stands; `value` is what it came to. */
export class Conflict extends WireError {
  readonly value?: unknown;
}

export {};
