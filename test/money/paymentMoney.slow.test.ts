// Random credits, recalls, refunds, reviews and adjustments of one payment: what leaves never exceeds what came and
// stayed, and `ledger verify` proves it for each payment. The steps are those of the flows and the API, in any order.
import '../ledger/seed.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { shiftClock } from '../../dev/chaos/clock.mjs';
import { createMoneyActivities } from '../../src/activities/moneyActivities.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { BANK_RECEIVABLE, FEE_INCOME, walletAccount } from '../../src/ledger/chart.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import type { Book } from '../../src/money.ts';
import { postAdjustment } from '../../src/resources/adjustments/movements.ts';
import { findAdjustment } from '../../src/resources/adjustments/queries.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { paymentInput } from '../../src/resources/flows.ts';
import {
  findCreditOfSession,
  findRecalledAway,
  type InboundCredit,
} from '../../src/resources/inboundCredits/queries.ts';
import { receiveCredit } from '../../src/resources/inboundCredits/receive.ts';
import { findPayment, type PaymentWithAccount } from '../../src/resources/payments/queries.ts';
import { receiveRecall } from '../../src/resources/recalls/movements.ts';
import { holdRefund, returnRefundFunds } from '../../src/resources/refunds/movements.ts';
import { findRefund, type Refund } from '../../src/resources/refunds/queries.ts';
import { returnToSuspense } from '../../src/resources/reviewCases/movements.ts';
import { findPaymentOfCase, findReviewCase, type ReviewCase } from '../../src/resources/reviewCases/queries.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { type Client, startTestApi, type TestOrganisation } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';
import { violationsOf } from '../support/violations.ts';

const api = await startTestApi();
const { dependencies, sql } = api;
const activities = createMoneyActivities(dependencies);

afterAll(() => api.close());

const BASE = 100_000;
const PAYABLE = BASE + 1_000;
const FAILED = { code: 'bank_refused', reason: 'The bank refused it', sessionId: null } as const;
/** Beyond which a wallet takes no more, so that a surplus goes to review. */
const BALANCE_MAX = 30_000_000;

