// Payments whose fee the merchant bears: the payer pays the base amount, and the fee comes out of what the target
// receives, however the money comes. The end checks all books. The tests run concurrently, each with its own wallets.
import { afterAll, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { expectError } from '../support/refusals.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { waitFor } from '../support/waitFor.ts';

// Workflows run in a thread, as in production; those of other tests on the main thread, which is faster.
delete process.env.TEMPORAL_DEBUG;
const flows = await startTestFlows({ settings: { notVisibleForMs: 100 } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const [BASE, FEE] = [200_000, 2_000];
const NET = BASE - FEE;
const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '0123456789', senderBankCode: '058' };

async function create(more = {}) {
  const seller = await flows.createWallet();
  const payment = await flows.createPayment(seller, BASE, { feeBearer: 'merchant', ...more });
  const { accountNumber } = payment.virtualAccount;
  const pay = (amount: number) => flows.credit(accountNumber, amount, SENDER);
  return { seller, payment, path: `/payments/${payment.id}`, pay };
}

test.concurrent.each([
  ['at once', [BASE], 0],
  ['with a surplus', [BASE + 500], 500],
  ['in parts', [BASE - 1, 1], 0],
])('money that comes %s is credited less the fee', async (_how, amounts, surplus) => {
  const { seller, payment, path, pay } = await create();
  expect(payment).toMatchObject({ payableAmount: BASE, fee: FEE, feeBearer: 'merchant' });
  let received = 0;
  for (const amount of amounts) {
    await pay(amount);
    received += amount;
    await flows.untilStatus(path, received < BASE ? 'partial' : 'settled');
  }
  expect(await flows.balanceOf(seller)).toBe(NET + surplus);
});

test.concurrent('refunds give back what was credited, and never more', async () => {
  const { seller, path, pay } = await create();
  await pay(BASE);
  await flows.untilStatus(path, 'settled');
  expectError(await flows.test.money(`${path}/refund`, { amount: NET + 1 }), 422, 'REFUND_AMOUNT_EXCEEDED');
  const { data } = await flows.test.money(`${path}/refund`, {});
  expect(data.amount).toBe(NET);
  await flows.untilStatus(path, 'refunded');
  expect(await flows.balanceOf(seller)).toBe(0);
});

test.concurrent('splits bear the fee in proportion, and refunds give back what was credited', async () => {
  const [platform, courier] = [await flows.createWallet(), await flows.createWallet()];
  const splits = [
    { walletId: platform, basisPoints: 1_000, bearsFee: true },
    { walletId: courier, amount: 60_000, bearsFee: true },
  ];
  const { seller, payment, path, pay } = await create({ feeBearer: 'split', splits });
  expect(payment).toMatchObject({ payableAmount: BASE, fee: FEE });
  expect(payment.splits).toMatchObject([
    { amount: 19_500, feeBorne: 500 },
    { amount: 58_500, feeBorne: 1_500 },
  ]);
  await pay(BASE);
  await flows.untilStatus(path, 'settled');
  const balances = () => Promise.all([platform, courier, seller].map(flows.balanceOf));
  expect(await balances()).toEqual([19_500, 58_500, 120_000]);
  expect((await flows.test.money(`${path}/refund`, {})).data.amount).toBe(NET);
  await flows.untilStatus(path, 'refunded');
  expect(await balances()).toEqual([0, 0, 0]);
});

test.concurrent('the target bears the fee, and splits get their parts of the base amount', async () => {
  const platform = await flows.createWallet();
  const { seller, path, pay } = await create({ splits: [{ walletId: platform, basisPoints: 1_000 }] });
  await pay(BASE);
  await flows.untilStatus(path, 'settled');
  expect([await flows.balanceOf(platform), await flows.balanceOf(seller)]).toEqual([20_000, 180_000 - FEE]);
});

test.concurrent('a late credit that operators credit is charged as on time', async () => {
  const seller = await flows.createWallet();
  const payment = await createShortPayment(flows, flows.organisation, {
    method: 'bank_transfer',
    baseAmount: BASE,
    feeBearer: 'merchant',
    targetWalletId: seller,
    windowMs: 1,
  });
  await flows.untilStatus(`/payments/${payment.id}`, 'expired');
  await flows.credit(payment.virtualAccount.accountNumber, BASE, SENDER);
  const { id } = await waitFor(
    'the case',
    async () => (await flows.test.get(`/review-cases?walletId=${seller}`)).items[0],
  );
  await flows.untilStarted(id);
  await waitFor(
    'the case to be decided',
    async () => (await flows.decide('resolveCase', id, { action: 'credit' })).outcome === 'done',
  );
  expect(await flows.balanceOf(seller)).toBe(NET);
});

test.concurrent('a base amount that its fee uses up, and splits that leave less than the fee, are refused', async () => {
  const [targetWalletId, walletId] = [await flows.createWallet(), await flows.createWallet()];
  const refused = (more: object) =>
    flows.test.money('/payments', { method: 'bank_transfer', targetWalletId, feeBearer: 'merchant', ...more });
  expectError(await refused({ baseAmount: 500 }), 400, 'VALIDATION_FAILED', {
    fields: [expect.objectContaining({ field: 'baseAmount', code: 'too_small', constraint: { minimum: 501 } })],
  });
  expectError(await refused({ baseAmount: BASE, splits: [{ walletId, amount: NET + 1 }] }), 400, 'VALIDATION_FAILED', {
    fields: [expect.objectContaining({ field: 'splits', code: 'too_big', constraint: { maximum: NET } })],
  });
});
