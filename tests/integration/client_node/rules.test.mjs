// The Node client by itself, with a daemon that is played: what a call does when it is given up
// wherever it stands, what is sent and in which form, connections, and what stays behind.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';

import {
  Busy,
  Conflict,
  Failed,
  guard,
  InvalidParams,
  Late,
  Ledger,
  NotRecorded,
  NotSent,
  ResultGone,
  Strange,
  ToolError,
  Unavailable,
  withRun,
} from '../../../client/node/src/index.js';
import { block, GRANT, Played, RESULTS, until } from './played.mjs';

const GONE = new Error('the caller has left');
const replayOf = (more) => ({
  ...GRANT,
  decision: 'replay',
  outcome: 'succeeded',
  done_at: '2026-11-30T09:00:00.000Z',
  ...more,
});

function tool(ledger, fn = () => 1, options = {}) {
  return guard(ledger, { tool: 't', key: 'k', ...options }, fn);
}

// ---- what is sent -----------------------------------------------------------------------------------

test('a guarded no-op is two lines, and the second is sent after fn has returned', async (t) => {
  const daemon = await Played.listen(t);
  await tool(daemon.ledger(), async () => assert.deepEqual(daemon.methods(), ['begin']))();
  assert.deepEqual(daemon.methods(), ['begin', 'complete']);
  assert.equal(daemon.lines.length, 2);
});

test('nothing is opened before the first call, and 64 calls at once share one connection', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  const call = tool(ledger, (args) => args.n);
  await new Promise(setImmediate);
  assert.equal(daemon.nConnections, 0);
  const values = await Promise.all(Array.from({ length: 64 }, (_, n) => call({ n })));
  assert.deepEqual(
    values,
    Array.from({ length: 64 }, (_, n) => n),
  );
  assert.equal(daemon.nConnections, 1);
  assert.equal(daemon.lines.length, 128);
});

test('begins that wait leave room on a connection for the report that they wait for', async (t) => {
  const open = new Map(); // by socket
  const daemon = await Played.listen(t, (request, tell, socket) => {
    const n = open.get(socket) ?? 0;
    if (request.method === 'begin' && daemon.of('begin').length > 1) {
      open.set(socket, n + 1); // never answered
    } else {
      assert.ok(n < 128, `${n} begins stand before a ${request.method}`);
      tell(RESULTS[request.method]);
    }
  });
  const ledger = daemon.ledger({ reportTimeoutMs: 1 });
  let go;
  const first = tool(ledger, () => new Promise((resolve) => (go = resolve)))();
  await until(() => go, 'the first is told run');
  const others = Promise.allSettled(Array.from({ length: 300 }, () => tool(ledger)()));
  await daemon.heard('begin', 301);
  go('done');
  assert.equal(await first, 'done');
  assert.equal(daemon.nConnections, 3);
  ledger.destroy();
  assert.ok((await others).every(({ reason }) => reason instanceof Unavailable));
});

test('args are sent as they are: the digits of a BigInt, and nothing that JSON would lose without a word', async (t) => {
  const daemon = await Played.listen(t);
  const call = tool(daemon.ledger());
  const big = 2n ** 53n + 1n;
  await call({ id: big, ids: [-big], text: `${big}`, left: undefined, at: new Date(0) });
  assert.match(
    daemon.lines[0],
    /"args":\{"id":9007199254740993,"ids":\[-9007199254740993\],"text":"9007199254740993","at":"1970-01-01T00:00:00.000Z"\}/,
  );
  class Secretive {
    #amount = 3;

    get amount() {
      return this.#amount;
    }
  }
  const circle = {};
  circle.itself = circle;
  for (const lost of [
    NaN,
    -Infinity,
    new Map([[1, 2]]),
    new Set([1]),
    () => 1,
    Symbol('x'),
    new Date(NaN),
    Promise.resolve(),
    new Secretive(),
    new Error('x'),
    /x/,
    circle,
  ]) {
    await assert.rejects(call({ deep: [{ lost }] }), (error) => error instanceof InvalidParams && /params/.test(error.message));
  }
  await assert.rejects(call(JSON.parse('['.repeat(63) + ']'.repeat(63))), InvalidParams);
  assert.equal(daemon.lines.length, 2, 'nothing of it was sent');
});