const percent = fc.integer({ min: 1, max: 100 });
const which = fc.nat({ max: 5 });
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('credit' as const), percent: fc.constantFrom<number>(30, 60, 100, 110) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('recall' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refund' as const), percent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refundFails' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('review' as const),
      which,
      action: fc.constantFrom('credit', 'credit', 'return_to_sender', 'move_to_unclaimed'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('returnFails' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), percent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancelHold' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), isFrozen: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('adjust' as const), amount: fc.integer({ min: -50_000, max: 200_000 }) }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

/** One payment, and what a bookkeeper outside of the service knows of it. */
class Story {
  came = 0;
  takenBack = 0;
  readonly sessions: string[] = [];
  readonly organisationId: Uuid;
  readonly client: Client;
  readonly #payment: PaymentWithAccount;
  readonly #account: string;

  constructor({ organisationId, test }: TestOrganisation, payment: PaymentWithAccount) {
    this.organisationId = organisationId;
    this.client = test;
    this.#payment = payment;
    this.#account = payment.account?.accountNumber ?? '';
  }

  async run(one: Command): Promise<void> {
    const { paymentId, wallet, client, book } = this;
    switch (one.do) {
      case 'credit':
        return await this.#credit(Math.round((PAYABLE * one.percent) / 100));
      case 'recall':
        return await this.#recall(this.sessions[one.which]);
      case 'refund': {
        const left = await this.left();
        const { amountCredited } = await this.row();
        const amount = Math.max(1, Math.round((amountCredited * one.percent) / 100));
        const destination = { bankAccount: { accountNumber: '0123456789', bankCode: '058' } };
        const { status, data } = await client.money(`/payments/${paymentId}/refund`, { amount, ...destination });
        // The claim: what leaves, with this, is at most what came and was not taken back.
        if (status === 201) assert.ok(left + Number(data.amount) <= this.came - this.takenBack);
        return;
      }
      case 'refundFails': {
        const refund = await this.#nth(one.which, 'refunds', findRefund);
        if (refund?.status !== 'processing') return;
        if ((await api.balanceOf(publicId('wallet', wallet))) > BALANCE_MAX) return; // it would open a case of its own
        const payment = await this.row();
        const more = { refusalOf: () => null, owedBy: () => 0, others: payment.amountRefunded };
        await this.#post(returnRefundFunds(book, payment, refund, 'fail', FAILED, more));
        return;
      }
      case 'review': {
        const row = await this.#nth(one.which, 'review_cases', findReviewCase);
        if (row === null) return;
        const path = `/review-cases/${publicId('reviewCase', row.id)}/resolve`;
        const { status } = await client.money(path, { action: one.action, reason: 'it was decided' });
        if (status !== 200 || one.action !== 'return_to_sender') return;
        // A refund of a credit that was taken back afterwards is owed by the wallet: it is not taken from this money.
        assert.ok(row.amount <= this.came - this.takenBack);
        return;
      }
      case 'returnFails': {
        const row = await this.#nth(one.which, 'review_cases', findReviewCase);
        if (row?.status !== 'returning') return;
        const [payment, recalled] = [await findPaymentOfCase(sql, book, row), await findRecalledAway(sql, book, row)];
        const failed = { failure: 'refused', failureCode: FAILED.code, failureReason: FAILED.reason } as const;
        await this.#post(returnToSuspense(book, row, failed, { payment, recalled }));
        for (const credit of recalled) await this.#applyRecall(credit);
        return;
      }
      case 'release':
      case 'cancelHold': {
        const [hold] = (await client.get(`/holds?paymentId=${paymentId}&status=held`)).items;
        if (hold === undefined) return;
        const amount =
          one.do === 'release' ? Math.max(1, Math.round((Number(hold.amountHeld) * one.percent) / 100)) : 0;
        const [act, body] = one.do === 'release' ? ['release', { amount }] : ['cancel', {}];
        await client.money(`/holds/${hold.id}/${act}`, body);
        return;
      }
      case 'expire':
        await client.post(`/simulations/payments/${paymentId}/expire`);
        return;
      case 'freeze':
        await api.setWalletStatus(publicId('wallet', wallet), one.isFrozen ? 'frozen' : 'active');
        return;
      case 'adjust':
        return await this.#adjust(one.amount);
    }
  }

  /** What refunds and returns have sent out of what came, or are sending. */
  async left(): Promise<number> {
    const [row] = await sql<{ left: number }[]>`
      SELECT (coalesce((SELECT sum(amount) FROM refunds WHERE payment_id = ${this.#payment.id} AND status <> 'failed'), 0)
        + coalesce((SELECT sum(amount) FROM review_cases WHERE payment_id = ${this.#payment.id}
                    AND status IN ('returning', 'returned_to_sender')), 0))::bigint AS left`;
    return row?.left ?? 0;
  }

  async row(): Promise<PaymentWithAccount> {
    const row = await findPayment(sql, this.book, this.#payment.id);
    if (row === null) throw new Error('the payment is gone');
    return row;
  }

  get book() {
    return { organisationId: this.organisationId, environment: 'test' } as const;
  }

  get paymentId(): string {
    return publicId('payment', this.#payment.id);
  }

  get wallet(): Uuid {
    return this.#payment.targetWalletId;
  }

  async #credit(amount: number): Promise<void> {
    const { book, organisationId } = this;
    const sessionId = randomUUID();
    const sent = await dependencies.sandboxBank.receiveCredit(
      {
        organisationId,
        sessionId,
        accountNumber: this.#account,
        amount,
        senderName: 'Chidi Eze',
        senderAccountNumber: '1111111111',
        senderBankCode: '058',
      },
      { callback: false },
    );
    const { recalledAt: _recalledAt, ...report } = sent;
    await receiveCredit(dependencies, book, 'sandbox', report);
    const { id } = await this.#creditOf(sessionId);
    const inboundCreditId = publicId('inboundCredit', id);
    await activities.applyCredit(paymentInput(book, this.#payment), { inboundCreditId, setAside: null });
    this.sessions.push(sessionId);
    this.came += amount;
  }

  async #recall(sessionId: string | undefined): Promise<void> {
    if (sessionId === undefined) return;
    const { book, organisationId } = this;
    const credit = await this.#creditOf(sessionId);
    if (credit.recall !== null) return;
    await sql`
      UPDATE sandbox_bank.credits SET recalled_at = now()
      WHERE organisation_id = ${organisationId} AND session_id = ${sessionId}`;
    await this.#post(receiveRecall(book, credit));
    await this.#applyRecall(credit);
    this.takenBack += credit.amount;
  }

  async #applyRecall({ id, amount }: InboundCredit): Promise<void> {
    const input = { ...this.book, inboundCreditId: publicId('inboundCredit', id), amount };
    assert.deepEqual(await activities.applyRecall(input, { setAside: null }), { status: 'posted' });
  }

  /** The status and amount of the first case, and what the bank owes. */
  async standing(): Promise<unknown> {
    const [row] =
      await sql`SELECT status, amount FROM review_cases WHERE payment_id = ${this.#payment.id} ORDER BY id LIMIT 1`;
    const [owed] = await sql<{ balance: number }[]>`
      SELECT coalesce(sum(CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END), 0)::bigint AS balance
      FROM ledger.accounts a JOIN ledger.postings p
        ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
      WHERE a.organisation_id = ${this.organisationId} AND a.code = ${BANK_RECEIVABLE}`;
    return [row?.status, row?.amount, owed?.balance];
  }

  /** Operators give the wallet something, or take something from it. */
  async #adjust(amount: number): Promise<void> {
    if (amount === 0) return;
    const [debit, credit] =
      amount < 0 ? [walletAccount(this.wallet), FEE_INCOME] : [FEE_INCOME, walletAccount(this.wallet)];
    const postings = [{ debit, credit, amount: Math.abs(amount) }];
    const grounds = { reason: 'a correction', evidence: 'ticket 1', proof: OPERATORS.ada.proof };
    const requested = await requestAdjustment(dependencies, this.book, postings, grounds);
    if (requested.outcome === 'refused') return; // there is no fee yet to take it from
    const row = await findAdjustment(sql, this.book, requested.id);
    if (row === null) throw new Error('the adjustment is gone');
    const subject = publicId('adjustment', row.id);
    const decision = { proof: OPERATORS.ngozi.proof, action: 'adjustment.approve', subject, reason: 'checked' };
    await dependencies.journal.post(postAdjustment(this.book, row, decision));
  }

  async #creditOf(sessionId: string): Promise<InboundCredit> {
    const credit = await findCreditOfSession(sql, this.book, 'sandbox', sessionId);
    if (credit === null) throw new Error('the credit was not stored');
    return credit;
  }

  async #nth<Row extends Refund | ReviewCase>(
    position: number,
    table: 'refunds' | 'review_cases',
    find: (from: typeof sql, book: Book, id: Uuid) => Promise<Row | null>,
  ): Promise<Row | null> {
    const rows = await sql<{ id: Uuid }[]>`
      SELECT id FROM ${sql(table)} WHERE payment_id = ${this.#payment.id} ORDER BY created_at, id`;
    const id = rows[position % Math.max(1, rows.length)]?.id;
    return id === undefined ? null : await find(sql, this.book, id);
  }

  async #post(movement: Movement): Promise<void> {
    assert.deepEqual(await dependencies.journal.post(movement), { outcome: 'posted' });
  }
}

