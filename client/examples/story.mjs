#!/usr/bin/env node
// Plays an example twice, without its guard and with it, against a running effectd (the one that
// packaging/quickstart leaves, or $EFFECTD_SOCKET), and lets the provider's book decide. It exits 0
// only if all that it tells came true.
//
// usage: story.mjs langgraph|ai-sdk|openai-agents
// PROVIDER_URL: a provider that runs already; else one is started where tools.json has its probes
// look
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const HERE = dirname(fileURLToPath(import.meta.url));
const STATE = process.env.XDG_STATE_HOME ?? join(homedir(), '.local/state');
const QUICKSTART =
  process.env.QUICKSTART_STATE ??
  (process.geteuid() === 0 ? '/var/lib' : STATE) + '/effectd-quickstart';
const PORT = 4042;
const PATIENCE_MS = 60000;

const folder = mkdtempSync(join(tmpdir(), 'effectd-example-'));
const children = new Set();
let failed = 0;

const env = {
  ...process.env,
  PROVIDER_URL: process.env.PROVIDER_URL ?? `http://127.0.0.1:${PORT}`,
  EFFECTD_SOCKET: process.env.EFFECTD_SOCKET ?? join(QUICKSTART, 'effectd.sock'),
};

function check(good, promise) {
  console.log(`    ${good ? 'ok  ' : 'FAIL'}  ${promise}`);
  failed += !good;
}

/** A program of this folder; its lines are told as they come. */
function start(program, args, more = {}) {
  const child = spawn(process.execPath, [join(HERE, program), ...args], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.ended = new Promise((resolve) =>
    child.on('close', (status) => resolve(children.delete(child) && status)),
  );
  child.said = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      child.said.push(line);
      console.log(`          ${line.length > 160 ? `${line.slice(0, 157)}...` : line}`);
    });
  }
  return child;
}

const provider = {
  async ask(method, path, body) {
    const response = await fetch(`${env.PROVIDER_URL}/${path}`, {
      method,
      body: body && JSON.stringify(body),
    });
    return response.json();
  },
  network: (how) => provider.ask('PUT', 'network', how),
  refunds: async (order) =>
    (await provider.ask('GET', 'book')).filter((e) => e.kind === 'refunds' && e.order_id === order),
};

/** Waits for a fact. */
async function until(fact, what) {
  const end = Date.now() + PATIENCE_MS;
  let value;
  while (!(value = await fact())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  return value;
}

async function toldByTheBook(order, n, what) {
  const found = await provider.refunds(order);
  for (const entry of found) console.log(`    book  ${JSON.stringify(entry)}`);
  check(found.length === n, what);
  return found;
}

// A worker is killed (kill -9) when the refund is done and no checkpoint knows it; the next one goes
// on from the last checkpoint.
async function killedAndResumed(agent, order, GUARD) {
  const args = [`${order}-${process.pid}`, `Refund order ${order}`];
  await provider.network({ replies: 'held', times: 1 });
  const worker = start(agent, args, { GUARD });
  await until(
    async () => (await provider.refunds(order)).length || !children.has(worker),
    'the refund is in the book',
  );
  worker.kill('SIGKILL');
  await worker.ended;
  await provider.network({});
  console.log(
    `          kill -9 of worker ${worker.pid}; the next one resumes from the checkpoint:`,
  );
  const next = start(agent, args, { GUARD });
  check((await next.ended) === 0, 'the resumed run comes to its end');
  return next;
}

// A tool times out when the provider has done it; its model calls it again.
async function timedOut(agent, order, GUARD) {
  await provider.network({ replies: 'lost', times: 1 });
  const worker = start(agent, [`${order}-${process.pid}`, `Refund order ${order}`], { GUARD });
  check((await worker.ended) === 0, 'the run comes to its end');
  return worker;
}

// The same, and the provider cannot be asked: the model looks it up instead of calling again, and
// is asked for it another time.
async function cannotBeAsked(agent, order) {
  await provider.network({ replies: 'lost', times: 1, look_ups: 'refused' });
  const first = start(agent, [`${order}-${process.pid}`, `Refund order ${order}`]);
  await first.ended;
  check(
    first.said.some((line) => line.startsWith('effect_lookup: ')),
    'the model looks it up, as it was told, and does not call again',
  );
  await provider.network({});
  console.log('          the provider can be asked again, and the agent is asked later:');
  const later = start(agent, [`${order}-${process.pid}-later`, `Refund order ${order}`]);
  await later.ended;
  const [entry] = await toldByTheBook(order, 1, 'one refund');
  check(later.said.at(-1).includes(entry?.id), 'and the model has its number');
}

// Where the checkpoints are kept: in a database of their own beside the ledger's, unless
// $DATABASE_URL says where.
async function makeDatabase() {
  if (env.DATABASE_URL) return;
  const host = join(QUICKSTART, 'ledger/pg/run');
  const client = new pg.Client({ host, user: 'effectd', database: 'effectd' });
  await client.connect();
  const found = await client.query("select from pg_database where datname = 'checkpoints'");
  if (found.rowCount === 0) await client.query('create database checkpoints');
  await client.end();
  env.DATABASE_URL = `postgresql://effectd@/checkpoints?host=${encodeURIComponent(host)}`;
}

async function play(name) {
  const agent = `${name}/agent.mjs`;
  const happens = name === 'langgraph' ? killedAndResumed : timedOut;
  const order = Math.floor(Date.now() / 1000) % 1e8; // one that the ledger has not met yet
  console.log('Without the guard');
  await happens(agent, order, 'off');
  await toldByTheBook(order, 2, `order ${order} was refunded twice, and nobody wrote a bug`);
  console.log('With it');
  const last = await happens(agent, order + 1, 'on');
  const [entry] = await toldByTheBook(order + 1, 1, `order ${order + 1} was refunded once`);
  check(
    last.said.some((line) => line.startsWith('refund_item: ') && line.includes(entry?.id)),
    'and the model has the recorded result',
  );
  if (happens === timedOut) {
    console.log('With it, and the provider cannot be asked');
    await cannotBeAsked(agent, order + 2);
  }
}

async function main([name]) {
  if (!['langgraph', 'ai-sdk', 'openai-agents'].includes(name))
    throw new Error('usage: story.mjs langgraph|ai-sdk|openai-agents');
  if (!existsSync(env.EFFECTD_SOCKET))
    throw new Error(`no effectd at '${env.EFFECTD_SOCKET}': run packaging/quickstart first`);
  if (name === 'langgraph') await makeDatabase();
  if (!process.env.PROVIDER_URL) {
    const child = start('provider.mjs', [String(PORT), join(folder, 'book')]);
    await until(() => child.said.length || !children.has(child), 'the provider listens');
    if (!children.has(child)) throw new Error('the provider ended at once');
  }
  await play(name);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`story: ${error.message}`);
  failed += 1;
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true });
}
process.exitCode = failed ? 1 : 0;
