// Lists of inbound credits with sender and placement: those of a payment, and those of a wallet's deposit account.
import { afterAll, expect, test } from '@jest/globals';
import { publicId, requireUuid } from '../../src/ids.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows();

afterAll(() => flows.close());

const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '1111111111', senderBankCode: '058' };
const BASE = 100_000;
const PAYABLE = BASE + 1_000;

/** The list once it has this many credits and none is still being confirmed. */
const untilApplied = (path: string, count: number): Promise<Resource[]> =>
  waitFor(`${count} credits at ${path}`, async () => {
    const { items } = await flows.test.get(path);
    return items.length === count && items.every(({ status }) => status !== 'received') && items;
  });

const caseOf = async (reason: string, walletId: string): Promise<string> => {
  const [row] = await flows.sql<{ id: string }[]>`
    SELECT id FROM review_cases WHERE reason = ${reason} AND wallet_id = ${requireUuid('wallet', walletId)}`;
  return publicId('reviewCase', row?.id ?? '');
};

test.concurrent('a payment lists each credit with its sender, newest first', async () => {
  const payment = await flows.createPayment(await flows.createWallet(), BASE);
  const path = `/payments/${payment.id}/credits`;
  expect((await flows.test.get(path)).items).toEqual([]);
  await flows.credit(payment.virtualAccount.accountNumber, 1_000, { ...SENDER, sessionId: `first-${payment.id}` });
  await untilApplied(path, 1);
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE - 1_000, { sessionId: `second-${payment.id}` });
  const [second, first] = await untilApplied(path, 2);
  expect(first).toEqual({
    id: expect.stringMatching(/^svc_[0-9a-z]{26}_inc$/),
    amount: 1_000,
    currency: 'NGN',
    sessionId: `first-${payment.id}`,
    sender: { name: 'Chidi Eze', accountNumber: '1111111111', bankCode: '058', sessionId: `first-${payment.id}` },
    status: 'posted',
    reviewCaseId: null,
    reviewReason: null,
    receivedAt: expect.stringMatching(/Z$/),
    createdAt: expect.stringMatching(/Z$/),
  });
  expect(second).toMatchObject({ sessionId: `second-${payment.id}`, amount: PAYABLE - 1_000, status: 'posted' });
});

test.concurrent('a sender that the rail does not report is null', async () => {
  const payment = await flows.createPayment(await flows.createWallet(), BASE);
  await flows.dependencies.sandboxBank.receiveCredit({
    organisationId: flows.organisation.organisationId,
    sessionId: `unknown-${payment.id}`,
    accountNumber: payment.virtualAccount.accountNumber,
    amount: PAYABLE,
    senderName: null,
    senderAccountNumber: null,
    senderBankCode: null,
  });
  const [credit] = await untilApplied(`/payments/${payment.id}/credits`, 1);
  expect(credit?.sender).toEqual({ name: null, accountNumber: null, bankCode: null, sessionId: credit?.sessionId });
});

test.concurrent('an unconfirmed credit has the status received', async () => {
  const payment = await flows.createPayment(await flows.createWallet(), BASE);
  await flows.sql`
    INSERT INTO inbound_credits (organisation_id, environment, id, version, rail, session_id, account_number, amount,
                                 owner_kind, owner_id, status, received_at)
    VALUES (${flows.organisation.organisationId}, 'test', gen_random_uuid(), 1, 'sandbox', ${payment.id}, '0000000000', 5,
            'payment', ${requireUuid('payment', payment.id)}, 'received', now())`;
  const { items } = await flows.test.get(`/payments/${payment.id}/credits`);
  expect(items).toEqual([expect.objectContaining({ amount: 5, status: 'received', reviewCaseId: null })]);
});

test.concurrent('a credit after settlement is in review, with its case and reason', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, BASE);
  const path = `/payments/${payment.id}/credits`;
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE);
  await untilApplied(path, 1);
  await flows.credit(payment.virtualAccount.accountNumber, 700);
  const [late, first] = await untilApplied(path, 2);
  expect(first).toMatchObject({ status: 'posted', reviewCaseId: null });
  const reviewCaseId = await caseOf('credit_after_settlement', walletId);
  expect(late).toMatchObject({ status: 'in_review', reviewCaseId, reviewReason: 'credit_after_settlement' });
});