test('a key that was put together from something that was not there is refused', async (t) => {
  const daemon = await Played.listen(t);
  const call = tool(daemon.ledger(), () => 1, { key: (args) => args.key });
  for (const key of [undefined, null, '', `refund:${{}.order}:3`, `a/${null}`, `${NaN}`, `x:${{}}`]) {
    await assert.rejects(call({ key }), (error) => error instanceof InvalidParams && error.pointer === '/key', `${key}`);
  }
  assert.equal(daemon.lines.length, 0);
  await call({ key: 'refund:undefinedness:nullable' });
});

test('what a call says wins over the guard, the guard over withRun, and that goes along asynchronous calls', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger({ namespace: 'n', owner: 'o' });
  const call = tool(ledger, () => 1, { key: undefined, step: ({ n }) => n, call: 'c' });
  await withRun({ run: 'r', step: 's', turn: 7n }, async () => {
    await new Promise(setImmediate);
    await withRun({ turn: 8 }, () => call({ n: 5 }, { call: 'c2' }));
  });
  await call({ n: 6 });
  const [inner, outer] = daemon.of('begin').map(({ params }) => params);
  assert.deepEqual([inner.run, inner.step, inner.turn, inner.call, inner.namespace, inner.owner], ['r', 5, 8, 'c2', 'n', 'o']);
  assert.deepEqual([outer.run, outer.step, outer.turn, outer.call], [undefined, 6, undefined, 'c']);
  assert.notEqual(inner.request, outer.request);
});

test('an option that does not exist is an error, on the ledger, the guard and the call', async (t) => {
  const daemon = await Played.listen(t);
  assert.throws(() => new Ledger({ sokcet: '/x' }), /no option 'sokcet'/);
  assert.throws(() => new Ledger({ socket: `/${'x'.repeat(107)}` }), /longer than 107 bytes/);
  assert.throws(() => guard(daemon.ledger(), { tool: 't', keys: 'k' }, () => 1), /no option 'keys'/);
  assert.throws(() => guard(daemon.ledger(), { tool: 't', waitMs: NaN }, () => 1), /waitMs/);
  assert.throws(() => guard({}, { tool: 't' }, () => 1), /must be a Ledger/);
  await assert.rejects(tool(daemon.ledger())({}, { toolCallId: 'x' }), /no option 'toolCallId'/);
  assert.equal(daemon.lines.length, 0);
});

// ---- given up, wherever it stands ----------------------------------------------------------------

test('given up before it begins: nothing is sent', async (t) => {
  const daemon = await Played.listen(t);
  await assert.rejects(tool(daemon.ledger())({}, { signal: AbortSignal.abort(GONE) }), GONE);
  assert.equal(daemon.nConnections, 0);
});

test('given up while begin is under way: the caller is free at once, and a run that comes later is released', async (t) => {
  let tellLater;
  const daemon = await Played.listen(t, (request, tell) =>
    request.method === 'begin' ? (tellLater = tell) : tell(RESULTS[request.method]),
  );
  const controller = new AbortController();
  const ledger = daemon.ledger();
  const call = tool(ledger, () => assert.fail('fn was called'))({}, { signal: controller.signal });
  await daemon.heard('begin');
  controller.abort(GONE);
  await assert.rejects(call, GONE);
  tellLater(GRANT);
  await daemon.heard('release');
  assert.equal(daemon.of('release')[0].params.token, GRANT.token);
  await ledger.close();
  assert.deepEqual(daemon.methods(), ['begin', 'release']);
});

