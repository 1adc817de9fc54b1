// What must compile under --strict, and what must not: each @ts-expect-error is a mistake that the types see.
import {
  Busy,
  EffectError,
  Failed,
  guard,
  INSTRUCTIONS,
  InvalidParams,
  Ledger,
  lookupTool,
  NotRecorded,
  NotSent,
  ToolError,
  withRun,
} from 'effectd';
import type { Answer, CallOptions, Effect, Guarded, Outcome } from 'effectd';

interface Refund {
  order: number;
  line: number;
  amount: string;
}

const ledger = new Ledger({ socket: '/run/effectd/effectd.sock', namespace: 'payments', waitMs: 0, parse: JSON.parse });

const refund = guard(
  ledger,
  {
    tool: 'refund_order',
    key: ({ order, line }: Refund) => `refund:${order}:${line}`,
    run: (args) => args.order,
    errors: [TypeError, class HttpError extends Error {}],
  },
  async ({ amount }, effect) => {
    const signal: AbortSignal = effect.signal;
    const key: string = effect.providerKey;
    if (signal.aborted) throw new NotSent('too late');
    if (amount === '') throw new Failed('no amount', { result: { code: 7 }, cause: new Error('x') });
    if (amount === '0') throw new ToolError('zero', { result: null });
    const { leaseUntil } = await effect.extend(5000);
    return { receipt: `${key}:${leaseUntil}`, amount };
  },
);

export async function uses(): Promise<string> {
  const options: CallOptions = { key: 'k', step: 3n, signal: AbortSignal.timeout(10) };
  const { receipt } = await refund({ order: 1, line: 2, amount: '3' }, options);
  const outcome: Outcome<{ receipt: string; amount: string }> = await refund.outcome({ order: 1, line: 2, amount: '3' });
  const n: number = withRun({ run: 'r', step: 1 }, () => 5);
  const claim: Answer = await ledger.begin({ tool: 't', args: { n } });
  if (claim.decision === 'run' && claim.isFresh()) {
    await ledger.complete({ effect: claim.effect, token: claim.token, outcome: 'failed', result: [n] });
  }
  const tool = lookupTool(ledger, { namespace: 'n' });
  const found = await tool.execute({ tool: 't', key: 'k' });
  await ledger.close();
  return `${receipt} ${outcome.raw} ${tool.name} ${found.advice} ${INSTRUCTIONS}`;
}

export function reads(error: unknown): unknown {
  if (error instanceof Busy) return error.answer?.retry_after_ms;
  if (error instanceof NotRecorded) return error.value;
  if (error instanceof InvalidParams) return error.pointer;
  return error instanceof EffectError ? error.advice : error;
}

export const plain: Guarded<any, string> = guard(ledger, { tool: 't' }, () => 'x');
export const sync = (effect: Effect): string => effect.key;

// @ts-expect-error a misspelt option
guard(ledger, { tool: 't', keys: 'k' }, () => 1);
// @ts-expect-error no tool
guard(ledger, { key: 'k' }, () => 1);
// @ts-expect-error args of another type
refund({ order: '1', line: 2, amount: '3' });
// @ts-expect-error an option of the guard, not of a call
refund({ order: 1, line: 2, amount: '3' }, { tool: 't' });
// @ts-expect-error the options of a ledger
new Ledger({ path: '/x' });
// @ts-expect-error an outcome that there is not
ledger.complete({ effect: 'e', token: 't', outcome: 'done' });
