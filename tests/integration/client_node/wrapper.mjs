// One guarded call in a process of its own, for a test that kills it, or its daemon: what fn does is the first argument, its key the
// second. The call appends a line to the file that is the third (the provider's book). stdout tells what happens, stdin says go on.

import { appendFileSync } from 'node:fs';

import { guard, Ledger } from '../../../client/node/src/index.js';

const [does, key, book] = process.argv.slice(2);

const FN = {
  hang: () => new Promise((resolve) => setTimeout(resolve, 600000)),
  stuck: () => new Promise(() => {}), // nothing that would keep the process
  exit: () => process.exit(3),
  crash: () =>
    new Promise(() =>
      setTimeout(() => {
        throw new Error('nobody catches this');
      }, 1),
    ),
  wait: () =>
    new Promise((resolve) =>
      process.stdin.once('data', () => {
        process.stdin.destroy();
        resolve({ receipt: key });
      }),
    ),
  return: () => ({ receipt: key }),
};

const ledger = new Ledger({ beginTimeoutMs: 20000 });
const call = guard(ledger, { tool: 't', key, leaseMs: 60000, waitMs: 0 }, (args, effect) => {
  appendFileSync(book, `${effect.providerKey}\n`);
  process.stdout.write('called\n');
  return FN[does]();
});
try {
  console.log(JSON.stringify(await call.outcome({})));
} catch (error) {
  console.log(JSON.stringify({ error: error.name }));
}