test('given up in the very moment in which run is told: released, or called before it was', async (t) => {
  const parse = JSON.parse;
  t.after(() => (JSON.parse = parse));
  for (let hops = 0; hops < 16; hops++) {
    const daemon = await Played.listen(t);
    const ledger = daemon.ledger();
    const controller = new AbortController();
    const { signal } = controller;
    const abortAfter = (n) => queueMicrotask(() => (n === 0 ? controller.abort(GONE) : abortAfter(n - 1)));
    JSON.parse = (text, ...more) => {
      const value = parse(text, ...more);
      if (value?.result?.decision === 'run') {
        abortAfter(hops); // the client is about to look at it
      }
      return value;
    };
    let startedIn;
    const call = tool(ledger, () => (startedIn = signal.aborted))({}, { signal });
    const called = await call.then(
      () => true,
      (error) => assert.equal(error, GONE),
    );
    await ledger.close();
    assert.notEqual(startedIn, true, `hops ${hops}`);
    assert.deepEqual(daemon.methods(), ['begin', called ? 'complete' : 'release'], `hops ${hops}`);
  }
});

test('close() waits for an answer that nobody waits for, so that its run is given back', async (t) => {
  const daemon = await Played.listen(t, (request, tell) => setTimeout(tell, 30, RESULTS[request.method]));
  const controller = new AbortController();
  const ledger = daemon.ledger();
  const call = tool(ledger)({}, { signal: controller.signal });
  await daemon.heard('begin');
  controller.abort(GONE);
  await assert.rejects(call, GONE);
  await ledger.close();
  assert.deepEqual(daemon.methods(), ['begin', 'release']);
  await assert.rejects(tool(ledger)(), Unavailable);
});

test('given up between two tries: the pause ends at once', async (t) => {
  const daemon = await Played.listen(t, (request, tell) =>
    tell(undefined, {
      code: -32001,
      message: 'away',
      data: { name: 'unavailable', retry_after_ms: 3000 },
    }),
  );
  const controller = new AbortController();
  const call = tool(daemon.ledger())({}, { signal: controller.signal });
  await daemon.heard('begin');
  await new Promise((resolve) => setTimeout(resolve, 10));
  const started = performance.now();
  controller.abort(GONE);
  await assert.rejects(call, GONE);
  assert.ok(performance.now() - started < 2900);
  assert.equal(daemon.lines.length, 1);
});

test('given up while fn runs: fn is told, its time-out leaves the outcome unknown and is never a release', async (t) => {
  const daemon = await Played.listen(t);
  const controller = new AbortController();
  const call = tool(
    daemon.ledger(),
    (args, { signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        // what AbortSignal.timeout() aborts with; by its own clock it could come before fn is called
        controller.abort(new DOMException('it took too long', 'TimeoutError'));
      }),
  );
  await assert.rejects(call({}, { signal: controller.signal }), { name: 'TimeoutError' });
  assert.deepEqual(daemon.methods(), ['begin', 'unknown']);
  assert.match(daemon.of('unknown')[0].params.reason, /TimeoutError/);
});

test("given up while fn runs, and fn returns all the same: its result is recorded and the caller's", async (t) => {
  const daemon = await Played.listen(t);
  const controller = new AbortController();
  const call = tool(daemon.ledger(), () => {
    controller.abort(GONE);
    return 'landed';
  });
  assert.equal(await call({}, { signal: controller.signal }), 'landed');
  assert.deepEqual(daemon.methods(), ['begin', 'complete']);
});

test('given up while the result is being recorded: it is recorded', async (t) => {
  const controller = new AbortController();
  const daemon = await Played.listen(t, (request, tell) => {
    if (request.method === 'complete') {
      controller.abort(GONE);
      if (daemon.of('complete').length === 1) {
        daemon.drop();
        return;
      }
    }
    tell(RESULTS[request.method]);
  });
  assert.equal(await tool(daemon.ledger())({}, { signal: controller.signal }), 1);
  assert.deepEqual(daemon.methods(), ['begin', 'complete', 'complete']);
});