/** `room`: below the ceiling of the wallet. */
async function newStory(room: number, more: object = {}): Promise<Story> {
  const organisation = await api.createOrganisation();
  const { organisationId, test: client } = organisation;
  const walletId = await api.createWallet(client, { balance: BALANCE_MAX - room });
  const body = { method: 'bank_transfer', baseAmount: BASE, targetWalletId: walletId, ...more };
  const { data } = await client.money('/payments', body);
  const payment = await findPayment(sql, { organisationId, environment: 'test' }, requireUuid('payment', data.id));
  if (payment === null) throw new Error('the payment was not created');
  return new Story(organisation, payment);
}

test('what leaves never exceeds what came and stayed, and the books prove it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(BASE, BASE + 5_000, 10 * BASE),
      fc.array(command, { minLength: 4, maxLength: 16 }),
      fc.constantFrom({}, { hold: { release: 'manual' } }),
      async (room, commands, hold) => {
        const story = await newStory(room, hold);
        for (const one of commands) await story.run(one);
        const { amountReceived, amountCredited, amountRecalled, amountInReview, feeCharged } = await story.row();
        expect(Math.max(amountReceived, amountInReview, amountRecalled)).toBeLessThanOrEqual(story.came);
        expect(amountCredited + feeCharged).toBeLessThanOrEqual(story.came);
        expect(await violationsOf(sql, { only: story.organisationId })).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});

test.each([300_000, -300_000])(
  'the proof is in the order of the ledger, where the clock of a process is off by %i ms',
  async (offMs) => {
    const story = await newStory(10 * BASE);
    await story.run({ do: 'expire' });
    await story.run({ do: 'credit', percent: 100 });
    const restoreClock = shiftClock(offMs);
    try {
      await story.run({ do: 'review', which: 0, action: 'credit' });
    } finally {
      restoreClock();
    }
    await story.run({ do: 'refund', percent: 50 });
    await story.run({ do: 'recall', which: 0 });
    expect([await story.left(), (await story.row()).amountRecalled]).toEqual([BASE / 2, PAYABLE]);
    expect(await violationsOf(sql, { only: story.organisationId })).toEqual([]);
  },
);