test.concurrent('a decided review case determines the status of its credit', async () => {
  const walletId = await flows.createWallet();
  const account = await flows.depositAccount(walletId);
  await flows.setWalletStatus(walletId, 'frozen');
  await flows.credit(account, 700);
  const path = `/wallets/${walletId}/deposits`;
  const [inReview] = await untilApplied(path, 1);
  const reviewCaseId = await caseOf('wallet_frozen', walletId);
  expect(inReview).toMatchObject({ status: 'in_review', reviewCaseId, reviewReason: 'wallet_frozen' });
  await flows.setWalletStatus(walletId, 'active');
  await waitFor(
    'the case to be decided',
    async () => (await flows.decide('resolveCase', reviewCaseId, { action: 'credit' })).outcome === 'done',
  );
  expect((await flows.test.get(path)).items).toEqual([
    expect.objectContaining({ status: 'credited', reviewCaseId, reviewReason: 'wallet_frozen' }),
  ]);
});

test.concurrent("the credits of an expired payment are in review with the payment's case", async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, BASE);
  const path = `/payments/${payment.id}/credits`;
  for (const amount of [400, 600]) await flows.credit(payment.virtualAccount.accountNumber, amount);
  await untilApplied(path, 2);
  await flows.sql`
    INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, account_code, payment_id,
                              wallet_id, attempts, created_at)
    VALUES (${flows.organisation.organisationId}, 'test', gen_random_uuid(), 1, 'partial_expired', 'open', 1000,
            ${`suspense:payment:${payment.id}`}, ${requireUuid('payment', payment.id)}, ${requireUuid('wallet', walletId)}, 0,
            now())`;
  const reviewCaseId = await caseOf('partial_expired', walletId);
  for (const credit of (await flows.test.get(path)).items) {
    expect(credit).toMatchObject({ status: 'in_review', reviewCaseId, reviewReason: 'partial_expired' });
  }
});

test.concurrent('a surplus over a limit leaves the credit posted with the review case of the surplus', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 29_900_000 });
  const payment = await flows.createPayment(walletId, BASE);
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE + 50_000);
  const [credit] = await untilApplied(`/payments/${payment.id}/credits`, 1);
  const reviewCaseId = await caseOf('surplus_over_limit', walletId);
  expect(credit).toMatchObject({ status: 'posted', reviewCaseId, reviewReason: 'surplus_over_limit' });
});

test.concurrent('the deposits of a wallet are the credits of its deposit account, without those of its payments', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, BASE);
  const account = await flows.depositAccount(walletId);
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE);
  await flows.credit(account, 300, SENDER);
  const [deposit] = await untilApplied(`/wallets/${walletId}/deposits`, 1);
  expect(deposit).toMatchObject({
    amount: 300,
    status: 'posted',
    sender: { name: 'Chidi Eze', accountNumber: '1111111111', bankCode: '058' },
  });
  const [credit] = await untilApplied(`/payments/${payment.id}/credits`, 1);
  expect(credit?.amount).toBe(PAYABLE);
});

test.concurrent('a deposit whose recall was not confirmed stays posted: the case about it holds none of its money', async () => {
  const walletId = await flows.createWallet();
  await flows.credit(await flows.depositAccount(walletId), 300);
  const path = `/wallets/${walletId}/deposits`;
  const [deposit] = await untilApplied(path, 1);
  await flows.sql`
    INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, inbound_credit_id, attempts,
                              created_at)
    SELECT organisation_id, environment, gen_random_uuid(), 1, 'credit_recalled', 'open', amount, id, 0, now()
    FROM inbound_credits WHERE owner_id = ${requireUuid('wallet', walletId)}`;
  expect((await flows.test.get(path)).items).toEqual([deposit]);
  expect(deposit).toMatchObject({ status: 'posted', reviewCaseId: null, reviewReason: null });
});

test.concurrent('a wallet below tier1 has no deposit account and no deposits', async () => {
  const { data } = await flows.test.post('/wallets', { email: 'ada@test.example' });
  const answer = await flows.test.get(`/wallets/${data.id}/deposits`);
  expect([answer.status, answer.items]).toEqual([200, []]);
});