test("either signal ends a call: the guard's and its own", async (t) => {
  const daemon = await Played.listen(t, () => {});
  for (const which of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()];
    const call = tool(daemon.ledger(), () => 1, { signal: controllers[0].signal })({}, { signal: controllers[1].signal });
    await daemon.heard('begin', which + 1);
    controllers[which].abort(GONE);
    await assert.rejects(call, GONE);
    assert.equal(getEventListeners(controllers[0].signal, 'abort').length + getEventListeners(controllers[1].signal, 'abort').length, 0);
  }
});

// ---- the lease ------------------------------------------------------------------------------------------

test('an event loop that stood still for longer than the lease starts no call: the claim is given back', async (t) => {
  const daemon = await Played.listen(t, (request, tell) => {
    tell(request.method === 'begin' ? { ...GRANT, lease_ms: 300 } : RESULTS[request.method]);
    if (request.method === 'begin') {
      setImmediate(block, 350);
    }
  });
  await assert.rejects(tool(daemon.ledger(), () => assert.fail('fn was called'))(), Late);
  assert.deepEqual(daemon.methods(), ['begin', 'release']);
});

test('an event loop that stands still under fn loses the lease: fn is told, nothing is extended, the result is recorded', async (t) => {
  const daemon = await Played.listen(t, (request, tell) =>
    tell({ ...RESULTS[request.method], ...(request.method === 'begin' && { lease_ms: 1000 }) }),
  );
  const call = tool(daemon.ledger(), async (args, { signal }) => {
    block(1050);
    const timer = setTimeout(() => {}, 5000);
    await until(() => signal.aborted, 'fn is told');
    clearTimeout(timer);
    return signal.reason.name;
  });
  assert.equal(await call(), 'Lost');
  assert.deepEqual(daemon.methods(), ['begin', 'complete']);
});

test('the lease is extended every third while fn runs, by what the caller asked for, and never after', async (t) => {
  const daemon = await Played.listen(t, (request, tell) =>
    tell({ ...RESULTS[request.method], ...(request.method === 'begin' && { lease_ms: 1500 }) }),
  );
  const ledger = daemon.ledger();
  const call = tool(ledger, () => daemon.heard('extend', 2), { leaseMs: () => 1500 });
  const started = performance.now();
  await call();
  assert.ok(performance.now() - started >= 900);
  assert.equal(daemon.of('extend')[0].params.lease_ms, 1500);
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.deepEqual(daemon.methods(), ['begin', 'extend', 'extend', 'complete']);
});

test('a lease is kept by hand, too, and an extend that is under way ends with fn', async (t) => {
  const daemon = await Played.listen(t, (request, tell) => {
    if (request.method !== 'extend' || daemon.of('extend').length === 1) {
      tell(RESULTS[request.method]);
    }
  });
  const ledger = daemon.ledger();
  let second;
  const call = tool(ledger, async (args, effect) => {
    assert.deepEqual(await effect.extend(90000), {
      state: 'pending',
      leaseUntil: RESULTS.extend.lease_until,
    });
    second = effect.extend().catch((error) => error.name);
    await daemon.heard('extend', 2);
  });
  await call();
  assert.equal(await second, 'AbortError');
  await ledger.close();
  assert.deepEqual(
    daemon.of('extend').map(({ params }) => params.lease_ms),
    [90000, undefined],
  );
});

// ---- what fn says -----------------------------------------------------------------------------------------

test('an error that was the word about an inner call says nothing about the outer one', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  for (const word of [new NotSent('not there'), new Failed('refused'), new ToolError('error')]) {
    const inner = tool(ledger, () => {
      throw word;
    });
    const outer = tool(ledger, async () => {
      await inner();
    });
    const before = daemon.requests.length;
    await assert.rejects(outer(), word);
    assert.equal(daemon.requests.at(-1).method, 'unknown');
    assert.equal(daemon.requests.length, before + 4);
  }
});

