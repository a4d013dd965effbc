// A bank that takes far longer for a send than a call may take: the call is given up, the flow asks about the transfer, and no
// second send begins while the bank may still be at the first one.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifyLedger } from '../../src/ledger/verify.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { SlowBank } from '../support/slowBank.ts';
import { waitFor } from '../support/waitFor.ts';

/** A bank that takes a send for longer than a call may take, and knows of it within a time that the test never reaches. */
const bank = new SlowBank({ callLimitMs: 250, unknownIsFinalAfterMs: 3_600_000 });

/** The activities of payouts that a worker process runs at a time (`PAYOUTS_CAPACITY`). */
const PAYOUT_SLOTS = 20;
const ITEMS = 2 * PAYOUT_SLOTS;
/** Questions about a transfer after which an attempt that waited for the send would have been overtaken. */
const ASKS = 2;
/** In vain, a test ends before Jest's own limit. */
const LIMIT_MS = 100_000;

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({ rails: (rails) => bank.within(rails) });
});

afterAll(async () => {
  bank.releaseAll();
  await replayEverything(flows);
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const bankAccount = { accountNumber: '0123456789', bankCode: '058' };

/** The bank is done with the transfer, and reports it. */
async function release(reference: string): Promise<void> {
  bank.release(reference);
  await flows.temporal.workflow.getHandle(reference).signal('transferUpdated');
}

/** Once the bank has been asked about each of these so often after its send, while it answers no send. */
const untilAsked = (references: readonly string[]) =>
  waitFor(
    'every transfer to be sent, and to be asked about again and again',
    () => references.every((reference) => bank.sendsOf(reference) > 0 && bank.asksSinceSend(reference) >= ASKS),
    LIMIT_MS,
  );

test(
  'a send that takes longer than the limit of a call is given up and asked about: there is one send, and one in flight',
  async () => {
    const walletId = await flows.createWallet(undefined, { balance: 103_000 });
    const { data } = await flows.test.money(`/wallets/${walletId}/withdraw`, { amount: 100_000, ...bankAccount });
    await untilAsked([data.id]);
    expect([bank.sendsOf(data.id), bank.sendsAtOnce(data.id)]).toEqual([1, 1]);
    await release(data.id);
    await flows.untilStatus(`/withdrawals/${data.id}`, 'completed');
    expect(bank.sendsOf(data.id)).toBe(1);
  },
  2 * LIMIT_MS,
);

test(
  'a call that is given up frees its slot of the worker: more transfers are sent than it has slots, each once',
  async () => {
    const sourceWalletId = await flows.createWallet(undefined, { balance: ITEMS * 103_000 });
    const items = Array.from({ length: ITEMS }, () => ({ amount: 100_000, bankAccount }));
    const { data } = await flows.test.money('/payouts', { sourceWalletId, items });
    const references = (data.items as Resource[]).map(({ id }) => id);
    await untilAsked(references);
    await Promise.all(references.map(release));
    await flows.untilStatus(`/payouts/${data.id}`, 'completed');
    expect(references.filter((one) => bank.sendsOf(one) !== 1 || bank.sendsAtOnce(one) !== 1)).toEqual([]);
  },
  2 * LIMIT_MS,
);
