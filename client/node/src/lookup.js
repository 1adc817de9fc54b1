// What a model may do by itself about a call whose outcome is not known: look. A tool for it, and
// the sentences that send it there; they are the same in every client.

import { currentRun } from './context.js';
import { EffectError, InvalidParams, NotFound } from './errors.js';

export const INSTRUCTIONS =
  'Some of your tools change the world, and are guarded so that no repeat of a call performs it ' +
  'twice. When a tool says that a call was not made, follow what it says and do not make the ' +
  'call in another way, with altered arguments or under another key. When you do not know ' +
  'whether a call took effect, ask effect_lookup before you do anything else.';

const DESCRIPTION =
  'Looks up what is recorded about one guarded tool call: whether it was done, with which ' +
  'result, or is still open. It changes nothing. Name the effect by its id, or the tool with its ' +
  'key, or the tool with the very arguments of the call.';

const PARAMETERS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    effect: { type: 'string', description: 'the id of the effect, as an earlier answer told it' },
    tool: { type: 'string', description: 'the name of the tool' },
    key: { type: 'string', description: 'the key of the effect, as an earlier answer told it' },
    args: { type: 'object', description: 'the arguments of the call, exactly as they were' },
  },
};

const SHOWN = [
  ...['effect', 'tool', 'key', 'state', 'attempt', 'claimed_at', 'since', 'done_at', 'outcome'],
  ...['by', 'result', 'result_state'],
];

const MEANS = {
  pending: 'Somebody is making this call. Do not make it; look again later.',
  unknown:
    'It is not known yet whether this call took effect, and is being found out. Do not make it; ' +
    'look again later.',
  escalated:
    'Nobody could find out whether this call took effect; a person has to decide. Do not make it.',
  released:
    'This call did not take effect. It may be made again by its tool, with the same arguments.',
  done: 'This call was made. Use its result; do not make it again.',
};
const REFUSED = 'This call was refused for good. Do not repeat it as it is.';
const NOT_FOUND =
  'Nothing is recorded under this name. That is no proof that nothing was done: make sure that ' +
  'tool, key and arguments are exactly those of the call.';

function shown(row) {
  const told = SHOWN.filter((name) => row[name] !== undefined).map((name) => [name, row[name]]);
  const advice =
    row.outcome === 'failed' ? REFUSED : (MEANS[row.state] ?? 'Do not make this call.');
  return { found: true, ...Object.fromEntries(told), advice };
}

function notShown(error) {
  if (error instanceof NotFound) {
    return { found: false, advice: NOT_FOUND };
  }
  const why = error instanceof InvalidParams ? ` (${error.message})` : '';
  return {
    found: false,
    advice:
      `It could not be looked up now${why}. Nothing is known by this answer; do not make the ` +
      'call because of it.',
  };
}

/**
 * { name, description, parameters, execute }: what agent frameworks take for a tool, but for their
 * own wrapping. run, step and turn come from withRun(), never from the model.
 */
export function lookupTool(ledger, { namespace } = {}) {
  const execute = async (input) => {
    const named = Object.keys(PARAMETERS.properties)
      .map((name) => [name, input?.[name]])
      .filter(([, value]) => value !== undefined && value !== null && value !== '');
    const { effect, ...rest } = Object.fromEntries(named);
    const params = effect === undefined ? { namespace, ...currentRun(), ...rest } : { effect };
    try {
      return shown(await ledger.get({ ...params, events: 0 }));
    } catch (error) {
      if (error instanceof EffectError) {
        return notShown(error);
      }
      throw error;
    }
  };
  return { name: 'effect_lookup', description: DESCRIPTION, parameters: PARAMETERS, execute };
}
