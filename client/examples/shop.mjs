// What the tools of the examples do: calls to a provider over HTTP. As good as such code mostly is;
// the guard comes around it.
import { Failed, NotSent } from 'effectd';

const PROVIDER = process.env.PROVIDER_URL ?? 'http://127.0.0.1:4042';
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 1000);

// Only who sends knows that nothing was sent: here, where nobody took the connection.
function refused(error) {
  return error.cause?.code === 'ECONNREFUSED'
    ? new NotSent('the provider is away', { cause: error })
    : error;
}

// effect: what the guard tells of the claim; without a guard there is no key to hand on.
async function post(kind, args, effect) {
  const signals = [AbortSignal.timeout(PATIENCE_MS), ...(effect?.signal ? [effect.signal] : [])];
  const response = await fetch(`${PROVIDER}/${kind}`, {
    method: 'POST',
    headers: effect?.providerKey ? { 'idempotency-key': effect.providerKey } : {},
    body: JSON.stringify(args),
    signal: AbortSignal.any(signals),
  }).catch((error) => {
    throw refused(error);
  });
  const body = await response.json();
  if (response.status === 422) throw new Failed(`the provider refuses: ${body.error}`);
  if (!response.ok) throw new Error(`the provider answered ${response.status}`);
  return body;
}

export const refund = (args, effect) => post('refunds', args, effect);
export const write = (args, effect) => post('mails', args, effect);
