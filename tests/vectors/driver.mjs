#!/usr/bin/env node
// The driver of the Node client for wrapper.json: README.md beside this says what it reads and
// writes. A case a line on stdin, made through a ledger of its own; a line on stdout says what its
// caller got.

import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

import {
  EffectError,
  Failed,
  guard,
  Ledger,
  NotSent,
  ToolError,
} from '../../client/node/src/index.js';

const LOOK_MS = 5;

/** Resolves when the file is there; rejects when `signal` aborts. */
function until(path, signal) {
  return new Promise((resolve, reject) => {
    const look = setInterval(() => {
      if (!existsSync(path) && !signal?.aborted) {
        return;
      }
      clearInterval(look);
      if (signal?.aborted) {
        reject(signal.reason);
      } else {
        resolve();
      }
    }, LOOK_MS);
  });
}

function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    }
    signal.addEventListener('abort', resolve, { once: true });
  });
}

/** What fn waits for before it does anything. */
async function waitFor(fn, effect, seen) {
  const { signal } = effect;
  signal.addEventListener(
    'abort',
    () => {
      seen.lost ||= signal.reason?.name === 'Lost';
    },
    { once: true },
  );
  if (fn.until_file) {
    await until(fn.until_file);
  } else if (fn.until) {
    await aborted(signal);
    if (fn.until === 'cancelled') {
      throw (seen.cancelled = signal.reason);
    }
  }
}

function odd() {
  const circle = { name: 'a value that no JSON can hold' };
  circle.itself = circle;
  return circle;
}

async function does(fn, seen) {
  const own = (error) => Object.assign(error, { isOwn: true });
  switch (fn.does) {
    case 'fail':
      throw new Failed(fn.text, { result: fn.value });
    case 'tool_error':
      throw new ToolError(fn.text, { result: fn.value });
    case 'not_sent':
      throw new NotSent(fn.text);
    case 'raise':
      throw (seen.own = own(new Error(fn.text)));
    case 'time_out': {
      const signal = AbortSignal.timeout(LOOK_MS);
      await new Promise((resolve) => {
        signal.onabort = resolve;
        setTimeout(() => {}, 10 * LOOK_MS); // the signal's own timer keeps no process alive
      });
      throw (seen.own = signal.reason);
    }
    default:
      return fn.bytes === undefined ? (fn.odd ? odd() : fn.value) : 'x'.repeat(fn.bytes);
  }
}

function tool(asked, seen) {
  return async (args, effect) => {
    const claim =
      effect.id === undefined ? {} : { attempt: effect.attempt, provider_key: effect.providerKey };
    appendFileSync(asked.calls, `${JSON.stringify({ ...claim, args })}\n`);
    await waitFor(asked.fn, effect, seen);
    return does(asked.fn, seen);
  };
}

function kindOf(error, seen, controller) {
  if (controller.signal.aborted && error === controller.signal.reason) {
    return 'Cancelled';
  }
  if (error === seen.own) {
    return 'Own';
  }
  return error instanceof EffectError ? error.name : `?${error?.stack}`;
}

function toldOf(error, seen, controller) {
  const told = {
    got: 'error',
    kind: kindOf(error, seen, controller),
    text: error.message,
    advice: error.advice,
    pointer: error.pointer,
    why: error.why,
  };
  if (error instanceof Failed || error instanceof ToolError) {
    told.value = error.result;
    told.replayed = error.replayed ? true : undefined;
  } else if (error instanceof EffectError) {
    told.value = error.value;
  }
  return told;
}

async function oneCall(ledger, asked) {
  const { args, tool: name, lease_ms: leaseMs, namespace, owner, ...perCall } = asked.params;
  const {
    wait_ms: waitMs,
    begin_timeout_ms: beginTimeoutMs,
    complete_timeout_ms: completeTimeoutMs,
    report_timeout_ms: reportTimeoutMs,
  } = asked.options ?? {};
  const controller = new AbortController();
  const over = new AbortController();
  const seen = {};
  if (asked.cancel_file) {
    until(asked.cancel_file, over.signal).then(
      () => controller.abort(),
      () => {},
    );
  }
  const guarded = guard(
    ledger,
    {
      tool: name,
      leaseMs,
      namespace,
      owner,
      waitMs,
      beginTimeoutMs,
      completeTimeoutMs,
      reportTimeoutMs,
      errors: asked.fn.named ? () => true : undefined,
    },
    tool(asked, seen),
  );
  try {
    const { value, replayed, raw } = await guarded.outcome(args, {
      ...perCall,
      signal: controller.signal,
    });
    return { got: 'value', value, replayed, raw, lost: seen.lost || undefined };
  } catch (error) {
    return { ...toldOf(error, seen, controller), lost: seen.lost || undefined };
  } finally {
    over.abort();
  }
}

async function oneCase(asked) {
  const ledger = new Ledger({ socket: asked.socket });
  const [first, ...more] = [asked, ...(asked.more ?? []).map((each) => ({ ...asked, ...each }))];
  const told = [];
  if (asked.at_once) {
    told.push(...(await Promise.all([first, ...more].map((each) => oneCall(ledger, each)))));
  } else {
    for (const each of [first, ...more]) {
      told.push(await oneCall(ledger, each));
    }
  }
  ledger.close(); // it waits for answers that nobody needs; the caller has what he got
  return { name: asked.name, ...told[0], more: asked.more && told.slice(1) };
}

/** What is no JSON is told as null. */
function lineOf(told) {
  try {
    return JSON.stringify(told);
  } catch {
    return JSON.stringify({ ...told, value: null });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${lineOf(await oneCase(JSON.parse(line)))}\n`);
}
