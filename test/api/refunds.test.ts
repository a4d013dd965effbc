// POST /payments/:id/refund and GET /refunds/:id, by status. No worker runs here, so the payments are paid from a
// wallet: test/e2e/refunds.test.ts has refunds to a bank account.
import { afterAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { startTestApi } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

const BASE = 200_000;

const api = await startTestApi({ callersRetry: true });

afterAll(() => api.close());

const createPayment = async (targetWalletId: string) =>
  (await api.test.money('/payments', { method: 'virtual_wallet', baseAmount: BASE, targetWalletId })).data;

/** A payment that a wallet has paid. */
async function createSettledPayment() {
  const [payer, walletId] = await Promise.all([api.createWallet(undefined, { balance: BASE }), api.createWallet()]);
  const { id: paymentId } = await createPayment(walletId);
  expect((await api.test.money(`/wallets/${payer}/pay`, { paymentId })).status).toBe(200);
  return { payer, walletId, paymentId, path: `/payments/${paymentId}` };
}

const refund = (path: string, body: object = {}) => api.test.money(`${path}/refund`, body);

describe('200 and 201', () => {
  test('a refund to the paying wallet is completed at once, and both wallets have their balances back', async () => {
    const { payer, walletId, path } = await createSettledPayment();
    const { status, data } = await refund(path);
    expect([status, data.status, data.destination, data.amount]).toEqual([201, 'completed', 'wallet', BASE]);
    expect([await api.balanceOf(payer), await api.balanceOf(walletId)]).toEqual([BASE, 0]);
    expect((await api.test.get(`/refunds/${data.id}`)).data).toEqual(data);
  });

  test('a payment from a wallet is refunded to a bank account that the caller names', async () => {
    const { payer, walletId, path } = await createSettledPayment();
    const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
    const { status, data } = await refund(path, { destination: 'bank', bankAccount });
    expect([status, data.status, data.destination, data.amount]).toEqual([201, 'processing', 'bank', BASE]);
    expect([await api.balanceOf(payer), await api.balanceOf(walletId)]).toEqual([0, 0]);
  });
});

describe('400', () => {
  test.each([
    [{ amount: 0 }, 'amount'],
    [{ amount: '5' }, 'amount'],
    [{ destination: 'cash' }, 'destination'],
    [{ bankAccount: { accountNumber: '1', bankCode: '058' } }, 'bankAccount.accountNumber'],
    [{ destination: 'wallet', bankAccount: { accountNumber: '0123456789', bankCode: '058' } }, 'bankAccount'],
    [{ bankAccount: { accountNumber: '0123456789', bankCode: '058' } }, 'bankAccount'],
    [{ note: 'x' }, 'note'],
  ])('a refund with %o is VALIDATION_FAILED with the field %s', async (body, field) => {
    const { path } = await createSettledPayment();
    expectInvalid(await refund(path, body), field);
  });
});

describe('422', () => {
  test('a refund of an unsettled payment is PAYMENT_NOT_REFUNDABLE', async () => {
    const { id } = await createPayment(await api.createWallet());
    const { status, error } = await refund(`/payments/${id}`);
    expect([status, error.code, error.details.status]).toEqual([422, 'PAYMENT_NOT_REFUNDABLE', 'pending']);
  });

  test('a refund above the wallet balance is WALLET_INSUFFICIENT_FUNDS, and there is no refund', async () => {
    const { walletId, path } = await createSettledPayment();
    const destinationWalletId = await api.createWallet();
    await api.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId, amount: 1 });
    expectError(await refund(path), 422, 'WALLET_INSUFFICIENT_FUNDS');
    expect((await api.test.get(`${path}/refunds`)).items).toEqual([]);
  });

  test('what the bank paid beyond what the payment shows is not refunded again: REFUND_AMOUNT_EXCEEDED', async () => {
    const { paymentId, path } = await createSettledPayment();
    expect((await refund(path, { amount: 150_000 })).status).toBe(201);
    // As if refunds that had failed were paid after all, which a payment shows up to what it was credited.
    await api.sql`
      UPDATE payments SET amount_refunded = 0, status = 'settled' WHERE id = ${requireUuid('payment', paymentId)}`;
    const details = { paymentId, refundableAmount: 50_000 };
    expectError(await refund(path, { amount: 60_000 }), 422, 'REFUND_AMOUNT_EXCEEDED', details);
  });

  test('a refund above what is left to refund is REFUND_AMOUNT_EXCEEDED with both amounts', async () => {
    const { path } = await createSettledPayment();
    expect((await refund(path, { amount: 150_000 })).status).toBe(201);
    const { status, error } = await refund(path, { amount: 50_001 });
    expect([status, error.code]).toEqual([422, 'REFUND_AMOUNT_EXCEEDED']);
    expect(error.details).toMatchObject({ refundableAmount: 50_000, attemptedAmount: 50_001 });
  });
});
