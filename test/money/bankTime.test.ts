// The bank's time decides whether a credit is late, whatever the worker did meanwhile: it stood still while the window
// of the payment ended, and goes on then.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { createMoneyActivities } from '../../src/activities/moneyActivities.ts';
import { publicId, requireUuid } from '../../src/ids.ts';
import { paymentInput, startPayment } from '../../src/resources/flows.ts';
import { findCreditOfSession } from '../../src/resources/inboundCredits/queries.ts';
import { receiveCredit } from '../../src/resources/inboundCredits/receive.ts';
import { enqueue } from '../../src/resources/outbox.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ worker: false });
const { dependencies, sql } = flows;
const activities = createMoneyActivities(dependencies);

afterAll(() => flows.close());

const BASE = 100_000;
const PAYABLE = BASE + 1_000;

/** A payment whose window ended `overSeconds` ago. Its flow has not run. */
async function overduePayment(overSeconds: number) {
  const { id } = await flows.createPayment(await flows.createWallet(), BASE);
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' } as const;
  const paymentId = requireUuid('payment', id);
  await sql`DELETE FROM outbox WHERE message ->> 'id' = ${id}`;
  await sql`UPDATE payments SET expires_at = now() - make_interval(secs => ${overSeconds}) WHERE id = ${paymentId}`;
  const read = async () => {
    const payment = await findPayment(sql, book, paymentId);
    if (payment === null) throw new Error('the payment is gone');
    return payment;
  };
  const payment = await read();
  const input = paymentInput(book, payment);
  return {
    book,
    payment,
    read,
    /** Money that the bank received `ago` seconds ago, and reports now. Returns the id of the credit. */
    report: async (ago: number): Promise<string> => {
      const sessionId = randomUUID();
      await sql`
        INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, received_at)
        VALUES (${book.organisationId}, ${sessionId}, ${payment.account?.accountNumber ?? ''}, ${PAYABLE},
                now() - make_interval(secs => ${ago}))`;
      const { organisationId } = book;
      const found = await dependencies.rails
        .of(book)
        .then((rail) => rail?.findInboundCredit({ organisationId, sessionId, accountReference: null }));
      if (found === null || found === undefined || typeof found === 'string') throw new Error('the bank has no credit');
      const { recalledAt: _recalledAt, ...reported } = found;
      await receiveCredit(dependencies, book, 'sandbox', reported);
      const credit = await findCreditOfSession(sql, book, 'sandbox', sessionId);
      return publicId('inboundCredit', credit?.id ?? '');
    },
    apply: (inboundCreditId: string) => activities.applyCredit(input, { inboundCreditId, setAside: null }),
    expire: () => activities.expirePayment(input),
    cases: async () => [
      ...(await sql`SELECT reason, late_by_seconds FROM review_cases WHERE payment_id = ${paymentId} ORDER BY created_at`),
    ],
  };
}

test('a credit that the bank dates after the window is late, although the payment is still open', async () => {
  const { report, apply, read, cases } = await overduePayment(300);
  expect(await apply(await report(180))).toMatchObject({ status: 'pending', amountReceived: 0 });
  expect(await read()).toMatchObject({ status: 'pending', amountInReview: PAYABLE });
  expect(await cases()).toEqual([{ reason: 'late_credit', lateBySeconds: expect.any(Number) }]);
  const [{ lateBySeconds } = { lateBySeconds: 0 }] = await cases();
  expect(Math.abs(lateBySeconds - 120)).toBeLessThanOrEqual(2);
});

test('a payment does not expire before a credit that was reported, and that counts by the date of the bank', async () => {
  const { report, apply, expire, read, cases } = await overduePayment(300);
  const inTime = await report(360);
  expect(await expire()).toEqual({ status: 'pending', amountReceived: 0, unapplied: [inTime] });
  expect(await apply(inTime)).toMatchObject({ status: 'settled', amountReceived: PAYABLE });
  expect(await expire()).toMatchObject({ status: 'settled' });
  expect(await read()).toMatchObject({ status: 'settled', amountInReview: 0 });
  expect(await cases()).toEqual([]);
});

test('a credit that is reported after the payment has expired is late by nothing, if the bank received it in time', async () => {
  const { report, apply, expire, cases } = await overduePayment(300);
  expect(await expire()).toMatchObject({ status: 'expired' });
  await apply(await report(360));
  expect(await cases()).toEqual([{ reason: 'late_credit', lateBySeconds: 0 }]);
});

test('a worker that stood still until after the window settles a payment that was paid in it, and no other', async () => {
  const paid = await overduePayment(60);
  await paid.report(120);
  const paidLate = await overduePayment(300);
  await paidLate.report(180);
  for (const { book, payment } of [paid, paidLate]) {
    // The signal of the credit comes after the message that expires the payment.
    await sql`UPDATE outbox SET available_at = now() + interval '1 hour' WHERE message ->> 'id' = ${publicId('payment', payment.id)}`;
    await enqueue(sql, book, startPayment(book, payment));
  }
  await flows.startWorkerAgain();
  await waitFor('the settlement', async () => (await paid.read()).status === 'settled');
  await waitFor('the end of the other', async () => (await paidLate.read()).status === 'expired');
  expect(await paid.cases()).toEqual([]);
  const [late, ...others] = await paidLate.cases();
  expect([late?.reason, others]).toEqual(['late_credit', []]);
  expect(Math.abs(Number(late?.lateBySeconds) - 120)).toBeLessThanOrEqual(2);
});

/** What is decided by a time, by the API or a flow that has not run since: the time that its rule names. */
const DECISIONS: [rule: string, overSeconds: number, outcome: string][] = [
  ['a wallet pays a payment until expiresAt, whether or not its flow has run', -60, 'settled'],
  ['no wallet pays it afterwards, although it is still pending', 60, 'PAYMENT_NOT_PAYABLE'],
];

test.each(DECISIONS)('%s', async (_rule, overSeconds, outcome) => {
  const targetWalletId = await flows.createWallet();
  const body = { method: 'virtual_wallet', baseAmount: BASE, targetWalletId };
  const { data } = await flows.test.money('/payments', body);
  await sql`
    UPDATE payments SET expires_at = now() - make_interval(secs => ${overSeconds})
    WHERE id = ${requireUuid('payment', data.id)}`;
  const payer = await flows.createWallet(undefined, { balance: 10 * BASE });
  const answer = await flows.test.money(`/wallets/${payer}/pay`, { paymentId: data.id });
  const { data: after } = await flows.test.get(`/payments/${data.id}`);
  expect(answer.status < 300 ? after.status : answer.error.code).toBe(outcome);
  expect(after.status).toBe(outcome === 'settled' ? 'settled' : 'pending');
});
