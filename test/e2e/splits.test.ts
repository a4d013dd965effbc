// Payments with splits: one statement credits all wallets, a wallet that takes nothing holds up no other, and refunds
// come from each. The tests run concurrently, each with its own wallets.
import { afterAll, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ settings: { notVisibleForMs: 100 } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const BASE = 200_000;
const PAYABLE = BASE + 2_000;
const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '0123456789', senderBankCode: '058' };

const wallets = async () => ({
  seller: await flows.createWallet(),
  platform: await flows.createWallet(),
  courier: await flows.createWallet(),
});
type Wallets = Awaited<ReturnType<typeof wallets>>;

const order = ({ platform, courier }: Wallets) => ({
  reference: `order ${platform}`,
  description: 'Shoes',
  splits: [
    { walletId: platform, basisPoints: 1_000, reference: 'commission', description: 'Commission' },
    { walletId: courier, amount: 30_000 },
  ],
});

const balances = async ({ seller, platform, courier }: Wallets) =>
  await Promise.all([seller, platform, courier].map(flows.balanceOf));

async function settled(of: Wallets) {
  const payment = await flows.createPayment(of.seller, BASE, order(of));
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE, SENDER);
  const path = `/payments/${payment.id}`;
  return { path, payment: await flows.untilStatus(path, 'settled') };
}

/** The id of the case of a wallet, once its flow runs. */
async function caseOf(walletId: string): Promise<string> {
  const { id } = await waitFor(
    'the case',
    async () => (await flows.test.get(`/review-cases?walletId=${walletId}`)).items[0],
  );
  await flows.untilStarted(id);
  return id;
}

const decided = (id: string, action: string) =>
  waitFor('the case to be decided', async () => (await flows.decide('resolveCase', id, { action })).outcome === 'done');
const credit = (id: string) => decided(id, 'credit');

test.concurrent('one statement credits the target and each split, each with its entry and event', async () => {
  const of = await wallets();
  const { payment } = await settled(of);
  expect(await balances(of)).toEqual([150_000, 20_000, 30_000]);
  expect(payment.splits).toEqual([
    {
      walletId: of.platform,
      amount: 20_000,
      basisPoints: 1_000,
      reference: 'commission',
      description: 'Commission',
      amountCredited: 20_000,
      amountRefunded: 0,
    },
    expect.objectContaining({ walletId: of.courier, amount: 30_000, basisPoints: null, amountCredited: 30_000 }),
  ]);
  const lines = await Promise.all(
    Object.values(of).map(async (id) => (await flows.test.get(`/wallets/${id}/transactions`)).items),
  );
  const [entries, ...more] = lines.map((items) => items[0]);
  expect(lines.map((items) => items.length)).toEqual([1, 1, 1]);
  for (const entry of [entries, ...more]) {
    expect(entry).toMatchObject({
      kind: 'payment_settlement',
      resourceId: payment.id,
      reference: payment.reference,
      counterparty: { walletId: null, name: 'Chidi Eze' },
    });
  }
  expect([entries, ...more].map((entry) => entry?.description)).toEqual(['Shoes', 'Commission', 'Shoes']);
  expect(new Set([entries, ...more].map((entry) => entry?.transactionId)).size).toBe(1);
  expect(await flows.eventsOf(of.courier)).toEqual([
    expect.objectContaining({
      type: 'wallet.credited',
      data: expect.objectContaining({ paymentId: payment.id, amount: 30_000, reference: payment.reference }),
    }),
  ]);
});

