#!/usr/bin/env node
// The provider of the examples: refunds orders, writes mails, and keeps a book of what it did. It
// does again what it is asked again, as many do, and its network can fail in the ways that matter.
// Nothing of effectd is in here: its book is the judge.
//
// usage: provider.mjs PORT BOOK          (port 0: any; the line it prints says which)
//
//   POST /refunds, /mails   does it, answers the entry that now stands in the book; idempotency-key
//                           is kept there as its reference and is otherwise not looked at
//   GET /refunds/REFERENCE  the entry with that reference, or 404 {"error": "no_such_entry"}: what a
//                           probe asks; /mails likewise
//   GET /book               all entries
//   PUT /network            how it is from now on; {}: well. "requests": "held" until it is well
//                           again, and not done meanwhile; "replies": "held" until then, or "lost"
//                           for good, though it was done; "times": of so many only; "look_ups":
//                           "refused". GET tells it, and how many are held
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, book] = process.argv.slice(2);
let network = {};
let held = [];

const entries = () =>
  existsSync(book)
    ? readFileSync(book, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];

function carryOut(kind, reference, args) {
  const entry = {
    id: `${kind.slice(0, 2)}_${1001 + entries().length}`,
    kind,
    ...args,
    ...(reference && { reference }),
  };
  appendFileSync(book, JSON.stringify(entry) + '\n', { flush: true });
  return entry;
}

async function bodyOf(request) {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return JSON.parse(text);
}

// Resolves when the network is well again: true, or when the caller has gone: false.
const wellAgain = (response) =>
  new Promise((resolve) => {
    held.push(() => resolve(true));
    response.on('close', () => resolve(false));
  });

function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Whether `what` is in that state for this call, too. */
function isNow(what, state) {
  if (network[what] !== state || network.times === 0) return false;
  if (network.times !== undefined) network.times -= 1;
  return true;
}

function setNetwork(now) {
  network = now;
  for (const letGo of held.splice(0)) letGo();
}

async function serve(request, response) {
  const [, kind, reference] = request.url.split('/').map(decodeURIComponent);
  if (request.method === 'GET' && kind === 'book') return answer(response, 200, entries());
  if (request.method === 'GET' && kind === 'network')
    return answer(response, 200, { ...network, n_held: held.length });
  if (request.method === 'PUT' && kind === 'network') {
    setNetwork(await bodyOf(request));
    return answer(response, 200, network);
  }
  if (!['refunds', 'mails'].includes(kind)) return answer(response, 404, { error: 'no_such_page' });
  if (request.method === 'GET') {
    if (network.look_ups === 'refused') return answer(response, 503, { error: 'try_later' });
    const found = entries().find((entry) => entry.kind === kind && entry.reference === reference);
    return found ? answer(response, 200, found) : answer(response, 404, { error: 'no_such_entry' });
  }
  const args = await bodyOf(request);
  if (isNow('requests', 'held') && !(await wellAgain(response))) return undefined;
  if (!(Number(args.amount ?? 1) > 0)) return answer(response, 422, { error: 'not_an_amount' });
  const entry = carryOut(kind, request.headers['idempotency-key'], args);
  if (isNow('replies', 'lost')) return undefined;
  if (isNow('replies', 'held') && !(await wellAgain(response))) return undefined;
  return answer(response, 201, entry);
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => answer(response, 400, { error: error.message }));
});
server.listen(Number(port), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
process.on('SIGTERM', () => process.exit(0));
