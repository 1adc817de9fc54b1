#!/usr/bin/env node
// An agent of the OpenAI Agents SDK that refunds an order. A tool that takes too long is an error
// to its model, which then calls it again: with a new call id, in other words.
//
// usage: agent.mjs RUN PROMPT
// GUARD=off takes the guard away
import { Agent, Usage, run as runAgent, setTracingDisabled, tool } from '@openai/agents';
import { INSTRUCTIONS, Ledger, guard, lookupTool, withRun } from 'effectd';
import { z } from 'zod';

import { callId, decide } from '../model.mjs';
import * as shop from '../shop.mjs';

const TOOL_MS = Number(process.env.TOOL_MS ?? 5000);
const [run, prompt] = process.argv.slice(2);
const ledger = new Ledger({ waitMs: Number(process.env.WAIT_MS ?? 2000) }); // a model's patience
setTracingDisabled(true);

const off = process.env.GUARD === 'off';
const guarded = (name, fn) => (off ? fn : guard(ledger, { tool: name }, fn)); // the guard

// Keys are derived by the policies, tools.json: here from the order and its line.
const refundItem = guarded('refund_item', shop.refund);

// The SDK's own word to the model about any error is "Please try again". The guard's says what to
// do instead.
const errorFunction = (_, error) => error.message;

const look = lookupTool(ledger);
const tools = [
  tool({
    name: 'refund_item',
    description: 'Refunds a line of an order',
    parameters: z.object({
      order_id: z.number(),
      line: z.number(),
      amount: z.string(),
      memo: z.string(),
    }),
    execute: (args, _, { toolCall, signal }) =>
      refundItem(args, { call: toolCall.callId, signal }),
    errorFunction,
    timeoutMs: TOOL_MS,
  }),
  tool({ ...look, strict: false, errorFunction }),
];

const model = {
  async getResponse({ systemInstructions, input }) {
    const names = new Map(
      input.filter(({ type }) => type === 'function_call').map((call) => [call.callId, call.name]),
    );
    const told = input
      .filter(({ type }) => type === 'function_call_result')
      .map(({ callId: id, output }) => ({
        tool: names.get(id),
        text: output.text ?? String(output),
      }));
    const next = decide(prompt, told, { looks: systemInstructions.includes(INSTRUCTIONS) });
    const said = next.call
      ? {
          type: 'function_call',
          callId: callId(),
          name: next.call,
          status: 'completed',
          arguments: JSON.stringify(next.args),
        }
      : {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: next.say }],
        };
    return { usage: new Usage(), output: [said] };
  },
};

const agent = new Agent({
  name: 'refunds',
  instructions: `You refund orders. ${INSTRUCTIONS}`,
  tools,
  model,
});
const { finalOutput } = await withRun({ run }, () => runAgent(agent, prompt, { maxTurns: 12 }));
console.log(finalOutput);
await ledger.close();
