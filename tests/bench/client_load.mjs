#!/usr/bin/env node
// Guarded no-ops through the Node client: so many loops, each of which makes one guarded call after the other.
//
//   client_load.mjs SOCKET fresh|replay IN_FLIGHT SECONDS WARM_UP_SECONDS
//
// Prints one JSON object: {ops_s, p50_ms, p99_ms}. fresh: each call has a key of its own (a claim and a record); replay: one of
// a thousand that were made before. Uses the tool `bench_refund` of tests/bench/run.

import { randomUUID } from 'node:crypto';

import { guard, Ledger } from '../../client/node/src/index.js';

const N_REPLAYED = 1000;
const RESULT = { status: 'ok', refund: 're_77', body: 'x'.repeat(68) };

const [socket, what, inFlight, seconds, warmUp] = process.argv.slice(2);
if (!['fresh', 'replay'].includes(what) || !(Number(inFlight) > 0 && Number(seconds) > 0 && Number(warmUp) >= 0)) {
  console.error('usage: client_load.mjs SOCKET fresh|replay IN_FLIGHT SECONDS WARM_UP_SECONDS');
  process.exit(64);
}

const ledger = new Ledger({ socket });
const run = randomUUID();
const call = guard(ledger, { tool: 'bench_refund' }, () => RESULT);
const one = (n, kind) => call({ order_id: 1042, line: 3, amount: '12.50', memo: 'late' }, { key: `${kind}:${run}:${n}` });

async function replayed() {
  for (let n = 0; n < N_REPLAYED; n += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, i) => one(n + i, 'replay')));
  }
}

let n = 0;
const latencies = [];

async function loop(from, until) {
  for (let now = performance.now(); now < until; ) {
    await (what === 'fresh' ? one(n++, 'fresh') : one(Math.floor(Math.random() * N_REPLAYED), 'replay'));
    const then = now;
    now = performance.now();
    if (then >= from) {
      latencies.push(now - then);
    }
  }
}

if (what === 'replay') {
  await replayed();
}
const from = performance.now() + warmUp * 1000;
const until = from + seconds * 1000;
await Promise.all(Array.from({ length: Number(inFlight) }, () => loop(from, until)));
const took = (performance.now() - from) / 1000;
await ledger.close();
latencies.sort((a, b) => a - b);
const at = (share) => Number(latencies[Math.floor(latencies.length * share)].toFixed(3));
console.log(JSON.stringify({ ops_s: Math.round(latencies.length / took), p50_ms: at(0.5), p99_ms: at(0.99) }));
