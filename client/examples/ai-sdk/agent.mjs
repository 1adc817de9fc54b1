#!/usr/bin/env node
// A Vercel AI SDK agent that refunds an order. A tool that takes too long is an error to its model,
// which then calls it again: with a new call id, in other words.
//
// usage: agent.mjs RUN PROMPT
// GUARD=off takes the guard away
import { generateText, isStepCount, jsonSchema, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { INSTRUCTIONS, Ledger, guard, lookupTool, withRun } from 'effectd';
import { z } from 'zod';

import { callId, decide } from '../model.mjs';
import * as shop from '../shop.mjs';

const TOOL_MS = Number(process.env.TOOL_MS ?? 5000);
const [run, prompt] = process.argv.slice(2);
const ledger = new Ledger({ waitMs: Number(process.env.WAIT_MS ?? 2000) }); // a model's patience

const off = process.env.GUARD === 'off';
const guarded = (name, fn) => (off ? fn : guard(ledger, { tool: name }, fn)); // the guard

// Keys are derived by the policies, tools.json: here from the order and its line.
const refundItem = guarded('refund_item', shop.refund);

const look = lookupTool(ledger);
const tools = {
  refund_item: tool({
    description: 'Refunds a line of an order',
    inputSchema: z.object({
      order_id: z.number(),
      line: z.number(),
      amount: z.string(),
      memo: z.string(),
    }),
    execute: (args, { toolCallId, abortSignal }) =>
      refundItem(args, { call: toolCallId, signal: abortSignal }),
  }),
  [look.name]: tool({
    description: look.description,
    inputSchema: jsonSchema(look.parameters),
    execute: look.execute,
  }),
};

// What a tool message of the SDK says, as text: its result, or its error's message.
const textOf = ({ output }) =>
  typeof output.value === 'string' ? output.value : JSON.stringify(output.value);

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt: messages }) => {
    const told = messages
      .filter(({ role }) => role === 'tool')
      .flatMap(({ content }) =>
        content.map((part) => ({ tool: part.toolName, text: textOf(part) })),
      );
    const next = decide(prompt, told, { looks: messages[0].content.includes(INSTRUCTIONS) });
    const said = next.call
      ? {
          type: 'tool-call',
          toolCallId: callId(),
          toolName: next.call,
          input: JSON.stringify(next.args),
        }
      : { type: 'text', text: next.say };
    return {
      content: [said],
      finishReason: { unified: next.call ? 'tool-calls' : 'stop', raw: undefined },
      usage: { inputTokens: {}, outputTokens: {} },
      warnings: [],
    };
  },
});

const { text } = await withRun({ run }, () =>
  generateText({
    model,
    tools,
    instructions: `You refund orders. ${INSTRUCTIONS}`,
    prompt,
    stopWhen: isStepCount(12),
    timeout: { toolMs: TOOL_MS },
  }),
);
console.log(text);
await ledger.close();
