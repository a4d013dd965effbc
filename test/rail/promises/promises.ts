// The promises of a rail in the tests of an adapter, with a fake of its provider: those of `rail check`, and those that
// need control of the provider.
import type { HarnessOptions, RailHarness } from '../../../src/rail/promises/harness.ts';
import type { RailPromise } from '../../../src/rail/promises/promise.ts';
import { CHECKS } from '../../../src/rail/promises/promises.ts';
import { tryPromise } from '../../../src/rail/promises/run.ts';
import { accountsUnderControl } from './accounts.ts';
import { callbacksUnderControl } from './callbacks.ts';
import type { ControlledHarness, ProviderControl, TriedPromise } from './control.ts';
import { creditsUnderControl } from './credits.ts';
import { listsUnderControl } from './lists.ts';
import { statementUnderControl } from './statement.ts';
import { transfersUnderControl } from './transfers.ts';

const ended = new Set<string>();

/** What was sent ends once at the receiving bank, while a promise waits. */
function withEndings(harness: ControlledHarness): RailHarness {
  const sent = new Set<string>();
  return {
    ...harness,
    send: async (instruction) => {
      const report = await harness.send(instruction);
      sent.add(instruction.reference);
      return report;
    },
    pause: async (ms) => {
      const due = sent.difference(ended);
      for (const reference of due) {
        ended.add(reference);
        await harness.control.end(reference, 'complete');
      }
      await harness.pause(ms);
    },
  };
}

function ofCheck(promise: RailPromise): TriedPromise {
  return { id: promise.id, run: (harness) => tryPromise(promise, withEndings(harness)) };
}

const isOfLimits = ({ id }: RailPromise): boolean => id === 'limits';

/** All, the limit of calls last. */
export const PROMISES: readonly TriedPromise[] = [
  ...CHECKS.filter((promise) => !isOfLimits(promise)).map(ofCheck),
  ...accountsUnderControl,
  ...creditsUnderControl,
  ...transfersUnderControl,
  ...callbacksUnderControl,
  ...statementUnderControl,
  ...listsUnderControl,
  ...CHECKS.filter(isOfLimits).map(ofCheck),
];

/** Everything that an operator may allow; what is asked for is paid. */
export const optionsOf = async (control: ProviderControl, bvn: string | null = null): Promise<HarnessOptions> => ({
  movesMoney: true,
  to: await control.newDestination(),
  noAccount: control.noAccount,
  bvn,
  payer: { waitMs: 60_000, ask: (amount, { accountNumber }) => void control.payIn(accountNumber, amount) },
});

/** What the service copes with, of a fake that is as documented. */
const WARNINGS = ["the payer's account number is masked", 'the rail does not report its balance'];

/** What was found of a broken promise; null: it is kept, or the rail offers nothing of the kind. */
export async function findBroken(promise: TriedPromise, harness: ControlledHarness): Promise<string | null> {
  const { verdict, found, todo } = await promise.run(harness);
  const isKept = verdict === 'PASS' || (verdict === 'SKIP' && todo === null) || WARNINGS.includes(found);
  return isKept ? null : `${verdict} ${found}`;
}
