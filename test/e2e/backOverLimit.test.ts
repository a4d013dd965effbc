// Money that comes back to a wallet may take it over its limit, as far as what comes back; a wallet that is over its
// limit already takes none, so that the same money cannot go round and pile up.
import { afterAll, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows();

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const BALANCE_MAX = 30_000_000;
const AMOUNT = 5_000_000;
const HELD = '9999999003';

const fill = async (walletId: string, amount: number): Promise<void> =>
  await flows.fund(flows.organisation.organisationId, walletId, amount);

test('the second refund to a wallet that the first one took over its limit is refused, until it has room again', async () => {
  const [payer, target] = [await flows.createWallet(undefined, { balance: BALANCE_MAX }), await flows.createWallet()];
  const paid: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const { id } = await flows.createPayment(target, AMOUNT, { method: 'virtual_wallet' });
    expect((await flows.test.money(`/wallets/${payer}/pay`, { paymentId: id })).status).toBe(200);
    paid.push(id);
  }
  await fill(payer, 2 * AMOUNT);
  const [first, second] = paid;
  expect((await flows.test.money(`/payments/${first}/refund`, {})).status).toBe(201);
  expect(await flows.balanceOf(payer)).toBe(BALANCE_MAX + AMOUNT);
  const refused = await flows.test.money(`/payments/${second}/refund`, {});
  expect([refused.status, refused.error.code, refused.error.details]).toEqual([
    422,
    'WALLET_TIER1_LIMIT_EXCEEDED',
    {
      walletId: payer,
      limit: 'balance',
      limitAmount: BALANCE_MAX,
      attemptedAmount: BALANCE_MAX + 2 * AMOUNT,
      availableAmount: 0,
    },
  ]);
  await flows.test.money(`/wallets/${payer}/transfer`, { destinationWalletId: target, amount: AMOUNT });
  expect((await flows.test.money(`/payments/${second}/refund`, {})).status).toBe(201);
});

test('of transfers that fail at once, what does not fit goes to review, and can be credited later', async () => {
  const walletId = await flows.createWallet(undefined, { balance: BALANCE_MAX });
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const body = { amount: AMOUNT, accountNumber: HELD, bankCode: '058' };
    ids.push(String((await flows.test.money(`/wallets/${walletId}/withdraw`, body)).data.id));
  }
  await Promise.all(ids.map((id) => flows.untilStarted(id)));
  const left = await flows.balanceOf(walletId);
  await fill(walletId, BALANCE_MAX - left);
  await waitFor('the bank to have them', async () => {
    const answers = await Promise.all(
      ids.map((id) => flows.test.post(`/simulations/bank-transfers/${id}/resolve`, { outcome: 'reject' })),
    );
    return answers.every(({ status }) => status === 200 || status === 409 || status === 422);
  });
  await Promise.all(ids.map((id) => flows.untilStatus(`/withdrawals/${id}`, 'failed')));
  const back = (BALANCE_MAX - left) / 3;
  expect(await flows.balanceOf(walletId)).toBe(BALANCE_MAX + back);
  const { items } = await flows.test.get(`/review-cases?walletId=${walletId}&status=open`);
  expect(items.map(({ reason, amount }) => [reason, amount])).toEqual([
    ['over_limit', back],
    ['over_limit', back],
  ]);
  const resolve = () =>
    flows.test.money(`/review-cases/${items[0]?.id}/resolve`, { action: 'credit', reason: 'there is room' });
  expect((await resolve()).error.code).toBe('WALLET_TIER1_LIMIT_EXCEEDED');
  const other = await flows.createWallet();
  for (let count = 0; count < 3; count += 1) {
    await flows.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId: other, amount: AMOUNT });
  }
  expect((await resolve()).status).toBe(200);
});