test('what an inner call was answered says nothing about the outer one, though every kind of error was named', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  for (const errors of [[Error], () => true]) {
    const outer = tool(
      ledger,
      () => {
        throw new Busy('somebody else is at it');
      },
      { errors },
    );
    await assert.rejects(outer(), Busy);
    assert.equal(daemon.requests.at(-1).method, 'unknown');
  }
});

test("kinds of errors that were named beforehand are the tool's own, whatever else throws is not", async (t) => {
  const daemon = await Played.listen(t);
  class HttpError extends Error {
    constructor(status) {
      super(`status ${status}`);
      this.result = { status };
    }
  }
  const throwing = (error) => () => {
    throw error;
  };
  await assert.rejects(tool(daemon.ledger(), throwing(new HttpError(422)), { errors: [HttpError] })(), HttpError);
  await assert.rejects(
    tool(daemon.ledger(), throwing('a text'), { errors: (error) => error === 'a text' })(),
    (error) => error === 'a text',
  );
  await assert.rejects(
    tool(daemon.ledger(), throwing(undefined), {
      errors: () => {
        throw new Error('no');
      },
    })(),
    (error) => error === undefined,
  );
  await assert.rejects(tool(daemon.ledger(), throwing(null))(), (error) => error === null);
  assert.deepEqual(
    daemon.of('complete').map(({ params }) => [params.outcome, params.result]),
    [
      ['error', { status: 422 }],
      ['error', { error: 'a text' }],
    ],
  );
  assert.equal(daemon.of('unknown').length, 2);
});

test('a time-out, an abort and a lost connection are no answer of the tool, whatever was named', async (t) => {
  const daemon = await Played.listen(t);
  const errors = [
    new DOMException('late', 'TimeoutError'),
    new DOMException('left', 'AbortError'),
    Object.assign(new Error('x'), { code: 'ETIMEDOUT' }),
    Object.assign(new Error('x'), { code: 'ECONNABORTED' }),
    new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' }) }),
    new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }),
    new TypeError('fetch failed'),
    new Error('socket hang up'),
    new Error('Connection terminated unexpectedly'),
    Object.assign(new Error('x'), { name: 'FetchError', type: 'request-timeout' }),
    new RangeError('x', { cause: new Error('x', { cause: new DOMException('late', 'TimeoutError') }) }),
    new (class Refused extends class ConnectionError extends Error {} {})('x'),
    new Busy('of another call'),
  ];
  for (const error of errors) {
    const throwing = () => {
      throw error;
    };
    await assert.rejects(tool(daemon.ledger(), throwing, { errors: () => true })(), (got) => got === error);
  }
  assert.deepEqual(new Set(daemon.methods()), new Set(['begin', 'unknown']));
});

test('an fn that was told to stop gave no answer of the tool, whatever it ends by and was named', async (t) => {
  const daemon = await Played.listen(t, ({ method }, tell) =>
    method === 'extend'
      ? tell(undefined, { code: -32005, message: 'not held', data: { name: 'not_owner' } })
      : tell({ ...RESULTS[method], ...(method === 'begin' && { lease_ms: 300 }) }),
  );
  const stopped = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  await assert.rejects(tool(daemon.ledger(), stopped, { errors: [Error] })(), { name: 'Lost' });
  const controller = new AbortController();
  const left = tool(daemon.ledger(), stopped, { errors: [Error] })({}, { signal: controller.signal });
  await daemon.heard('begin', 2);
  setTimeout(() => controller.abort(GONE), 10);
  await assert.rejects(left, GONE);
  assert.deepEqual(
    daemon.methods().filter((method) => method !== 'begin' && method !== 'extend'),
    ['unknown', 'unknown'],
  );
});