test.concurrent.each(['frozen', 'closed'] as const)(
  'the part of a %s wallet goes to review with its own case, and the others are credited',
  async (status) => {
    const of = await wallets();
    const payment = await flows.createPayment(of.seller, BASE, order(of));
    await flows.setWalletStatus(of.courier, status);
    await flows.credit(payment.virtualAccount.accountNumber, PAYABLE + 500, SENDER);
    const path = `/payments/${payment.id}`;
    expect(await flows.untilStatus(path, 'settled')).toMatchObject({ amountInReview: 30_000 });
    expect(await balances(of)).toEqual([150_500, 20_000, 0]);
    const id = await caseOf(of.courier);
    expect((await flows.test.get(`/review-cases/${id}`)).data).toMatchObject({
      reason: 'split_refused',
      amount: 30_000,
      paymentId: payment.id,
      actions: ['credit', 'move_to_unclaimed'],
    });
    if (status === 'frozen') await flows.setWalletStatus(of.courier, 'active');
    await decided(id, status === 'frozen' ? 'credit' : 'move_to_unclaimed');
    const credited = status === 'frozen' ? 30_000 : 0;
    expect(await balances(of)).toEqual([150_500, 20_000, credited]);
    const { data } = await flows.test.money(`${path}/refund`, {});
    expect(data).toMatchObject({ amount: 170_500 + credited });
    await flows.untilStatus(path, 'refunded');
    expect(await balances(of)).toEqual([0, 0, 0]);
  },
);

test.concurrent('a split over the limit of its wallet goes to review', async () => {
  const of = await wallets();
  const payment = await flows.createPayment(of.seller, BASE, order(of));
  await flows.fund(flows.organisation.organisationId, of.platform, 29_990_000);
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE, SENDER);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await balances(of)).toEqual([150_000, 29_990_000, 30_000]);
  expect((await flows.test.get(`/review-cases?walletId=${of.platform}`)).items).toMatchObject([
    { reason: 'split_refused', amount: 20_000 },
  ]);
});

test.concurrent('a target that takes nothing has all of it in review, and a decision credits every wallet', async () => {
  const of = await wallets();
  const payment = await flows.createPayment(of.seller, BASE, order(of));
  await flows.setWalletStatus(of.seller, 'frozen');
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE, SENDER);
  const id = await caseOf(of.seller);
  expect(await balances(of)).toEqual([0, 0, 0]);
  await flows.setWalletStatus(of.seller, 'active');
  await credit(id);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await balances(of)).toEqual([150_000, 20_000, 30_000]);
});

test.concurrent('a part that came late is divided as its share, and the rest of the splits with the next one', async () => {
  const of = await wallets();
  const payment = await flows.createPayment(of.seller, BASE, order(of));
  expect((await flows.test.money(`/simulations/payments/${payment.id}/expire`, {})).status).toBeLessThan(300);
  const path = `/payments/${payment.id}`;
  await flows.untilStatus(path, 'expired');
  for (const expected of [
    [75_000, 10_000, 15_000],
    [150_000, 20_000, 30_000],
  ]) {
    await flows.credit(payment.virtualAccount.accountNumber, PAYABLE / 2, SENDER);
    const id = await waitFor(
      'the case',
      async () => (await flows.test.get(`/review-cases?paymentId=${payment.id}&status=open`)).items[0]?.id,
    );
    await flows.untilStarted(id);
    await credit(id);
    expect(await balances(of)).toEqual(expected);
  }
});

test.concurrent('a payment from a wallet credits all wallets, and puts the part of a frozen one into review', async () => {
  const of = await wallets();
  const payer = await flows.createWallet(undefined, { balance: BASE });
  const bill = { method: 'virtual_wallet', baseAmount: BASE, targetWalletId: of.seller, ...order(of) };
  const { data: payment } = await flows.test.money('/payments', bill);
  await flows.setWalletStatus(of.platform, 'frozen');
  const paid = await flows.test.money(`/wallets/${payer}/pay`, { paymentId: payment.id });
  expect(paid.data).toMatchObject({ status: 'settled', amountInReview: 20_000 });
  expect(await balances(of)).toEqual([150_000, 0, 30_000]);
  await flows.setWalletStatus(of.platform, 'active');
  await credit(await caseOf(of.platform));
  expect(await balances(of)).toEqual([150_000, 20_000, 30_000]);
  const { data: refund } = await flows.test.money(`/payments/${payment.id}/refund`, { amount: BASE / 2 });
  expect(refund).toMatchObject({
    status: 'completed',
    from: [
      { walletId: of.seller, amount: 75_000 },
      { walletId: of.platform, amount: 10_000 },
      { walletId: of.courier, amount: 15_000 },
    ],
  });
  expect(await flows.balanceOf(payer)).toBe(BASE / 2);
  const [line] = (await flows.test.get(`/wallets/${of.courier}/transactions`)).items;
  expect(line).toMatchObject({ kind: 'refund_completion', counterparty: { walletId: payer } });
});

