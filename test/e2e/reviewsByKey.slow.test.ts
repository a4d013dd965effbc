// Money that a payment does not take, with the flows running: decided by a caller, or returned because the payment says
// so; and payments that expire now.
import { afterAll, describe, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows();

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '0123456789', senderBankCode: '058' };

/** The case of a payment, once its flow runs. */
async function caseOf(paymentId: string): Promise<string> {
  const id = await waitFor(
    'the case',
    async () => (await flows.test.get(`/review-cases?paymentId=${paymentId}`)).items[0]?.id,
  );
  await flows.untilStarted(id);
  return id;
}

/** A settled payment that gets this much too late. Returns the case. */
async function paidTwice(amount: number, more: object = {}): Promise<{ walletId: string; paymentId: string }> {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 100_000, more);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount, SENDER);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await flows.credit(payment.virtualAccount.accountNumber, amount, SENDER);
  return { walletId, paymentId: payment.id };
}

const decide = (id: string, action: string) =>
  flows.test.money(`/review-cases/${id}/resolve`, { action, reason: 'the customer called' });

const resultOf = (id: string) => flows.flow(id).result();

const sentFor = async (id: string) => [
  ...(await flows.sql`SELECT status, amount, account_number FROM sandbox_bank.transfers WHERE reference = ${id}`),
];

describe('decided by a caller', () => {
  test('credit: the flow ends', async () => {
    const { walletId, paymentId } = await paidTwice(5_000);
    const id = await caseOf(paymentId);
    expect((await decide(id, 'credit')).data.status).toBe('credited');
    expect(await resultOf(id)).toEqual({ status: 'credited' });
    expect(await flows.balanceOf(walletId)).toBe(105_000);
  });

  test('return_to_sender: the flow sends the money back', async () => {
    const { paymentId } = await paidTwice(5_000);
    const id = await caseOf(paymentId);
    expect((await decide(id, 'return_to_sender')).data.status).toBe('returning');
    expect(await resultOf(id)).toEqual({ status: 'returned_to_sender' });
    expect(await sentFor(id)).toEqual([{ status: 'completed', amount: 5_000, accountNumber: '0123456789' }]);
    expect((await flows.test.get(`/review-cases/${id}`)).data).toMatchObject({
      status: 'returned_to_sender',
      actions: [],
    });
  });

  test('unclaimed money, whose flow has ended, is returned after all', async () => {
    const { paymentId } = await paidTwice(5_000);
    const id = await caseOf(paymentId);
    await decide(id, 'move_to_unclaimed');
    expect(await resultOf(id)).toEqual({ status: 'unclaimed' });
    expect((await decide(id, 'return_to_sender')).data.status).toBe('returning');
    await flows.untilStatus(`/review-cases/${id}`, 'returned_to_sender');
    expect(await sentFor(id)).toHaveLength(1);
  });
});

describe('onMismatch: refund', () => {
  test('so does what a payment received that expires, and what comes later', async () => {
    const payment = await flows.createPayment(await flows.createWallet(), 100_000, { onMismatch: 'refund' });
    const { accountNumber } = payment.virtualAccount;
    await flows.credit(accountNumber, 40_000, SENDER);
    await flows.untilStatus(`/payments/${payment.id}`, 'partial');
    expect((await flows.test.post(`/simulations/payments/${payment.id}/expire`)).data.status).toBe('expired');
    await flows.credit(accountNumber, 7_000, SENDER);
    await waitFor('both to be returned', async () => {
      const { items } = await flows.test.get(`/review-cases?paymentId=${payment.id}&status=returned_to_sender`);
      return items.length === 2;
    });
    expect(await flows.accountBalance(`suspense:payment:${payment.id}`)).toBe(0);
  });

  test('money of an unnamed sender waits for a decision', async () => {
    const walletId = await flows.createWallet();
    const payment = await flows.createPayment(walletId, 100_000, { onMismatch: 'refund' });
    await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount, SENDER);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    await flows.dependencies.sandboxBank.receiveCredit({
      organisationId: flows.organisation.organisationId,
      sessionId: 'unnamed',
      accountNumber: payment.virtualAccount.accountNumber,
      amount: 3_000,
      senderName: null,
      senderAccountNumber: null,
      senderBankCode: null,
    });
    const id = await caseOf(payment.id);
    await waitFor('the flow to ask', async () => {
      return (await flows.detailsOf(id)).includes('resolveCase');
    });
    expect((await decide(id, 'credit')).data.status).toBe('credited');
    expect(await resultOf(id)).toEqual({ status: 'credited' });
    expect(await flows.balanceOf(walletId)).toBe(103_000);
  });
});

describe('sandbox time', () => {
  test('a payment expires now: nothing received', async () => {
    const payment = await flows.createPayment(await flows.createWallet(), 100_000);
    const { status, data } = await flows.test.post(`/simulations/payments/${payment.id}/expire`);
    expect([status, data.status]).toEqual([200, 'expired']);
    const events = await flows.eventsOf(payment.id);
    expect(events.map(({ type }) => type)).toEqual(['payment.expired']);
    const again = await flows.test.post(`/simulations/payments/${payment.id}/expire`);
    expect([again.status, again.error.code, again.error.details.status]).toEqual([
      422,
      'PAYMENT_NOT_PAYABLE',
      'expired',
    ]);
  });

  test('the flow of a payment that expired early ends as expired, without a second event', async () => {
    const payment = await flows.createPayment(await flows.createWallet(), 100_000, { expiresIn: 3 });
    await flows.test.post(`/simulations/payments/${payment.id}/expire`);
    await flows.untilStarted(payment.id);
    expect(await resultOf(payment.id)).toEqual({ status: 'expired' });
    expect(await flows.eventsOf(payment.id)).toHaveLength(1);
  });

  test('a payment of another organisation cannot be made to expire', async () => {
    const other = await flows.createOrganisation();
    const payment = await flows.createPayment(await flows.createWallet(), 100_000);
    expect((await other.test.post(`/simulations/payments/${payment.id}/expire`)).error.code).toBe('PAYMENT_NOT_FOUND');
  });
});
