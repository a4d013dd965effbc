// A bank whose sends take far longer than the call timeout: the call times out, the flow polls the transfer's status,
// and no second send starts while the bank may still be processing the first.
import { afterAll, expect, test } from '@jest/globals';
import type { Resource } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { SlowBank } from '../support/slowBank.ts';
import { waitFor } from '../support/waitFor.ts';

/**
 * A bank whose sends exceed the call timeout, and whose "unknown" becomes final after a time that the test never
 * reaches.
 */
const bank = new SlowBank({ callLimitMs: 250, notVisibleForMs: 3_600_000 });

/** The number of payout activities that the worker runs concurrently. */
const PAYOUT_SLOTS = 3;
/** More than slots, and fewer than the failed calls that open the breaker of the rail. */
const ITEMS = 2 * PAYOUT_SLOTS;
/** Status polls after which an attempt that waited for the send would have been repeated. */
const POLLS = 2;
/** On failure a test ends before Jest's own limit. */
const LIMIT_MS = 400_000;

const flows = await startTestFlows({
  rails: (rails) => bank.within(rails),
  settings: { WORKER_ROLES: 'flows,payouts,relay', WORKER_PAYOUTS_ACTIVITIES_MAX: String(PAYOUT_SLOTS) },
});

afterAll(async () => {
  bank.releaseAll();
  expect(await endFlows(flows)).toEqual([]);
});

const bankAccount = { accountNumber: '0123456789', bankCode: '058' };

/** Lets the bank complete the transfer and signals its flow. */
async function release(reference: string): Promise<void> {
  bank.release(reference);
  await flows.flow(reference).signal('transferUpdated');
}

/** Waits until the status of each transfer has been polled this often after its send, which is still in progress. */
const untilPolled = (references: readonly string[]) =>
  waitFor(
    'every transfer to be sent and polled',
    () => references.every((reference) => bank.sendsOf(reference) > 0 && bank.asksSinceSend(reference) >= POLLS),
    LIMIT_MS,
  );

test(
  'a send that exceeds the call timeout is polled and not repeated',
  async () => {
    const { id, path } = await flows.withdraw(bankAccount.accountNumber);
    await untilPolled([id]);
    expect([bank.sendsOf(id), bank.sendsAtOnce(id)]).toEqual([1, 1]);
    await release(id);
    await flows.untilStatus(path, 'completed');
    expect(bank.sendsOf(id)).toBe(1);
  },
  2 * LIMIT_MS,
);

test(
  'a call that times out releases its worker slot: more transfers than slots are sent, each once',
  async () => {
    const sourceWalletId = await flows.createWallet(undefined, { balance: ITEMS * 103_000 });
    const items = Array.from({ length: ITEMS }, () => ({ amount: 100_000, bankAccount }));
    const { data } = await flows.test.money('/payouts', { sourceWalletId, items });
    const references = (data.items as Resource[]).map(({ id }) => id);
    await untilPolled(references);
    await Promise.all(references.map(release));
    await flows.untilStatus(`/payouts/${data.id}`, 'completed');
    expect(references.filter((one) => bank.sendsOf(one) !== 1 || bank.sendsAtOnce(one) !== 1)).toEqual([]);
  },
  2 * LIMIT_MS,
);