test.concurrent('a wallet that gets a split cannot pay the payment', async () => {
  const of = await wallets();
  await flows.fund(flows.organisation.organisationId, of.courier, BASE);
  const bill = { method: 'virtual_wallet', baseAmount: BASE, targetWalletId: of.seller, ...order(of) };
  const { data: payment } = await flows.test.money('/payments', bill);
  const { error } = await flows.test.money(`/wallets/${of.courier}/pay`, { paymentId: payment.id });
  expect(error).toMatchObject({ code: 'SAME_WALLET', details: { walletId: of.courier } });
});

test.concurrent('a refund that fails at the bank goes back to each wallet, or to review for one that was closed', async () => {
  const of = await wallets();
  const { path } = await settled(of);
  const bankAccount = { accountNumber: '3000000001', bankCode: '058' };
  await flows.setBehaviour(bankAccount.accountNumber, 'hold');
  const { data: refund } = await flows.test.money(`${path}/refund`, { bankAccount });
  expect(await balances(of)).toEqual([0, 0, 0]);
  await flows.setWalletStatus(of.courier, 'closed');
  await flows.endTransfer(refund.id, 'reject');
  await flows.untilStatus(`/refunds/${refund.id}`, 'failed');
  expect(await balances(of)).toEqual([150_000, 20_000, 0]);
  expect((await flows.test.get(path)).data.splits).toMatchObject([{ amountRefunded: 0 }, { amountRefunded: 0 }]);
});

test.concurrent('fifty settlements take the commission before fifty withdrawals of all that the seller has', async () => {
  const of = await wallets();
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
  const bills = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const [payer, { data }] = await Promise.all([
        flows.createWallet(undefined, { balance: 10_000 }),
        flows.test.money('/payments', {
          method: 'virtual_wallet',
          baseAmount: 10_000,
          targetWalletId: of.seller,
          splits: [{ walletId: of.platform, basisPoints: 1_000 }],
        }),
      ]);
      return { payer, paymentId: data.id };
    }),
  );
  const answers = await Promise.all(
    bills.flatMap(({ payer, paymentId }) => [
      flows.test.money(`/wallets/${payer}/pay`, { paymentId }),
      flows.test.money(`/wallets/${of.seller}/withdraw`, { amount: 9_000 - 1_025, ...bankAccount }),
    ]),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
  expect(await flows.balanceOf(of.platform)).toBe(50 * 1_000);
  const withdrawn = answers.filter(({ status }) => status === 201);
  const totals = withdrawn.map(({ data }) => Number(data.totalAmount)).reduce((sum, one) => sum + one, 0);
  expect(await flows.balanceOf(of.seller)).toBe(50 * 9_000 - totals);
});

