// A daemon that a test plays: it listens at a path of its own, keeps every line that came, and
// answers by `answer`, a function of the request and of what the test may do with it. What the
// table of tests/vectors can say is said there; this is for the rest.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Ledger } from '../../../client/node/src/index.js';

export const GRANT = {
  decision: 'run',
  next: 'execute',
  advice: 'Make the call.',
  effect: '6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b',
  key: 'k',
  attempt: 1,
  token: '9b1e6a52-7c1d-4a51-8f0b-2f7f0c3f9d11',
  lease_until: '2001-01-01T00:00:00.000Z',
  lease_ms: 60000,
  provider_key: '6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b',
  on_error: 'unknown',
};
export const RESULTS = {
  begin: GRANT,
  complete: { state: 'done', outcome: 'succeeded', already: false },
  release: { state: 'released', already: false },
  unknown: { state: 'unknown', next_probe_at: null },
  extend: { state: 'pending', lease_until: '2001-01-01T00:00:00.000Z' },
};

export class Played {
  lines = []; // as they came
  requests = []; // the same, read
  nConnections = 0;
  #sockets = new Set();

  /**
   * `answer(request, tell, socket)`: tell(result) answers, tell(undefined, error) refuses; without
   * it the usual result is told.
   */
  static async listen(t, answer = (request, tell) => tell(RESULTS[request.method])) {
    const played = new Played();
    played.folder = mkdtempSync(join(tmpdir(), 'effectd-node-'));
    played.path = join(played.folder, 's');
    played.answer = answer;
    played.server = createServer((socket) => played.#take(socket));
    await new Promise((resolve) => played.server.listen(played.path, resolve));
    t.after(() => played.close());
    return played;
  }

  ledger(options) {
    return new Ledger({
      socket: this.path,
      waitMs: 0,
      beginTimeoutMs: 5000,
      completeTimeoutMs: 5000,
      ...options,
    });
  }

  methods() {
    return this.requests.map(({ method }) => method);
  }

  of(method) {
    return this.requests.filter((request) => request.method === method);
  }

  /** Resolves when so many requests of this method have come. */
  async heard(method, n = 1) {
    await until(() => this.of(method).length >= n, `${n} times ${method}`);
  }

  drop() {
    this.#sockets.forEach((socket) => socket.destroy());
  }

  close() {
    this.drop();
    this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #take(socket) {
    let rest = '';
    this.nConnections++;
    this.#sockets.add(socket);
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        this.#line(line, socket);
      }
    });
  }

  #line(line, socket) {
    const request = JSON.parse(line);
    this.lines.push(line);
    this.requests.push(request);
    const tell = (result, error) => {
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...(error ? { error } : { result }) })}\n`);
    };
    this.answer(request, tell, socket);
  }
}

/** Waits for a fact, a thing that is looked at again and again. */
export async function until(fact, what) {
  const last = Date.now() + 20000 * Number(process.env.EFFECTD_SLOW ?? 1);
  while (!(await fact())) {
    if (Date.now() > last) {
      throw new Error(`never: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Keeps the event loop from doing anything. */
export function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
