// Two abort signals as one; AbortSignal.any is younger than the oldest Node that this runs on.

/**
 * { signal, leave }: `signal` aborts when either does; leave() takes the listeners off again. Each
 * may be undefined.
 */
export function joined(a, b) {
  if (!a || !b) {
    return { signal: a ?? b, leave: () => {} };
  }
  const controller = new AbortController();
  const onA = () => controller.abort(a.reason);
  const onB = () => controller.abort(b.reason);
  a.addEventListener('abort', onA, { once: true });
  b.addEventListener('abort', onB, { once: true });
  if (a.aborted || b.aborted) {
    controller.abort((a.aborted ? a : b).reason);
  }
  return {
    signal: controller.signal,
    leave: () => {
      a.removeEventListener('abort', onA);
      b.removeEventListener('abort', onB);
    },
  };
}
