// Promises about callbacks: they arrive and are signed.
import { RailCallbackInvalidError } from '../errors.ts';
import type { RailCallback } from '../port.ts';
import { poll, type RailHarness, type SentCallback } from './harness.ts';
import { type Finding, fail, pass, type RailPromise, warn } from './promise.ts';

const POLL_EVERY_MS = 5_000;
const DUE_AFTER_MS = 60_000;

/** Null: it is not valid. */
export function readCallback({ rail, organisationId }: RailHarness, sent: SentCallback): RailCallback[] | null {
  try {
    return rail.parseCallback({ organisationId, ...sent });
  } catch (error) {
    if (error instanceof RailCallbackInvalidError) return null;
    throw error;
  }
}

async function signature(harness: RailHarness): Promise<Finding> {
  const { callbacks, facts, isLive } = harness;
  const references = new Set([
    ...facts.credits.map(({ accountReference }) => accountReference),
    ...facts.paid.map(({ reference }) => reference),
  ]);
  const isOurs = (event: RailCallback): boolean =>
    (event.kind === 'transfer_update' && references.has(event.reference)) ||
    (event.kind === 'inbound_credit' && references.has(event.hint.accountReference));
  const events = () => (callbacks?.() ?? []).map((sent) => readCallback(harness, sent));
  if (await poll(harness, POLL_EVERY_MS, DUE_AFTER_MS, () => events().some((one) => one?.some(isOurs) === true)))
    return pass('a callback arrived, is signed, and reports what this check did');
  const arrived = events();
  const invalid = arrived.filter((one) => one === null).length;
  if (invalid === 0)
    return fail(
      'no callback reported this check',
      'Enter the address of --listen at the provider, as seen from outside.',
    );
  const text = `${invalid} of ${arrived.length} callbacks are not signed as documented`;
  return isLive
    ? fail(text, 'Compare the signature key (`rail rotate`); ask the provider to sign callbacks.')
    : warn(text, 'Some sandboxes do not sign. Credits arrive when they are polled for.');
}

/** After the transfers, of which it may report too. */
export const callbackPromises: readonly RailPromise[] = [
  { id: 'callback.signature', needs: ['callbacks', 'trace'], after: ['auth.login'], run: signature },
];
