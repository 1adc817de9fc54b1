// Where in an agent's run the calls stand: kept along asynchronous calls, so that tools need not be
// told.

import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage();

/**
 * Calls fn; every guarded call in it, however deep, has this `run`, `step` and `turn`, unless it
 * names its own.
 */
export function withRun({ run, step, turn }, fn) {
  const named = Object.entries({ run, step, turn }).filter(([, value]) => value !== undefined);
  return storage.run({ ...storage.getStore(), ...Object.fromEntries(named) }, fn);
}

/** `run`, `step` and `turn` as far as withRun() named them here. */
export function currentRun() {
  return storage.getStore() ?? {};
}
