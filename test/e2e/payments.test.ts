// Bank-transfer payments and inbound credits to each outcome, with the real API, worker, Temporal, Postgres and sandbox
// bank.

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { Webhook } from 'standardwebhooks';
import { createPaymentActivities } from '../../src/activities/payments.ts';
import type { Sql } from '../../src/database/pool.ts';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { paymentInput } from '../../src/resources/flows.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import type { PaymentActivities } from '../../src/workflows/payment/messages.ts';
import { endFlows } from '../support/endFlows.ts';
import { type PaymentResource, startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { startReceiver } from '../webhooks/receiver.ts';

let flows: TestFlows;
let walletId: string;

beforeAll(async () => {
  flows = await startTestFlows();
  walletId = await flows.createWallet();
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const pay = (payment: PaymentResource, amount: number, more: object = {}) =>
  flows.credit(payment.virtualAccount.accountNumber, amount, more);

/** The status of an inbound credit once it has been placed. */
const untilApplied = (sessionId: string): Promise<string> =>
  waitFor(`the credit ${sessionId} to be placed`, async () => {
    const [row] = await flows.sql<
      { status: string }[]
    >`SELECT status FROM inbound_credits WHERE session_id = ${sessionId}`;
    return row !== undefined && row.status !== 'received' && row.status;
  });

interface DeliveredEvent {
  type: string;
  data: { id: string; status: string };
}

describe('bank-transfer payments', () => {
  test('the exact amount settles a payment, credits the base amount, books the fee and emits payment.completed', async () => {
    const wallet = await flows.createWallet();
    const payment = await flows.createPayment(wallet, 200_000);
    const feesBefore = await flows.accountBalance('income:fees');
    const { sessionId } = (await pay(payment, payment.payableAmount)).data;
    const { checkoutUrl, ...settled } = await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    expect(checkoutUrl).toBe(payment.checkoutUrl);
    expect(settled).toMatchObject({ amountReceived: 202_000, fee: 2_000 });
    expect(settled.settledAt).not.toBeNull();
    expect((await flows.test.get(`/wallets/${wallet}/balance`)).data.balance).toBe(200_000);
    expect((await flows.accountBalance('income:fees')) - feesBefore).toBe(2_000);
    const credit = {
      id: expect.stringMatching(/_inc$/),
      amount: 202_000,
      sessionId,
      sender: { name: 'Sandbox Payer', accountNumber: expect.any(String), bankCode: expect.any(String), sessionId },
      receivedAt: expect.any(String),
    };
    expect(await flows.eventsOf(payment.id)).toEqual([
      { type: 'payment.settled', data: { ...settled, credit } },
      { type: 'payment.completed', data: { ...settled, credit } },
    ]);
    expect(await flows.flow(payment.id).result()).toEqual({ status: 'settled' });
  });

  test('a session id is processed once, however often the bank repeats its callback', async () => {
    const payment = await flows.createPayment(walletId, 100_000);
    await Promise.all(Array.from({ length: 5 }, () => pay(payment, 101_000, { sessionId: 'repeated-session' })));
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    await waitFor('all callbacks to be processed', async () => {
      const [row] = await flows.sql`SELECT count(*)::int AS waiting FROM sandbox_bank.callbacks`;
      return row?.waiting === 0;
    });
    expect(await flows.sql`SELECT FROM inbound_credits WHERE session_id = 'repeated-session'`).toHaveLength(1);
    expect((await flows.test.get(`/payments/${payment.id}`)).data.amountReceived).toBe(101_000);
  });

  test('a credit for a wallet frozen meanwhile is placed in suspense, and the payment stays pending', async () => {
    const wallet = await flows.createWallet();
    const payment = await flows.createPayment(wallet, 100_000);
    await flows.setWalletStatus(wallet, 'frozen');
    await pay(payment, 101_000, { sessionId: 'for-frozen' });
    expect(await untilApplied('for-frozen')).toBe('suspense');
    expect((await flows.reviewCases()).map(({ reason }) => reason)).toContain('wallet_frozen');
    expect((await flows.test.get(`/payments/${payment.id}`)).data).toMatchObject({
      status: 'pending',
      amountReceived: 0,
    });
  });

  test('a credit whose base amount exceeds the tier1 balance limit is placed in suspense', async () => {
    const wallet = await flows.createWallet();
    const payment = await flows.createPayment(wallet, 900_000);
    await flows.fund(flows.organisation.organisationId, wallet, 29_500_000);
    await pay(payment, payment.payableAmount, { sessionId: 'over-ceiling' });
    expect(await untilApplied('over-ceiling')).toBe('suspense');
    expect((await flows.reviewCases()).map(({ reason }) => reason)).toContain('over_limit');
  });

  test("a payment's flow starts with its first credit, and its first task has it", async () => {
    const payment = await flows.createPayment(await flows.createWallet(), 150_000);
    const [scheduled] = await flows.sql`
      SELECT available_at FROM outbox WHERE topic = 'scheduled' AND message ->> 'id' = ${payment.id}`;
    expect(scheduled?.availableAt).toEqual(new Date(payment.expiresAt as string));
    const flow = flows.flow(payment.id);
    await expect(flow.describe()).rejects.toThrow(WorkflowNotFoundError);
    await pay(payment, payment.payableAmount);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    expect(await flow.result()).toEqual({ status: 'settled' });
    const events = (await flow.fetchHistory()).events ?? [];
    const firstTask = events.findIndex((event) => event.workflowTaskStartedEventAttributes);
    expect(events.slice(0, firstTask).some((event) => event.workflowExecutionSignaledEventAttributes)).toBe(true);
    expect(events.filter((event) => event.timerStartedEventAttributes)).toEqual([]);
  });

  test('credits that race with the expiry are never posted twice: the wallet has exactly the settled payments', async () => {
    const wallet = await flows.createWallet();
    const payments = await Promise.all(Array.from({ length: 6 }, () => flows.createPayment(wallet, 10_000)));
    await Promise.all(
      payments.map(async (payment, number) => {
        const input = await inputOf(payment.id);
        const sent = pay(payment, payment.payableAmount, { sessionId: `race-${number}` });
        const signalled = flows.flow(payment.id).terminate('a second expiry decides instead');
        await Promise.allSettled([sent, signalled]);
        await flows.sql`
          UPDATE payments SET expires_at = now() - interval '1 second' WHERE id = ${requireUuid('payment', payment.id)}`;
        await flows.temporal.workflow.start('payment', {
          workflowId: payment.id,
          taskQueue: flows.dependencies.config.temporal.taskQueue,
          args: [{ ...input, expiresAt: new Date().toISOString() }],
          workflowIdConflictPolicy: 'TERMINATE_EXISTING',
        });
      }),
    );
    for (const number of payments.keys()) await untilApplied(`race-${number}`);
    const settled = await Promise.all(
      payments.map(
        async ({ id }) => (await flows.untilStatus(`/payments/${id}`, 'settled', 'expired')).status === 'settled',
      ),
    );
    expect(await flows.balanceOf(wallet)).toBe(settled.filter(Boolean).length * 10_000);
  });

  test("an activity whose work was done by a concurrent attempt returns that attempt's result", async () => {
    await flows.stopWorker();
    const payment = await flows.createPayment(walletId, 100_000);
    await pay(payment, payment.payableAmount, { sessionId: 'overtaken' });
    const clock = flows.dependencies.sandboxBank.clock();
    clock.start();
    const credit = await waitFor('the credit to be reported', async () => {
      const [row] = await flows.sql<{ id: Uuid }[]>`SELECT id FROM inbound_credits WHERE session_id = 'overtaken'`;
      return row;
    });
    await clock.stop();

    const step: Parameters<PaymentActivities['applyCredit']> = [
      await inputOf(payment.id),
      { inboundCreditId: publicId('inboundCredit', credit.id), setAside: null },
    ];
    const { dependencies } = flows;
    const settled = { status: 'settled', amountReceived: payment.payableAmount };
    const slow = createPaymentActivities(dependencies);
    // The slow attempt has read the credit and waits for the payment, which the fast one settles meanwhile.
    const { answer } = await flows.sql.begin(async (sql) => {
      await sql`LOCK TABLE payments IN ACCESS EXCLUSIVE MODE`;
      const running = slow.applyCredit(...step);
      await waitFor('the slow attempt to read the payment', async () => {
        const waiting = await flows.sql`
          SELECT FROM pg_locks WHERE relation = 'payments'::regclass AND mode = 'AccessShareLock' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
        return waiting.length > 0;
      });
      const inTransaction = sql as unknown as Sql;
      const fast = createPaymentActivities({
        ...dependencies,
        sql: inTransaction,
        journal: new Journal(inTransaction),
      });
      expect(await fast.applyCredit(...step)).toEqual(settled);
      return { answer: running };
    });
    expect(await answer).toEqual(settled);
    await flows.startWorkerAgain();
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  });
});

/** The input of the flow of a payment. */
async function inputOf(paymentId: string) {
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' as const };
  const row = await findPayment(flows.sql, book, requireUuid('payment', paymentId));
  if (row === null) throw new Error('the payment is gone');
  return paymentInput(book, row);
}

describe('inbound credits to an account number', () => {
  test("a credit to the settlement wallet's account is posted without a limit", async () => {
    const { settlementWalletId } = flows.organisation;
    await flows.credit(await flows.depositAccount(settlementWalletId), 90_000_000, { sessionId: 'to-settlement' });
    expect(await untilApplied('to-settlement')).toBe('posted');
    expect(await flows.balanceOf(settlementWalletId)).toBe(90_000_000);
  });

  test('a credit that would exceed the maximum balance is placed in suspense with a review case', async () => {
    const { organisationId, settlementWalletId } = flows.organisation;
    const nearlyFull = Number.MAX_SAFE_INTEGER - 1_000;
    const held = await flows.balanceOf(settlementWalletId);
    await flows.fund(organisationId, settlementWalletId, nearlyFull - held);
    await flows.credit(await flows.depositAccount(settlementWalletId), 70_001, { sessionId: 'deposit-past-it' });
    expect(await untilApplied('deposit-past-it')).toBe('suspense');
    const payment = await flows.createPayment(settlementWalletId, 100_000);
    await pay(payment, payment.payableAmount, { sessionId: 'payment-past-it' });
    expect(await untilApplied('payment-past-it')).toBe('suspense');
    const cases = await flows.reviewCases();
    for (const amount of [70_001, payment.payableAmount]) {
      expect(cases).toContainEqual({ reason: 'over_limit', amount, status: 'open', accountCode: 'suspense:unmatched' });
    }
    expect(await flows.balanceOf(settlementWalletId)).toBe(nearlyFull);
  });
});

test('of an order paid in two parts payment.completed is delivered once, when it is paid in full, with a valid signature', async () => {
  const receiver = await startReceiver();
  const endpoint = await flows.test.post('/webhook-endpoints', { url: receiver.url });
  const webhook = new Webhook(String(endpoint.data.secret));
  const payment = await flows.createPayment(walletId, 100_000);
  const eventsReceived = () =>
    receiver.received
      .map(({ body, headers }) => webhook.verify(body, headers as Record<string, string>) as DeliveredEvent)
      .filter(({ data }) => data.id === payment.id)
      .map(({ type, data }) => `${type} ${data.status}`)
      .toSorted();
  await pay(payment, 50_000);
  await flows.untilStatus(`/payments/${payment.id}`, 'partial');
  await pay(payment, payment.payableAmount - 50_000);
  await waitFor('the webhooks', () => eventsReceived().length === 3);
  expect(eventsReceived()).toEqual(['payment.completed settled', 'payment.settled partial', 'payment.settled settled']);
  await receiver.close();
});