test('what is still to be done when fn returns is not recorded as done', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  async function* chunks() {
    yield 1;
  }
  assert.throws(() => tool(ledger, chunks), /generator/);
  for (const value of [chunks(), [1][Symbol.iterator](), new ReadableStream()]) {
    await assert.rejects(tool(ledger, () => value)(), TypeError);
  }
  assert.deepEqual(daemon.methods(), ['begin', 'unknown', 'begin', 'unknown', 'begin', 'unknown']);
});

test("the provider's key stands where the policy wants it, in a copy of the args", async (t) => {
  let pointer;
  const daemon = await Played.listen(t, (request, tell) =>
    tell(request.method === 'begin' ? { ...GRANT, provider_key_to: pointer } : RESULTS[request.method]),
  );
  const ledger = daemon.ledger();
  const id = GRANT.provider_key;
  const cases = [
    ['/key', { a: 1, key: 'made up' }, { a: 1, key: id }],
    ['/key', undefined, { key: id }],
    ['/a/b/c', { a: { x: 1 } }, { a: { x: 1, b: { c: id } } }],
    ['/list/1/key', { list: [0, {}] }, { list: [0, { key: id }] }],
    ['/a~1b/~0', {}, { 'a/b': { '~': id } }],
    ['/', {}, { '': id }],
  ];
  for (const [to, args, want] of cases) {
    pointer = to;
    const before = structuredClone(args);
    assert.deepEqual(await tool(ledger, (given) => given)(args), want);
    assert.deepEqual(args, before);
  }
  pointer = '/__proto__/polluted';
  const given = await tool(ledger, (args) => args)({});
  assert.equal(given.polluted, undefined);
  assert.deepEqual(Object.keys(given), ['__proto__']);
  daemon.requests.length = 0;
  for (const [to, args] of [
    ['/a/b', { a: 1 }],
    ['/a/b', { a: null }],
    ['/l/2', { l: [1] }],
    ['/l/-', { l: [] }],
    ['/l/x', { l: [1] }],
    ['', {}],
  ]) {
    pointer = to;
    const refused = tool(ledger, () => assert.fail('fn was called'))(args);
    await assert.rejects(refused, (error) => error instanceof InvalidParams && error.pointer === `/args${to}`);
  }
  assert.deepEqual(new Set(daemon.methods()), new Set(['begin', 'release']));
  daemon.requests.length = 0;
  pointer = '/key';
  const { amount } = await tool(ledger, (args) => args, { args: ({ amount }) => ({ amount }) })({ amount: 5n });
  assert.equal(amount, 5n, 'fn gets its own args where effectd was sent others');
});

test('results: null for nothing, the text of a hook, and by their hash what no JSON can hold', async (t) => {
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  const deep = JSON.parse('['.repeat(20000) + ']'.repeat(20000));
  for (const value of [
    undefined,
    null,
    10n,
    new Map(),
    () => 1,
    NaN,
    {
      toJSON() {
        throw new Error('no');
      },
    },
    deep,
  ]) {
    assert.equal(await tool(ledger, () => value)(), value);
  }
  await tool(ledger, () => 1, { stringify: () => '{"n": 1.0,\n "big": 12345678901234567890}' })();
  await tool(ledger, () => 1, { stringify: () => '{"id":7}\n{"jsonrpc":"2.0"' })();
  const sent = daemon.lines.filter((line) => line.includes('"complete"'));
  assert.equal(sent.length, 10);
  assert.ok(sent.slice(0, 2).every((line) => line.includes('"result":null')));
  assert.ok(sent.slice(2, 8).every((line) => /"omitted":\{"bytes":\d+,"sha256":"[0-9a-f]{64}"\}/.test(line)));
  assert.ok(sent[8].includes('"result":{"n": 1.0,  "big": 12345678901234567890}'));
  assert.ok(sent[9].includes('"omitted"'));
});