test.concurrent('without a split, a withdrawal between the payment and a transfer of the commission leaves none', async () => {
  const of = await wallets();
  const payer = await flows.createWallet(undefined, { balance: 10_000 });
  const bill = { method: 'virtual_wallet', baseAmount: 10_000, targetWalletId: of.seller };
  const { data: payment } = await flows.test.money('/payments', bill);
  await flows.test.money(`/wallets/${payer}/pay`, { paymentId: payment.id });
  const withdrawal = { amount: 10_000 - 2_500, accountNumber: '0123456789', bankCode: '058' };
  const withdrawn = await flows.test.money(`/wallets/${of.seller}/withdraw`, withdrawal);
  expect([withdrawn.status, withdrawn.data.totalAmount]).toEqual([201, 10_000]);
  const commission = { destinationWalletId: of.platform, amount: 1_000 };
  const taken = await flows.test.money(`/wallets/${of.seller}/transfer`, commission);
  expect(taken.error).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS', details: { attemptedAmount: 1_000 } });
  expect(await flows.balanceOf(of.platform)).toBe(0);
});

const refundTo = { bankAccount: { accountNumber: '3000000002', bankCode: '058' } };

/** A settled payment whose seller has withdrawn all that it had, by a transfer. */
async function emptied() {
  const of = await wallets();
  const made = await settled(of);
  await flows.test.money(`/wallets/${of.seller}/transfer`, {
    destinationWalletId: await flows.createWallet(),
    amount: 150_000,
  });
  return { of, ...made };
}

const ownWallet = async (amount: number): Promise<string> => {
  const { settlementWalletId, organisationId } = flows.organisation;
  await flows.fund(organisationId, settlementWalletId, amount);
  return settlementWalletId;
};

const owedBy = async (walletId: string) => (await flows.test.get(`/wallets/${walletId}`)).data.amountOwed;

test.concurrent('a refund from chosen wallets takes from those, and from none more than it can give', async () => {
  const of = await wallets();
  const { path } = await settled(of);
  const from = [
    { walletId: of.platform, amount: 20_000 },
    { walletId: of.seller, amount: 1_000 },
  ];
  const { data } = await flows.test.money(`${path}/refund`, { from });
  expect(data).toMatchObject({ amount: 21_000, from });
  expect(await balances(of)).toEqual([149_000, 0, 30_000]);
  const again = await flows.test.money(`${path}/refund`, { from: [{ walletId: of.platform, amount: 1 }] });
  expect(again.error).toMatchObject({
    code: 'REFUND_AMOUNT_EXCEEDED',
    details: { walletId: of.platform, refundableAmount: 0, attemptedAmount: 1 },
  });
  const rest = await flows.test.money(`${path}/refund`, {});
  expect(rest.data).toMatchObject({ amount: BASE - 21_000 });
  await flows.untilStatus(path, 'refunded');
  expect(await balances(of)).toEqual([0, 0, 0]);
});

test.concurrent('another wallet funds a refund, and what is owed is repaid by the next credits of the seller', async () => {
  const { of, path } = await emptied();
  expect((await flows.test.money(`${path}/refund`, {})).error.code).toBe('WALLET_INSUFFICIENT_FUNDS');
  const fundedBy = await ownWallet(BASE);
  const { status, data } = await flows.test.money(`${path}/refund`, { fundedBy, recover: true });
  expect([status, data]).toEqual([201, expect.objectContaining({ amount: BASE, fundedBy })]);
  expect(await Promise.all([of.seller, of.platform, of.courier].map(owedBy))).toEqual([150_000, 20_000, 30_000]);
  expect(await balances(of)).toEqual([0, 20_000, 30_000]);
  expect((await flows.eventsOf(of.seller)).at(-1)).toMatchObject({
    type: 'wallet.debited',
    data: { reason: 'refund_funded', transferId: data.id, amount: 0, missing: 150_000 },
  });
  await flows.untilStatus(path, 'refunded');
  const next = await flows.createPayment(of.seller, BASE);
  await flows.credit(next.virtualAccount.accountNumber, PAYABLE, SENDER);
  await flows.untilStatus(`/payments/${next.id}`, 'settled');
  expect([await owedBy(of.seller), await flows.balanceOf(of.seller)]).toEqual([0, BASE - 150_000]);
});

