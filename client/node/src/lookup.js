// What a model may do by itself about a call whose outcome is not known: look. A tool for it, and
// the sentence that sends it there.

import { InvalidParams, NotFound } from './errors.js';

export const INSTRUCTIONS =
  'Some tools are guarded: each of their calls is made at most once. When such a tool answers ' +
  'that a call is busy, unknown, escalated, exhausted, held or mismatched, the call may have ' +
  'been made already: do not repeat it in other words, with other arguments or by another tool. ' +
  'Look it up with effect_lookup, and tell the user what is recorded. A replay is the result of ' +
  'a call that was made before; treat it as done.';

const DESCRIPTION =
  'Looks up what is recorded about one guarded tool call: whether it was done, with its result, ' +
  'is under way, is unknown or waits for a person. It changes nothing. Name the effect by the id ' +
  'that an answer gave, or by tool and key.';

const PARAMETERS = {
  type: 'object',
  properties: {
    effect: {
      type: 'string',
      description: 'the id of the effect, as an answer or an error named it',
    },
    tool: { type: 'string', description: 'the name of the guarded tool, together with key' },
    key: {
      type: 'string',
      description: 'the key of the effect, as an answer or an error named it',
    },
  },
  additionalProperties: false,
};

const MEMBERS = [
  'effect',
  'tool',
  'key',
  'state',
  'outcome',
  'by',
  'attempt',
  'claimed_at',
  'since',
  'done_at',
  'result',
  'result_state',
];

const ADVICE = {
  pending:
    'The call is under way, or its caller has not reported yet. Do not repeat it; look again ' +
    'later.',
  unknown:
    'Nobody knows yet whether the call took effect; the provider is being asked. Do not repeat ' +
    'it; look again later.',
  escalated:
    'Nobody could find out whether the call took effect; a person has to decide. Do not repeat ' +
    'it; tell the user.',
  released:
    'The call did not take effect. The same tool may be called again with the same arguments.',
};

function adviceOf({ state, outcome }) {
  if (state === 'done') {
    return outcome === 'failed'
      ? 'The call was refused for good. Do not repeat it.'
      : 'The call was done. Do not repeat it.';
  }
  return ADVICE[state] ?? 'Do not repeat the call; ask a person.';
}

/**
 * { name, description, parameters, execute }: what agent frameworks take for a tool, but for their
 * own wrapping.
 */
export function lookupTool(ledger, { namespace } = {}) {
  const execute = async (input) => {
    const { effect, tool, key } = input ?? {};
    if (typeof effect !== 'string' && !(typeof tool === 'string' && typeof key === 'string')) {
      return { found: false, advice: 'Name the effect, or the tool and the key.' };
    }
    try {
      const row = await ledger.get(
        typeof effect === 'string' ? { effect, events: 0 } : { tool, key, namespace, events: 0 },
      );
      const told = MEMBERS.filter((name) => row[name] !== undefined).map((name) => [
        name,
        row[name],
      ]);
      return { found: true, ...Object.fromEntries(told), advice: adviceOf(row) };
    } catch (error) {
      if (error instanceof NotFound) {
        return {
          found: false,
          advice:
            'Nothing is recorded under this name. Check the name: this is no proof that nothing ' +
            'happened.',
        };
      }
      if (error instanceof InvalidParams) {
        return { found: false, advice: `The name is none that the ledger takes: ${error.message}` };
      }
      throw error;
    }
  };
  return { name: 'effect_lookup', description: DESCRIPTION, parameters: PARAMETERS, execute };
}