test('a replay is the recorded text, letter by letter, and is read by the hook that is given', async (t) => {
  const raw = '{"b":1.0,"a":12345678901234567890,"\\u0062":"\\"}{][\\\\","c":"\\ud800","d":[[],{"result":1}]}';
  const daemon = await Played.listen(t, (request, tell, socket) =>
    socket.write(
      `{"jsonrpc":"2.0","result" : {"decision":"replay","advice":"a \\"result\\": 1","outcome":"succeeded", "result": ${raw} ,"done_at":"x"},"id":${request.id}}\n`,
    ),
  );
  const call = tool(daemon.ledger(), () => assert.fail('fn was called'));
  const outcome = await call.outcome();
  assert.equal(outcome.raw, raw);
  assert.equal(outcome.replayed, true);
  assert.deepEqual(outcome.value, JSON.parse(raw));
  const hooked = tool(daemon.ledger(), () => 1, { parse: (text) => text.length });
  assert.equal(await hooked(), raw.length);
  const answer = await daemon.ledger().begin({ tool: 't' });
  assert.equal(answer.rawResult, raw);
  assert.equal(answer.isFresh(), false);
  assert.deepEqual(Object.keys(answer), ['decision', 'advice', 'outcome', 'result', 'done_at']);
});

test('a run that is not whole, a replay of an unknown outcome or without its result: nothing is called', async (t) => {
  const answers = [
    [{ ...GRANT, token: undefined }, Strange],
    [{ ...GRANT, lease_ms: '60000' }, Strange],
    [{ ...GRANT, effect: 1 }, Strange],
    [5, Strange],
    [null, Strange],
    [{ decision: ['run'] }, Strange],
    [{ ...GRANT, decision: 'RUN' }, Strange],
    [{ ...GRANT, decision: 'constructor' }, Strange],
    [replayOf({ outcome: 'half', result: 1 }), Strange],
    [replayOf({ result_state: 'expired' }), ResultGone],
    [replayOf({ outcome: 'failed', result: { code: 7 } }), Failed],
    [{ ...GRANT, decision: 'busy' }, Busy],
  ];
  const daemon = await Played.listen(t, (request, tell) => tell(answers[daemon.lines.length - 1][0]));
  for (const [answer, Kind] of answers) {
    await assert.rejects(
      tool(daemon.ledger(), () => assert.fail('fn was called'))(),
      (error) => error.constructor === Kind,
      JSON.stringify(answer),
    );
  }
  assert.equal(daemon.lines.length, answers.length);
});

test('errors have the name of their kind, the advice, and what is known', async (t) => {
  const daemon = await Played.listen(t, (request, tell) =>
    request.method === 'begin'
      ? tell(replayOf({ outcome: 'failed', result: { code: 7 }, advice: 'It was refused.' }))
      : tell(undefined, {
          code: -32008,
          message: 'another outcome stands',
          data: { name: 'conflict', state: 'done', attempt: 2 },
        }),
  );
  const failed = await tool(daemon.ledger())().catch((error) => error);
  assert.deepEqual(
    [failed.name, failed.advice, failed.replayed, failed.raw, failed.result],
    ['Failed', 'It was refused.', true, '{"code":7}', { code: 7 }],
  );
  assert.match(failed.message, /replay.*2026-11-30T09:00:00.000Z/);
  daemon.answer = (request, tell) =>
    request.method === 'begin'
      ? tell(GRANT)
      : tell(undefined, {
          code: -32008,
          message: 'another outcome stands',
          data: { name: 'conflict', state: 'done', attempt: 2 },
        });
  const conflict = await tool(daemon.ledger(), () => 'mine')().catch((error) => error);
  assert.ok(conflict instanceof Conflict);
  assert.deepEqual([conflict.value, conflict.state, conflict.attempt, conflict.effect], ['mine', 'done', 2, GRANT.effect]);
  daemon.answer = (request, tell) => request.method === 'begin' && tell(GRANT);
  const lost = await tool(daemon.ledger(), () => 'mine', { completeTimeoutMs: 50 })().catch((error) => error);
  assert.ok(lost instanceof NotRecorded);
  assert.deepEqual([lost.value, lost.effect], ['mine', GRANT.effect]);
});

