// The Node client and a real daemon, whose socket is $EFFECTD_SOCKET: calls at once, leases, keys, results, the plain methods, and
// what a process and its threads leave behind. Tools: `t` (lease 1 s), `steps` (keys by run and step), `read` (class read), `book` (SQL).

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import {
  guard,
  InvalidParams,
  Late,
  Ledger,
  lookupTool,
  Mismatch,
  NotFound,
  NotOwner,
  NotSent,
  ResultGone,
  Unknown,
  withRun,
} from '../../../client/node/src/index.js';
import { block, until } from './played.mjs';

const INDEX = new URL('../../../client/node/src/index.js', import.meta.url).href;
const ledger = new Ledger();
const some = randomUUID();
let nKeys = 0;

const newKey = () => `${some}:${++nKeys}`;
const tool = (key, fn, options = {}) => guard(ledger, { tool: 't', key, ...options }, fn);
const state = async (key) => ledger.get({ tool: 't', key });

test('64 callers of one key: one call, and everybody has its result', async () => {
  let n = 0;
  const call = tool(newKey(), async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { n: ++n };
  });
  const outcomes = await Promise.all(Array.from({ length: 64 }, () => call.outcome({})));
  assert.equal(n, 1);
  assert.ok(outcomes.every(({ value }) => value.n === 1));
  assert.equal(outcomes.filter(({ replayed }) => !replayed).length, 1);
});

test('more callers wait than a connection may have requests, and the one that they wait for can still report', async () => {
  const key = newKey();
  let go;
  const first = tool(key, () => new Promise((resolve) => (go = resolve)))({});
  await until(() => go, 'the first runs');
  const others = Array.from({ length: 400 }, () => tool(key, () => assert.fail('called twice'))({}));
  await new Promise((resolve) => setTimeout(resolve, 1200)); // longer than the lease, which has to be extended meanwhile
  go('done');
  assert.equal(await first, 'done');
  assert.deepEqual(new Set(await Promise.all(others)), new Set(['done']));
  assert.deepEqual((await state(key)).events, []);
});

test('64 calls of as many keys at once, their lease kept for longer than it is', async () => {
  const keys = Array.from({ length: 64 }, newKey);
  await Promise.all(keys.map((key) => tool(key, () => new Promise((resolve) => setTimeout(resolve, 1200, key)))({})));
  const rows = await Promise.all(keys.map(state));
  assert.ok(rows.every((row, i) => row.state === 'done' && row.result === keys[i] && row.events.length === 0));
});

test('an event loop that stands still past the lease starts no call; the next attempt does', async () => {
  const key = newKey();
  const first = tool(key, () => assert.fail('called though too late'))({}); // begin is sent
  block(1100);
  await assert.rejects(first, Late);
  assert.equal((await state(key)).state, 'released');
  assert.equal(await tool(key, (args, { attempt }) => attempt)({}), 2);
});

test('an event loop that stands still under the call loses the claim, and the result is recorded all the same', async () => {
  const key = newKey();
  assert.equal(await tool(key, () => block(1100) ?? 'landed')({}), 'landed');
  const row = await state(key);
  assert.equal(row.result, 'landed');
});

test('a repeat of a step is a replay under whatever call id, another step is another call, no step is refused', async () => {
  let n = 0;
  const call = guard(ledger, { tool: 'steps' }, () => ++n);
  const at = (step, id) => withRun({ run: some, step }, () => call({ amount: '12.50' }, { call: id }));
  assert.deepEqual([await at(1, 'c1'), await at(1, 'c3'), await at(1, 'c5'), await at(2, 'c7'), await at('1', 'c9')], [1, 1, 1, 2, 1]); // case 30
  await assert.rejects(call({ amount: '12.50' }), InvalidParams);
});

test('a released call runs again, one of which nobody knows does not', async () => {
  const key = newKey();
  await assert.rejects(
    tool(key, () => {
      throw new NotSent('no route');
    })({}),
    NotSent,
  );
  await assert.rejects(
    tool(key, () => {
      throw new Error('reset by peer');
    })({}),
    /reset by peer/,
  );
  await assert.rejects(tool(key, () => assert.fail('called again'))({}, { waitMs: 0 }), Unknown);
  const row = await state(key);
  assert.deepEqual([row.state, row.attempt], ['unknown', 2]);
  assert.match(row.events.find(({ kind }) => kind === 'unknown').reason, /Error: reset by peer/);
});

test('integers beyond 2^53 are two payloads, and come back by the hook', async () => {
  const key = newKey();
  const options = { parse: (text) => BigInt(text), stringify: String };
  const big = 2n ** 53n + 1n;
  assert.equal(await tool(key, ({ n }) => n, options)({ n: big }), big);
  assert.equal(await tool(key, ({ n }) => n, options)({ n: big }), big);
  assert.equal((await state(key)).rawResult, `${big}`);
  await assert.rejects(tool(key, ({ n }) => n)({ n: 2n ** 53n }), Mismatch);
});

test('args may nest as deep as the wire allows', async () => {
  const nested = (depth) => ({ a: JSON.parse('['.repeat(depth - 1) + ']'.repeat(depth - 1)) });
  assert.equal(await tool(newKey(), () => 1)(nested(62)), 1);
  await assert.rejects(tool(newKey(), () => 1)(nested(63)), InvalidParams);
});

