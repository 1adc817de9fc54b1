// Many callers of few keys, while somebody kills the daemon: ends when stdin does, and tells what it saw. The provider is in here,
// with a book of its own: what it did by key, and how often. argv: the number of callers, of keys, and a seed.

import { createHash } from 'node:crypto';

import { EffectError, guard, Ledger } from '../../../client/node/src/index.js';

const [nCallers, nKeys, seed] = process.argv.slice(2).map(Number);
const ledger = new Ledger({ beginTimeoutMs: 3000 });
const book = new Map(); // key -> receipts
const told = {}; // what callers got, by kind
const wrong = [];
let isOver = false;
let nDrawn = 0;

/** The next number in [0, n), by the seed. */
function draw(n) {
  return createHash('sha256').update(`${seed}:${nDrawn++}`).digest().readUInt32BE() % n;
}

const pay = guard(ledger, { tool: 't', key: ({ key }) => key, leaseMs: 60000, waitMs: 1000 }, async ({ key }) => {
  const receipts = book.get(key) ?? [];
  receipts.push(`${key}:${receipts.length}`);
  book.set(key, receipts);
  await new Promise((resolve) => setTimeout(resolve, draw(20)));
  return receipts.at(-1);
});

function count(kind) {
  told[kind] = (told[kind] ?? 0) + 1;
}

async function caller() {
  while (!isOver) {
    const key = `storm:${seed}:${draw(nKeys)}`;
    const controller = new AbortController();
    const timer = draw(10) === 0 ? setTimeout(() => controller.abort(), draw(100)) : undefined;
    try {
      const { value, replayed } = await pay.outcome({ key }, { signal: controller.signal });
      count(replayed ? 'replayed' : 'made');
      if (value !== `${key}:0`) {
        wrong.push(`${key} was told ${value}`);
      }
    } catch (error) {
      count(error.name);
      if (!(error instanceof EffectError) && error.name !== 'AbortError') {
        wrong.push(`${key} was told ${error.stack}`);
      }
    }
    clearTimeout(timer);
  }
}

process.stdin.on('end', () => {
  isOver = true;
});
process.stdin.resume();
console.log('begun');
await Promise.all(Array.from({ length: nCallers }, caller));
await ledger.close();
wrong.push(...[...book].filter(([, receipts]) => receipts.length > 1).map(([key, { length }]) => `${key} was made ${length} times`));
console.log(JSON.stringify({ wrong, told, made: book.size }));