test("a result that this daemon's lines cannot hold is recorded by its hash, whatever was open beside it", async (t) => {
  const daemon = await Played.listen(t, (request, tell, socket) => {
    if (JSON.stringify(request).length > 20000) {
      socket.write('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request","data":{"name":"invalid_request"}}}\n');
    } else if (request.params.key !== 'waits') {
      tell(RESULTS[request.method]);
    }
  });
  const ledger = daemon.ledger();
  const controller = new AbortController();
  const waits = tool(ledger, () => 1, { key: 'waits' })({}, { signal: controller.signal });
  assert.equal((await tool(ledger, () => 'x'.repeat(30000))()).length, 30000);
  assert.deepEqual(
    daemon.of('complete').map(({ params }) => Object.keys(params).at(-1)),
    ['result', 'omitted'],
  );
  controller.abort(GONE);
  await assert.rejects(waits, GONE);
});

// ---- connections, and what stays behind ----------------------------------------------------------------

test('a lost connection is opened again, and all that was open on it is asked again with the same request', async (t) => {
  const daemon = await Played.listen(t, (request, tell) => daemon.of('begin').length > 20 && tell(RESULTS[request.method]));
  const ledger = daemon.ledger();
  const calls = Promise.all(Array.from({ length: 20 }, () => tool(ledger)()));
  await daemon.heard('begin', 20);
  daemon.drop();
  await calls;
  const requests = daemon.of('begin').map(({ params }) => params.request);
  assert.deepEqual(new Set(requests.slice(0, 20)), new Set(requests.slice(20)));
  assert.equal(new Set(requests).size, 20);
  assert.ok(daemon.nConnections < 6, `${daemon.nConnections} connections`);
});

test('many callers while the connection ends: all are served by the next one, and Node warns of nothing', async (t) => {
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const daemon = await Played.listen(t);
  const ledger = daemon.ledger();
  const calls = [tool(ledger)()];
  await calls[0];
  daemon.drop();
  for (let i = 0; i < 20; i++) {
    calls.push(...Array.from({ length: 20 }, () => tool(ledger)()));
    await new Promise(setImmediate);
  }
  assert.deepEqual(new Set(await Promise.all(calls)), new Set([1]));
  const nobody = new Ledger({ socket: '/nowhere/effectd.sock', waitMs: 0, beginTimeoutMs: 300 });
  const none = await Promise.allSettled(Array.from({ length: 60 }, () => tool(nobody, () => assert.fail('fn was called'))()));
  assert.ok(none.every(({ reason }) => reason instanceof Unavailable && /ENOENT/.test(reason.message)));
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});

test('a signal that many calls share gets no pile of listeners, and keeps none', async (t) => {
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const daemon = await Played.listen(t);
  const { signal } = new AbortController();
  const ledger = daemon.ledger();
  await Promise.all(
    Array.from({ length: 50 }, () =>
      tool(ledger, async () => {
        await new Promise(setImmediate);
      })({}, { signal }),
    ),
  );
  await new Promise(setImmediate);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.deepEqual(warnings, []);
});

test('after five thousand calls there is no more in memory than after one', async (t) => {
  const daemon = await Played.listen(t, (request, tell) => {
    daemon.lines.length = daemon.requests.length = 0;
    tell(RESULTS[request.method]);
  });
  const ledger = daemon.ledger();
  const call = tool(ledger, () => 1);
  const { signal } = new AbortController();
  const bytesAfter = async (n) => {
    for (let i = 0; i < n; i += 50) {
      await Promise.all(Array.from({ length: 50 }, () => call({ n: i }, { signal })));
    }
    globalThis.gc();
    await new Promise(setImmediate);
    globalThis.gc();
    return process.memoryUsage().heapUsed;
  };
  const before = await bytesAfter(1000);
  const after = await bytesAfter(4000);
  assert.ok(after - before < 1500000, `${after - before} bytes more`);
});
