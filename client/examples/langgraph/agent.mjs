#!/usr/bin/env node
// A LangGraph agent that refunds an order and writes to the customer. Its checkpoints are kept in
// PostgreSQL, so that it can be killed at any moment and goes on from its last one: with the tool
// call that was under way, whether that was done or not.
//
// usage: agent.mjs THREAD PROMPT          the same THREAD again: goes on where it stopped
// DATABASE_URL: of the checkpoints; GUARD=off takes the guard away
import { AIMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { Ledger, guard, withRun } from 'effectd';
import { z } from 'zod';

import { callId, decide } from '../model.mjs';
import * as shop from '../shop.mjs';

const [thread, prompt] = process.argv.slice(2);
const ledger = new Ledger();

const off = process.env.GUARD === 'off';
const guarded = (name, fn) => (off ? fn : guard(ledger, { tool: name }, fn)); // the guard

// Keys are derived by the policies, tools.json: here from the order and its line.
const refundItem = guarded('refund_item', shop.refund);
// And here from run and step: a mail has no number of its own.
const writeCustomer = guarded('write_customer', shop.write);

// The thread is the run. The number of the step comes from the checkpoint, so a repeat of the step
// has it again.
const inRun = (config, fn) =>
  withRun({ run: config.configurable.thread_id, step: config.metadata.langgraph_step }, fn);

const tools = [
  tool((args, config) => inRun(config, () => refundItem(args, { call: config.toolCallId })), {
    name: 'refund_item',
    description: 'Refunds a line of an order',
    schema: z.object({
      order_id: z.number(),
      line: z.number(),
      amount: z.string(),
      memo: z.string(),
    }),
  }),
  tool((args, config) => inRun(config, () => writeCustomer(args, { call: config.toolCallId })), {
    name: 'write_customer',
    description: 'Writes to the customer of an order',
    schema: z.object({ order_id: z.number(), text: z.string() }),
  }),
];

async function model({ messages }) {
  const told = messages
    .filter((m) => m.getType() === 'tool')
    .map((m) => ({ tool: m.name, text: m.content }));
  const next = decide(messages[0].content, told, { writes: true });
  const calls = next.call ? [{ id: callId(), name: next.call, args: next.args }] : [];
  return { messages: [new AIMessage({ content: next.say ?? '', tool_calls: calls })] };
}

const checkpointer = PostgresSaver.fromConnString(process.env.DATABASE_URL);
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', model)
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition, ['tools', END])
  .addEdge('tools', 'model')
  .compile({ checkpointer });

const config = {
  configurable: { thread_id: thread },
  durability: process.env.DURABILITY ?? 'sync',
};
await checkpointer.setup();
const begun = await checkpointer.getTuple(config);
const { messages } = await graph.invoke(
  begun ? null : { messages: [{ role: 'user', content: prompt }] },
  config,
);
console.log(messages.at(-1).content);
await checkpointer.end();
await ledger.close();
