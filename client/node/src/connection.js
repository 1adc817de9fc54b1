// One connection to the daemon: lines out, lines in, answers in any order. Promise: an answer is a
// whole line or none; every request is told either one or `lost`, once. Asking again does not
// belong here (ask.js). While a request is open the connection keeps the process alive, unless it
// is quiet; an idle one does not. Descriptors are close-on-exec (libuv).

import { connect } from 'node:net';

import { instant } from './clock.js';

const LF = 10;
const MAX_LINE_LEAST = 4096; // no daemon's max_line is less
const LINE_BYTES_MAX = 256 * 1048576; // nothing of ours is so long

/** A request that is open: `answered(answer)` or `lost(error)` comes once. */
class Open {
  constructor(answered, lost, isBegin, length) {
    this.answered = answered;
    this.lost = lost;
    this.isBegin = isBegin;
    this.length = length;
    this.sent = instant();
    this.quiet = false;
  }
}

export class Connection {
  #socket;
  #open = new Map(); // by id
  #lines = []; // to be written at the end of this turn
  #pieces = []; // of a line whose end has not come
  #nPieces = 0; // bytes of them
  #lastId = 0;
  #isOver = false;
  #isHeld = false; // it keeps the process
  #why = new Error('the daemon closed the connection');

  constructor(path) {
    this.nBegins = 0;
    this.#socket = connect({ path });
    this.#socket.unref();
    this.#socket.on('data', (bytes) => this.#take(bytes));
    this.#socket.on('error', (error) => {
      this.#why = error;
    });
    this.#socket.on('close', () => this.#end());
  }

  /** Nothing more will come of it. */
  get closed() {
    return this.#isOver || this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** Requests without an answer. */
  get nOpen() {
    return this.#open.size;
  }

  /**
   * Sends a request. `params` is JSON. Later either answered({ message, text, sent }) is called,
   * with the answer as an object, its line and the instant of sending, or lost(error). Returns what
   * hush() takes.
   */
  send(method, params, { answered, lost }) {
    const id = ++this.#lastId;
    const line = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}\n`;
    const open = new Open(answered, lost, method === 'begin' || method === 'execute', line.length);

    this.#open.set(id, open);
    this.nBegins += open.isBegin;
    this.#hold();
    if (this.#lines.push(line) === 1) {
      process.nextTick(() => this.#flush()); // with all that is sent in this turn
    }
    return open;
  }

  #flush() {
    const text = this.#lines.join('');
    this.#lines = [];
    if (!this.closed) {
      this.#socket.write(text);
    }
  }

  /** Its answer is still taken, but it keeps no process alive. */
  hush(open) {
    open.quiet = true;
    this.#hold();
  }

  /** Closes it; what is open is lost. Claims that are bound to it turn unknown. */
  destroy(why) {
    this.#why = why;
    this.#socket.destroy();
    this.#end();
  }

  #hold() {
    let isHeld = false;
    for (const open of this.#open.values()) {
      isHeld ||= !open.quiet;
      if (isHeld) {
        break;
      }
    }
    if (isHeld === this.#isHeld || this.closed) {
      return;
    }
    this.#isHeld = isHeld;
    if (isHeld) {
      this.#socket.ref();
    } else {
      this.#socket.unref();
    }
  }

  #end() {
    this.#isOver = true;
    for (const open of this.#open.values()) {
      open.lost(this.#why);
    }
    this.#open.clear();
    this.nBegins = 0;
  }

  #take(bytes) {
    let start = 0;
    for (let end = bytes.indexOf(LF); end >= 0 && !this.closed; end = bytes.indexOf(LF, start)) {
      this.#pieces.push(bytes.subarray(start, end));
      const line = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#line(line.toString());
      start = end + 1;
    }
    if (start < bytes.length) {
      this.#pieces.push(bytes.subarray(start));
      this.#nPieces = start === 0 ? this.#nPieces + bytes.length : bytes.length - start;
      if (this.#nPieces > LINE_BYTES_MAX) {
        this.destroy(new Error('a line of the daemon does not end'));
      }
    }
  }

  #line(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch (cause) {
      this.destroy(new Error('a line of the daemon is no JSON', { cause }));
      return;
    }
    if (message === null || typeof message !== 'object') {
      return;
    }
    const id = message.id === null && message.error ? this.#tooLong() : message.id;
    const open = this.#open.get(id);
    if (open) {
      this.#open.delete(id);
      this.nBegins -= open.isBegin;
      this.#hold();
      open.answered({ message, text, sent: open.sent });
    }
  }

  /** A line that was too long is answered without its id: it must have been the longest. */
  #tooLong() {
    let longest;
    let length = MAX_LINE_LEAST;
    for (const [id, open] of this.#open) {
      if (open.length > length) {
        longest = id;
        length = open.length;
      }
    }
    return longest;
  }
}
