// Abort signals. Many calls may share one, and Node warns of a leak where more than ten listen to a
// signal: so each has one listener of ours, however many want to know. AbortSignal.any is younger
// than the oldest Node that this runs on.

const waiting = new WeakMap(); // signal -> functions to be called

/** Calls fn when `signal` aborts, unless the function that it returns was called before. */
export function onAbort(signal, fn) {
  let all = waiting.get(signal);
  if (!all) {
    all = new Set();
    waiting.set(signal, all);
  }
  if (all.size === 0) {
    all.listener = () => [...all].forEach((each) => each());
    signal.addEventListener('abort', all.listener, { once: true });
  }
  all.add(fn);
  return () => {
    if (all.delete(fn) && all.size === 0) {
      signal.removeEventListener('abort', all.listener);
    }
  };
}

/** { signal, leave }: it aborts when a or b does; leave() ends that. Each may be undefined. */
export function joined(a, b) {
  if (!a || !b) {
    return { signal: a ?? b, leave: () => {} };
  }
  const controller = new AbortController();
  const offs = [a, b].map((each) => onAbort(each, () => controller.abort(each.reason)));
  const aborted = [a, b].find((each) => each.aborted);
  if (aborted) {
    controller.abort(aborted.reason);
  }
  return { signal: controller.signal, leave: () => offs.forEach((off) => off()) };
}