test("a result longer than a line is the caller's, and gone for who repeats the call", async () => {
  const key = newKey();
  assert.equal((await tool(key, () => 'x'.repeat(1200000))({})).length, 1200000);
  const gone = await tool(key, () => assert.fail('called again'))({}).catch((error) => error);
  assert.ok(gone instanceof ResultGone);
  assert.equal(gone.answer.result_bytes, 1200002);
});

test('an abort while others are at it leaves them alone', async () => {
  const key = newKey();
  let go;
  const first = tool(key, () => new Promise((resolve) => (go = resolve)))({});
  await until(() => go, 'the first runs');
  await assert.rejects(tool(key, () => 1)({}, { signal: AbortSignal.timeout(30) }), { name: 'TimeoutError' });
  go(7);
  assert.equal(await first, 7);
  assert.deepEqual((await state(key)).attempt, 1);
});

test('a read needs no claim', async () => {
  const outcome = await guard(ledger, { tool: 'read' }, (args, effect) => effect.id ?? 'read').outcome({});
  assert.deepEqual(outcome, { value: 'read', replayed: false });
});

test('a model looks up what is recorded', async () => {
  const key = newKey();
  const { name, parameters, execute } = lookupTool(ledger);
  assert.equal(name, 'effect_lookup');
  assert.deepEqual(Object.keys(parameters.properties), ['effect', 'tool', 'key', 'args']);
  assert.equal((await execute({ tool: 't', key })).found, false);
  assert.equal((await execute({})).found, false);
  assert.equal((await execute({ effect: 'no uuid' })).found, false);
  await tool(key, () => ({ refund: 're_77' }))({});
  const found = await execute({ tool: 't', key });
  assert.deepEqual([found.found, found.state, found.outcome, found.result], [true, 'done', 'succeeded', { refund: 're_77' }]);
  assert.match((await execute({ effect: found.effect })).advice, /was made. Use its result/);
});

test('the plain methods', async () => {
  const key = newKey();
  const derived = await ledger.key({ tool: 't', key });
  const claim = await ledger.begin({ tool: 't', key, args: {}, lease_ms: 60000 });
  assert.deepEqual([claim.decision, claim.isFresh(), claim.effect], ['run', true, derived.effect]);
  const { effect, token } = claim;
  assert.equal((await ledger.extend({ effect, token })).state, 'pending');
  assert.equal((await ledger.unknown({ effect, token, reason: 'x' })).state, 'unknown');
  assert.deepEqual(await ledger.complete({ effect, token, result: [1] }), { state: 'done', outcome: 'succeeded', already: false });
  assert.equal((await ledger.complete({ effect, token, result: [1] })).already, true);
  assert.equal((await ledger.get({ effect })).rawResult, '[1]');
  assert.equal((await ledger.list({ key_prefix: key })).effects.length, 1);
  assert.equal((await ledger.call('info')).protocol, 1);
  await assert.rejects(ledger.release({ effect, token: randomUUID() }), NotOwner);
  await assert.rejects(ledger.get({ effect: randomUUID() }), NotFound);
  await assert.rejects(ledger.call('no_such_method'), { name: 'UnknownMethod' });
  await assert.rejects(ledger.list({ limit: 0 }), (error) => error instanceof InvalidParams && error.pointer === '/limit');
});

test('a tool that is SQL is executed once, and guarded by nothing else', async () => {
  const asked = { tool: 'book', args: { order: some } };
  const [ran, replay] = [await ledger.execute(asked), await ledger.execute(asked)];
  assert.deepEqual([ran.decision, ran.result, ran.isFresh(), replay.decision], ['ran', { order: some }, false, 'replay']);
  assert.equal(replay.rawResult, ran.rawResult);
  const guarded = guard(ledger, { tool: 'book' }, () => assert.fail('fn was called'));
  await assert.rejects(guarded({ order: some }), (error) => error instanceof InvalidParams && error.pointer === '/tool');
});

test('each thread has a ledger of its own, and ends when its work is done', async () => {
  const key = newKey();
  const body = `import { guard, Ledger } from '${INDEX}';
    import { parentPort, workerData } from 'node:worker_threads';
    parentPort.postMessage(await guard(new Ledger(), { tool: 't', key: workerData }, (args, { attempt }) => attempt)({}));`;
  const workers = await Promise.all(
    Array.from(
      { length: 3 },
      () =>
        new Promise((resolve, reject) => {
          let told;
          const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(body)}`), { workerData: key });
          worker.on('message', (message) => (told = message));
          worker.on('error', reject);
          worker.on('exit', (code) => resolve([code, told]));
        }),
    ),
  );
  assert.deepEqual(workers, [
    [0, 1],
    [0, 1],
    [0, 1],
  ]);
});

test('a child inherits no connection', async () => {
  await ledger.call('info');
  const { stdout } = spawnSync('ls', ['-l', '/proc/self/fd'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  assert.match(stdout, /1 -> /);
  assert.doesNotMatch(stdout.replace(/.* [12] -> .*\n/g, ''), /socket:/);
});

test('a ledger that goes out of use is closed when its work is done', async () => {
  const own = new Ledger();
  const key = newKey();
  const call = guard(own, { tool: 't', key }, () => new Promise((resolve) => setTimeout(resolve, 50, 5)))({});
  await new Promise(setImmediate);
  await own[Symbol.asyncDispose]();
  assert.equal((await state(key)).result, 5);
  assert.equal(await call, 5);
});
