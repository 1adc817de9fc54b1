// The model of the examples: no network, no key, and the habits that matter here. It refunds what
// it was asked to. A call that failed it makes again, in other words each time; what it is told to
// look up it looks up. Each framework's agent asks decide() what comes next and puts that into the
// framework's own words.
import { randomUUID } from 'node:crypto';

const CALLS_MAX = 4; // of one tool

const WORDS = [
  'as the customer asked',
  'goodwill',
  'arrived damaged',
  'the customer is right',
  'returned',
  'late delivery',
];

/** Never the same words twice, as models do. */
const reworded = () =>
  `${WORDS[Math.floor(Math.random() * WORDS.length)]} (${randomUUID().slice(0, 4)})`;

/** A new one for every call, as all frameworks have it: nothing that a key could be made from. */
export const callId = () => `call_${randomUUID()}`;

/** What the model was asked: the first number is the order. */
export const taskOf = (prompt) => ({
  order_id: Number(prompt.match(/\d+/)[0]),
  line: 3,
  amount: '12.50',
});

const refund = (task) => ({ call: 'refund_item', args: { ...task, memo: reworded() } });
const write = (task, found) => ({
  call: 'write_customer',
  args: { order_id: task.order_id, text: `Refund ${found}: ${reworded()}` },
});
const lookUp = (effect) => ({ call: 'effect_lookup', args: { effect } });

/** The number of a refund or a mail in a tool's text, if it went well. */
const numberIn = (text) => text.match(/\b(?:re|ma)_\d+/)?.[0];

/** The effect that a tool's text names, newest first. */
const effectIn = (told) =>
  told.map(({ text }) => text.match(/effect"?:?"? ?"?([0-9a-f-]{36})/)?.[1]).findLast(Boolean);

/** A line about what the model is told: all that it knows. */
const tell = ({ tool, text }) => console.error(`${tool}: ${text.replace(/\s+/g, ' ')}`);

function afterRefund(task, told, last, number, { looks, writes }) {
  const times = (tool) => told.filter((one) => one.tool === tool).length;
  if (number)
    return writes ? write(task, number) : { say: `Order ${task.order_id} is refunded: ${number}` };
  if (looks && effectIn(told)) {
    return last.tool === 'effect_lookup'
      ? { say: `Order ${task.order_id}: ${last.text}` }
      : lookUp(effectIn(told));
  }
  return times('refund_item') < CALLS_MAX
    ? refund(task)
    : { say: `I could not refund: ${last.text}` };
}

/**
 * What comes next: {call, args} or {say}. `told`: what the tools have said since the prompt, in
 * order: [{tool, text}]. `can.looks`: its instructions tell it to look up what it does not know.
 * `can.writes`: it is to write to the customer, too.
 */
export function decide(prompt, told, can = {}) {
  const task = taskOf(prompt);
  const last = told.at(-1);
  if (!last) return refund(task);
  tell(last);
  const number = numberIn(last.text);
  if (last.tool !== 'write_customer') return afterRefund(task, told, last, number, can);
  if (number)
    return { say: `Order ${task.order_id} is refunded and the customer knows: ${number}` };
  return { say: `Order ${task.order_id} is refunded, but I could not write: ${last.text}` };
}