test.concurrent('a funded refund that fails ends the debt, and what was repaid of it goes to review', async () => {
  const { of, path } = await emptied();
  const fundedBy = await ownWallet(BASE);
  await flows.setBehaviour(refundTo.bankAccount.accountNumber, 'hold');
  const { data: refund } = await flows.test.money(`${path}/refund`, { fundedBy, recover: true, ...refundTo });
  await flows.credit(await flows.depositAccount(of.seller), 40_000, SENDER);
  await waitFor('the debt to be repaid in part', async () => (await owedBy(of.seller)) === 110_000);
  await flows.endTransfer(refund.id, 'reject');
  await flows.untilStatus(`/refunds/${refund.id}`, 'failed');
  expect(await Promise.all([of.seller, of.platform, of.courier].map(owedBy))).toEqual([0, 0, 0]);
  const id = await caseOf(of.seller);
  expect((await flows.test.get(`/review-cases/${id}`)).data).toMatchObject({ reason: 'over_limit', amount: 40_000 });
  await credit(id);
  expect(await flows.balanceOf(of.seller)).toBe(40_000);
});

test.concurrent('money that repaid the debt of a failed refund goes back to its wallet, never to the payer', async () => {
  const of = await wallets();
  const payment = await flows.createPayment(of.seller, BASE, { ...order(of), onMismatch: 'refund' });
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE, SENDER);
  const path = `/payments/${payment.id}`;
  await flows.untilStatus(path, 'settled');
  await flows.setBehaviour(refundTo.bankAccount.accountNumber, 'hold');
  const funding = { fundedBy: await ownWallet(BASE), recover: true, ...refundTo };
  const { data: refund } = await flows.test.money(`${path}/refund`, funding);
  await flows.credit(await flows.depositAccount(of.courier), 30_000, SENDER);
  await waitFor('the debt to be repaid', async () => (await owedBy(of.courier)) === 0);
  await flows.endTransfer(refund.id, 'reject');
  const id = await caseOf(of.courier);
  const returned = await flows.decide('resolveCase', id, { action: 'return_to_sender' });
  expect(returned).toMatchObject({ outcome: 'refused' });
  expect((await flows.test.get(`/review-cases/${id}`)).data).toMatchObject({ status: 'open', amount: 30_000 });
  await credit(id);
  expect(await flows.balanceOf(of.courier)).toBe(60_000);
});

test.concurrent('a wallet of a customer funds a refund, without a debt', async () => {
  const { of, path } = await emptied();
  const fundedBy = await flows.createWallet(undefined, { balance: BASE });
  const refused = await flows.test.money(`${path}/refund`, { fundedBy, recover: true });
  expect(refused.error.details).toMatchObject({ fields: [{ field: 'fundedBy', code: 'custom' }] });
  expect((await flows.test.money(`${path}/refund`, { fundedBy })).status).toBe(201);
  expect([await flows.balanceOf(fundedBy), await owedBy(of.seller)]).toEqual([0, 0]);
});

test.concurrent('refunds at once, of all kinds, give back exactly what was paid', async () => {
  const of = await wallets();
  const { path } = await settled(of);
  const fundedBy = await ownWallet(BASE);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, position) => {
      if (position % 4 === 0) return flows.test.money(`${path}/refund`, { amount: 10_000, fundedBy, recover: true });
      if (position % 4 === 1) return flows.test.money(`${path}/refund`, { amount: 10_000, fundedBy });
      const from = [{ walletId: position % 4 === 2 ? of.seller : of.courier, amount: 10_000 }];
      return flows.test.money(`${path}/refund`, position % 3 === 0 ? { from } : { amount: 10_000 });
    }),
  );
  const given = answers.filter(({ status }) => status === 201).length * 10_000;
  const rest = await flows.test.money(`${path}/refund`, { fundedBy });
  expect(given + Number(rest.status === 201 ? rest.data.amount : 0)).toBe(BASE);
  await flows.untilStatus(path, 'refunded');
});
