// The promises of a rail in the tests of an adapter, with a fake of its provider.
import type { HarnessOptions, ProviderControl, RailHarness, SentCallback } from '../../src/rail/promises/harness.ts';
import type { RailPromise } from '../../src/rail/promises/promise.ts';
import { tryPromise } from '../../src/rail/promises/run.ts';

/** Everything that an operator may allow; what is asked for is paid. */
export const optionsOf = async (
  control: ProviderControl,
  callbacks: () => readonly SentCallback[],
  bvn: string | null = null,
): Promise<HarnessOptions> => ({
  movesMoney: true,
  to: await control.newDestination(),
  bvn,
  payer: { waitMs: 60_000, ask: (amount, { accountNumber }) => void control.payIn(accountNumber, amount) },
  callbacks,
});

/** What the service copes with, of a fake that is as documented. */
const WARNINGS = ["the payer's account number is masked", 'the rail does not report its balance'];

/** What was found of a broken promise; null: it is kept, or the rail offers nothing of the kind. */
export async function findBroken(promise: RailPromise, harness: RailHarness): Promise<string | null> {
  const { verdict, found, todo } = await tryPromise(promise, harness);
  const isKept = verdict === 'PASS' || (verdict === 'SKIP' && todo === null) || WARNINGS.includes(found);
  return isKept ? null : `${verdict} ${found}`;
}