describe('the bank takes a credit back while its money is on its way to the sender', () => {
  async function returning(percents: readonly number[]): Promise<Story> {
    const story = await newStory(10 * BASE);
    for (const percent of percents) await story.run({ do: 'credit', percent });
    await story.run({ do: 'expire' });
    await story.run({ do: 'review', which: 0, action: 'return_to_sender' });
    await story.run({ do: 'recall', which: 0 });
    return story;
  }

  test.each([
    ['of two credits, the other stays in the case', [20, 30], ['returning', PAYABLE / 2], ['open', (PAYABLE * 3) / 10]],
    ['of one, the case ends', [20], ['returning', PAYABLE / 5], ['recalled', PAYABLE / 5]],
  ])('the bank owes it until the return fails: %s', async (_what, percents, before, after) => {
    const story = await returning(percents);
    expect(await story.standing()).toEqual([...before, PAYABLE / 5]);
    expect((await verifyBooks(sql, { only: story.organisationId })).findings).toMatchObject([
      { kind: 'SHORTFALL', found: String(-PAYABLE / 5) },
    ]);
    await story.run({ do: 'returnFails', which: 0 });
    expect(await story.standing()).toEqual([...after, 0]);
    expect((await verifyBooks(sql, { only: story.organisationId })).findings).toEqual([]);
  });
});

describe('each defence against refunds of money that is gone', () => {
  async function recalledStory(): Promise<Story> {
    const story = await newStory(10 * BASE);
    await story.run({ do: 'credit', percent: 100 });
    await story.run({ do: 'recall', which: 0 });
    return story;
  }
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };

  test('the API refuses the refund, and view and events say why', async () => {
    const { paymentId, client } = await recalledStory();
    const refused = await client.money(`/payments/${paymentId}/refund`, { amount: BASE, bankAccount });
    expect([refused.status, refused.error.code, refused.error.details.refundableAmount]).toEqual([
      422,
      'REFUND_AMOUNT_EXCEEDED',
      0,
    ]);
    expect((await client.get(`/payments/${paymentId}`)).data).toMatchObject({
      status: 'settled',
      amountRecalled: PAYABLE,
    });
    const [event] = (await client.get(`/events?resourceId=${paymentId}&type=payment.recalled`)).items;
    expect(event?.data).toMatchObject({ id: paymentId, amountRecalled: PAYABLE, credit: { amount: PAYABLE } });
  });

  /** Posts a refund as a process would that does not know of the recall. */
  const refundAnyway = async (story: Story) => {
    const payment = await story.row();
    const refund = {
      id: newUuid(),
      version: 1,
      paymentId: payment.id,
      amount: BASE,
      sources: [],
      destination: 'bank',
      status: 'processing',
      reason: null,
      ...bankAccount,
      accountName: null,
      reference: null,
      metadata: null,
      failureCode: null,
      failureReason: null,
      failureDetail: null,
      rail: 'sandbox',
      sessionId: null,
      createdAt: new Date(),
      completedAt: null,
      returnedAt: null,
      clawedBack: null,
    } satisfies Refund;
    await api.fund(story.organisationId, publicId('wallet', story.wallet), BASE);
    return dependencies.journal.post(holdRefund(story.book, payment, refund));
  };

  test('the posting statement refuses it, for every caller', async () => {
    const story = await recalledStory();
    await expect(refundAnyway(story)).rejects.toMatchObject({ constraint_name: 'refunds_within_what_stayed' });
    expect(await story.left()).toBe(0);
  });

  test('the verification finds it', async () => {
    const story = await recalledStory();
    await sql`UPDATE payments SET amount_recalled = 0 WHERE id = ${requireUuid('payment', story.paymentId)}`;
    expect(await refundAnyway(story)).toEqual({ outcome: 'posted' });
    await sql`UPDATE payments SET amount_recalled = ${PAYABLE} WHERE id = ${requireUuid('payment', story.paymentId)}`;
    const { findings } = await verifyBooks(sql, { only: story.organisationId });
    expect(findings).toMatchObject([{ kind: 'REFUND_EXCEEDS_CREDIT', resource: story.paymentId }]);
    await sql`UPDATE payments SET amount_recalled = 0, amount_in_review = 5 WHERE id = ${requireUuid('payment', story.paymentId)}`;
    const found = (await verifyBooks(sql, { only: story.organisationId })).findings.map(
      ({ kind, expected, found: is }) => [kind, expected, is],
    );
    expect(found).toEqual(
      expect.arrayContaining([
        ['PAYMENT_MISMATCH', 'amountInReview 0', 'amountInReview 5'],
        ['PAYMENT_MISMATCH', `amountRecalled ${PAYABLE}`, 'amountRecalled 0'],
      ]),
    );
  });
});
