// A wallet's statement and its ledger transactions: what each line is, who was on the other side, and the caller's
// words.
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Resource, startTestApi } from '../support/api.ts';

const api = await startTestApi();

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };
const statement = async (walletId: string): Promise<Resource[]> =>
  (await api.test.get(`/wallets/${walletId}/transactions?limit=100`)).items;

/** What a line says about its resource. */
const detailsOf = ({
  resourceId,
  component,
  amount,
  counterparty,
  description,
  reference,
  payoutItemId,
}: Resource) => ({
  resourceId,
  component,
  amount,
  counterparty,
  description,
  reference,
  payoutItemId,
});

describe('GET /wallets/:id/transactions', () => {
  test('a transfer names the other wallet on both statements, with description and reference', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 900 }), await api.createWallet()];
    const body = { amount: 900, destinationWalletId: destination, description: 'Rent', reference: 'rent-1' };
    const { data } = await api.test.money(`/wallets/${source}/transfer`, body);
    const [out] = await statement(source);
    const [into] = await statement(destination);
    const line = {
      resourceId: data.id,
      component: 'principal',
      amount: 900,
      description: 'Rent',
      reference: 'rent-1',
      payoutItemId: null,
    };
    const side = (walletId: string) => ({ walletId, name: null, accountNumber: null, bankCode: null });
    expect(detailsOf(out as Resource)).toEqual({ ...line, counterparty: side(destination) });
    expect(detailsOf(into as Resource)).toEqual({ ...line, counterparty: side(source) });
    expect(out).toMatchObject({ kind: 'transfer', direction: 'debit', balanceAfter: 0, effectiveAt: data.createdAt });
    expect(into).toMatchObject({ kind: 'transfer', direction: 'credit', balanceAfter: 900 });
    expect(out?.id).toBe(`${String(out?.transactionId)}/1`);
  });

  test('a withdrawal has a line for the amount and one for the fee, each with an id of its own', async () => {
    const walletId = await api.createWallet(api.test, { balance: 10_000 });
    const body = { amount: 1_000, ...BANK_ACCOUNT, narration: 'Savings', reference: 'savings-1' };
    const { data } = await api.test.money(`/wallets/${walletId}/withdraw`, body);
    const [fee, principal] = await statement(walletId);
    const { counterparty } = data as Resource & { counterparty: { accountName: string } };
    const line = {
      resourceId: data.id,
      description: 'Savings',
      reference: 'savings-1',
      payoutItemId: null,
      counterparty: { walletId: null, name: counterparty.accountName, ...BANK_ACCOUNT },
    };
    expect([principal, fee].map((one) => detailsOf(one as Resource))).toEqual([
      { ...line, component: 'principal', amount: 1_000 },
      { ...line, component: 'fee', amount: 2_500 },
    ]);
    expect([principal?.id, fee?.id]).toEqual([
      `${String(principal?.transactionId)}/1`,
      `${String(fee?.transactionId)}/2`,
    ]);
  });

  test('a payout has a line for each item, with its id and counterparty, and one for the fees', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 10_000 }), await api.createWallet()];
    const items = [
      { amount: 100, reference: 'one', bankAccount: BANK_ACCOUNT },
      { amount: 200, reference: 'two', destinationWalletId: destination },
    ];
    const { data } = await api.test.money('/payouts', { sourceWalletId: source, reference: 'salaries', items });
    const [one, two] = data.items as Resource[];
    const lines = (await statement(source)).filter(({ kind }) => kind === 'payout_reserve').toReversed();
    expect(lines.map(detailsOf)).toEqual([
      {
        resourceId: data.id,
        payoutItemId: one?.id,
        component: 'principal',
        amount: 100,
        description: null,
        reference: 'one',
        counterparty: { walletId: null, name: null, ...BANK_ACCOUNT },
      },
      {
        resourceId: data.id,
        payoutItemId: two?.id,
        component: 'principal',
        amount: 200,
        description: null,
        reference: 'two',
        counterparty: expect.objectContaining({ walletId: destination }),
      },
      {
        resourceId: data.id,
        payoutItemId: null,
        component: 'fee',
        amount: 5_000,
        description: null,
        reference: 'salaries',
        counterparty: null,
      },
    ]);
    expect(lines.map(({ id }) => id)).toEqual([1, 2, 3].map((place) => `${String(lines[0]?.transactionId)}/${place}`));
  });

  test('a deposit names its sender, and a payment from a wallet the payer', async () => {
    const [payer, target] = [await api.createWallet(api.test, { balance: 500 }), await api.createWallet()];
    const bill = { method: 'virtual_wallet', baseAmount: 500, targetWalletId: target, description: 'Order 7' };
    const payment = (await api.test.money('/payments', bill)).data.id;
    await api.test.money(`/wallets/${payer}/pay`, { paymentId: payment });
    const [paid, deposit] = await statement(payer);
    expect(paid).toMatchObject({ counterparty: { walletId: target }, description: 'Order 7', resourceId: payment });
    expect((await statement(target))[0]).toMatchObject({ counterparty: { walletId: payer }, description: 'Order 7' });
    expect(deposit).toMatchObject({ kind: 'deposit', component: 'principal', amount: 500 });
    const refund = await api.test.money(`/payments/${payment}/refund`, { amount: 100, reason: 'Broken' });
    expect((await statement(payer))[0]).toMatchObject({
      resourceId: refund.data.id,
      counterparty: { walletId: target },
      description: 'Broken',
    });
  });
});

describe('GET /transactions/:id', () => {
  test('a transaction has all of its postings, with accounts and components', async () => {
    const walletId = await api.createWallet(api.test, { balance: 10_000 });
    const body = { amount: 1_000, ...BANK_ACCOUNT };
    const { data } = await api.test.money(`/wallets/${walletId}/withdraw`, body);
    const [line] = await statement(walletId);
    const transaction = await api.test.get(`/transactions/${String(line?.transactionId)}`);
    const accounts = { debitAccount: `wallet:${walletId}`, creditAccount: 'in_transit:withdrawals' };
    expect(transaction.data).toEqual({
      id: line?.transactionId,
      kind: 'withdrawal_hold',
      resourceId: data.id,
      reversesTransactionId: null,
      postings: [
        { id: `${String(line?.transactionId)}/1`, ...accounts, amount: 1_000, component: 'principal' },
        { id: `${String(line?.transactionId)}/2`, ...accounts, amount: 2_500, component: 'fee' },
      ],
      currency: 'NGN',
      effectiveAt: expect.any(String),
      createdAt: expect.any(String),
    });
  });
});
