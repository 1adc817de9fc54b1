// The package's front: what may be imported, and nothing else. What each name is for stands in
// index.d.ts.

export { Ledger } from './ledger.js';
export { guard } from './guard.js';
export { withRun } from './context.js';
export { INSTRUCTIONS, lookupTool } from './lookup.js';
export {
  Busy,
  Conflict,
  Denied,
  EffectError,
  Escalated,
  Exhausted,
  Failed,
  Held,
  Internal,
  InvalidParams,
  InvalidRequest,
  Late,
  Lost,
  Mismatch,
  NotFound,
  NotOwner,
  NotRecorded,
  NotSent,
  Overloaded,
  ParseError,
  ResultGone,
  Strange,
  ToolError,
  ToolFailed,
  Unavailable,
  Unknown,
  UnknownMethod,
  WireError,
} from './errors.js';
