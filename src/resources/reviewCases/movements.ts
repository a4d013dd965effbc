// Ledger movements of a review case: opened with the posting to suspense, then credited to a wallet, moved to
// unclaimed, or returned to the sender through transit. A case of a reconciliation break, an unconfirmed credit or a
// clawback holds no money and is closed without a posting.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  FEE_INCOME,
  IN_TRANSIT_RETURNS,
  paymentSuspenseAccount,
  UNCLAIMED,
  walletAccount,
} from '../../ledger/chart.ts';
import type { EventRow, Movement, RefusalCode, Transaction } from '../../ledger/movement.ts';
import type { Posting } from '../../ledger/postings.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import { type FlowOutboxMessage, restarted } from '../../workflows/flows.ts';
import { netAmount, type ReviewedCredit } from '../../workflows/payment/decide.ts';
import { creditsOf, splitsCreditedBy, totalOf } from '../../workflows/payment/splits.ts';
import { statusAfterRefunds } from '../../workflows/refund/decide.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { signalCredit, startRecall, startReviewCase, wakeReviewCase } from '../flows.ts';
import { creditLegs, holdsOf, withHolds } from '../holds/movements.ts';
import type { ConfirmedCredit } from '../inboundCredits/confirm.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';
import { newTransaction, together } from '../movement.ts';
import type { Payment, PaymentWithAccount } from '../payments/queries.ts';
import { creditedEvents, paymentEvent, paymentRow, reviewChange, splitEvents } from '../payments/rows.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { creditSummary, reviewCaseView } from '../views.ts';
import type { Wallet } from '../wallets/queries.ts';
import { isInternal, type ReviewCase, type ReviewReason, returnReference } from './queries.ts';

export function openReviewCase(
  about: Pick<ReviewCase, 'reason' | 'amount'> & Partial<Omit<ReviewCase, 'id' | 'version' | 'status'>>,
): ReviewCase {
  return {
    id: newUuid(),
    version: 1,
    status: 'open',
    accountCode: null,
    inboundCreditId: null,
    paymentId: null,
    reference: null,
    walletId: null,
    rail: null,
    attempts: 0,
    failure: null,
    failureCode: null,
    failureReason: null,
    createdAt: new Date(),
    resolvedAt: null,
    transfer: null,
    fee: 0,
    withHeld: 0,
    splits: [],
    recalledUnclaimed: 0,
    lateBySeconds: null,
    ...about,
  };
}

/** Why a wallet does not take money that comes back, if it does not: it was closed, or is over its limit already. */
export type ReturnRefusal = Extract<ReviewReason, 'wallet_closed' | 'over_limit'> | null;

/** With which it refuses what was posted before it was read again. */
export const TAKES_NOTHING: readonly RefusalCode[] = ['WALLET_CLOSED', 'WALLET_TIER1_LIMIT_EXCEEDED'];

export function returnRefusalOf({ status, balance, balanceMax }: Wallet): ReturnRefusal {
  if (status === 'closed') return 'wallet_closed';
  return balanceMax !== null && balance > balanceMax ? 'over_limit' : null;
}

/**
 * Adds the flow starts of all cases that a movement opens, and `review_case.opened` of those that the caller sees; to a
 * case of a payment that the movement changes, its reference. `more`: events of what the cases are about, after theirs.
 */
export function withCaseFlows(movement: Movement, more: () => readonly EventRow[] = () => []): Movement {
  const opened = (movement.rows?.review_cases ?? []) as readonly ReviewCase[];
  if (opened.length === 0) return movement;
  const payments = (movement.rows?.payments ?? []) as readonly Payment[];
  const cases = opened.map((row) => {
    const payment = payments.find(({ id }) => id === row.paymentId);
    return payment === undefined ? row : { ...row, reference: payment.reference };
  });
  const visible = cases.filter((row) => !isInternal(row));
  const credits = (movement.rows?.inbound_credits ?? []) as readonly InboundCredit[];
  const creditOf = (row: ReviewCase) => credits.find(({ id }) => id === row.inboundCreditId);
  const withCases = { ...movement, rows: { ...movement.rows, review_cases: cases } };
  return together(withCases, {
    events: [...visible.map((row) => caseEvent('review_case.opened', row, creditOf(row))), ...more()],
    outbox: cases.map((row) => startReviewCase(movement.book, row)),
  });
}

/** Credits the money, also if unclaimed, to a wallet, whose rules may refuse it. `payment`: received for it. */
export function creditCase(
  book: Book,
  open: ReviewCase,
  walletId: Uuid,
  payment: PaymentWithAccount | null = null,
): Movement {
  const next: ReviewCase = { ...resolved(open, 'credited'), walletId, fee: 0 };
  const postings = [{ debit: holderOf(open), credit: walletAccount(walletId), amount: open.amount }];
  // What could not come back to a wallet comes back under the rules for that.
  const comesBack = open.reason === 'over_limit' && open.inboundCreditId === null && walletId === open.walletId;
  const transaction = moveBy(open, `${caseId(open)}/credit`, postings);
  return decided(book, open, next, payment, comesBack ? { ...transaction, rules: 'credit_exempt' } : transaction);
}

/**
 * Credits the wallet of its payment, which counts it as received: settles an open one with what it held. Its splits get
 * their shares, unless it was settled before. `walletId`: that of a split which did not take its part before.
 */
export function creditCaseToPayment(
  book: Book,
  open: ReviewCase,
  payment: PaymentWithAccount,
  { settles, amountReceived, withHeld, toWallet, toFees }: ReviewedCredit,
  walletId: Uuid = payment.targetWalletId,
): Movement {
  const amountCredited = payment.amountCredited + toWallet;
  const isSettled = settles || payment.settledAt !== null;
  const next: ReviewCase = {
    ...resolved(open, 'credited'),
    walletId,
    fee: toFees,
    withHeld,
  };
  const paid = nextVersion(payment, {
    status: isSettled ? statusAfterRefunds(payment.amountRefunded, amountCredited) : payment.status,
    amountReceived,
    amountCredited,
    splits:
      payment.settledAt === null
        ? splitsCreditedBy(payment.splits, {
            amount: toWallet,
            credited: payment.amountCredited,
            net: netAmount(payment),
          })
        : payment.splits.map((split) =>
            split.walletId === walletId ? { ...split, amountCredited: split.amountCredited + toWallet } : split,
          ),
    amountInReview: payment.amountInReview - inReview(open),
    feeCharged: payment.feeCharged + toFees,
    settledAt: settles ? next.resolvedAt : payment.settledAt,
  });
  const parts = creditsOf(payment.splits, paid.splits);
  const credited = [{ walletId: payment.targetWalletId, amount: toWallet - totalOf(parts) }, ...parts];
  // With money that was held, all of it is gathered first, so that the wallet gets one credit.
  const suspense = withHeld > 0 ? paymentSuspenseAccount(payment.id) : holderOf(open);
  const gathered = withHeld > 0 ? [{ debit: holderOf(open), credit: suspense, amount: open.amount }] : [];
  const postings = allocate(
    [{ account: suspense, amount: open.amount + withHeld }],
    [...creditLegs(payment, credited), { account: FEE_INCOME, amount: toFees }],
  );
  const movement: Movement = {
    book,
    transaction: movedAt(next, moveBy(open, `${caseId(open)}/credit`, [...gathered, ...postings])),
    rows: {
      review_cases: [{ ...next, splits: walletId === payment.targetWalletId ? parts : [] }],
      payments: [paymentRow(paid)],
    },
    events: [
      caseEvent('review_case.resolved', next),
      ...(settles ? creditedEvents(paid) : [paymentEvent('payment.reviewed', paid)]),
      ...splitEvents(payment, paid),
    ],
    // The flow of the payment sees that it is settled, and closes its account number.
    outbox: settles && open.inboundCreditId !== null ? [signalCredit(book, payment, open.inboundCreditId)] : [],
  };
  return withHolds(movement, holdsOf(payment, credited));
}

/** What a decision commits: the case and its event, and what it changes of the payment that the money was for. */
function decided(
  book: Book,
  before: ReviewCase,
  next: ReviewCase,
  payment: PaymentWithAccount | null,
  transaction: Transaction,
): Movement & Required<Pick<Movement, 'rows' | 'events'>> {
  const change = reviewChange(payment, inReview(next) - inReview(before));
  const type = next.status === 'open' ? 'review_case.opened' : 'review_case.resolved';
  return {
    book,
    transaction: movedAt(next, transaction),
    rows: { ...change.rows, review_cases: [next] },
    events: [...(next.status === 'returning' ? [] : [caseEvent(type, next)]), ...change.events()],
  };
}

/** What of its money waits for a decision, or is on its way back to the sender. */
export const inReview = ({ status, amount }: ReviewCase): Kobo =>
  status === 'open' || status === 'returning' ? amount : 0;

/** Whether its money is here: not credited, and not on its way to the sender or there. */
export const isHeld = ({ status }: Pick<ReviewCase, 'status'>): boolean => status === 'open' || status === 'unclaimed';

/** Moves money of an unknown owner to the unclaimed account. */
export function moveCaseToUnclaimed(book: Book, open: ReviewCase, payment: PaymentWithAccount | null = null): Movement {
  const transaction = move(open, `${caseId(open)}/unclaimed/${open.version}`, suspenseOf(open), UNCLAIMED);
  return decided(book, open, resolved(open, 'unclaimed'), payment, transaction);
}

/**
 * Moves the money, also from unclaimed, into transit, to be returned under the latest reference, or under a new one
 * (`attempts` incremented). For a new one, the caller must have checked that the rail has finished with the latest.
 */
export function holdReturn(
  book: Book,
  open: ReviewCase,
  { rail, attempts }: Pick<ReviewCase, 'attempts'> & { rail: string },
  payment: PaymentWithAccount | null = null,
): Movement {
  const next = nextVersion(open, { status: 'returning', rail, attempts, resolvedAt: null });
  const transaction = move(open, holdKey(open, open.version), holderOf(open), IN_TRANSIT_RETURNS);
  return decided(book, open, next, payment, transaction);
}

/** After the rail has returned the money to its sender. */
export function completeReturn(book: Book, row: ReviewCase, payment: PaymentWithAccount | null = null): Movement {
  const next: ReviewCase = {
    ...resolved(row, 'returned_to_sender'),
    failure: null,
    failureCode: null,
    failureReason: null,
  };
  return decided(book, row, next, payment, {
    ...move(row, completionKey(row, row.version), IN_TRANSIT_RETURNS, payoutAccount(railOf(row))),
    resolves: holdKey(row, row.version - 1),
  });
}

/**
 * After a return failed or came back: moves the money to suspense again, and reopens the case with the reason.
 * `recalled`: the credits that the bank took back meanwhile, whose flows then take them out of the case.
 */
export function returnToSuspense(
  book: Book,
  row: ReviewCase,
  failed: Pick<ReviewCase, 'failure' | 'failureCode' | 'failureReason'>,
  { payment = null, recalled = [] }: { payment?: PaymentWithAccount | null; recalled?: readonly InboundCredit[] } = {},
): Movement {
  const wasCompleted = row.status === 'returned_to_sender';
  const source = wasCompleted ? payoutAccount(railOf(row)) : IN_TRANSIT_RETURNS;
  const next = nextVersion(row, { status: 'open', ...failed, resolvedAt: null });
  const reopened = decided(book, row, next, payment, {
    ...move(row, `${returnReference(row)}/return/${row.version}`, source, suspenseOf(row)),
    reverses: wasCompleted ? completionKey(row, row.version - 1) : holdKey(row, row.version - 1),
  });
  return { ...reopened, outbox: recalled.map((credit) => restarted(startRecall(book, credit))) };
}

/** Closes a case that holds no money. */
export function closeCase(book: Book, open: ReviewCase, at?: Date): Movement {
  const next = resolved(open, 'closed', at);
  const events = isInternal(open) ? [] : [caseEvent('review_case.resolved', next)];
  return { book, rows: { review_cases: [next] }, events };
}

/**
 * Ends a case for another reason than a decision: the bank has taken its credit back, whose movement posts the money;
 * or the wallet no longer owes what it is about.
 */
export function endCase(book: Book, open: ReviewCase, status: 'recalled' | 'repaid'): Movement {
  const next = resolved(open, status);
  return {
    book,
    rows: { review_cases: [next] },
    events: [caseEvent('review_case.resolved', next)],
    outbox: [wakeReviewCase(book, next)],
  };
}

/** The case after the bank has taken back one of several credits whose money it holds. */
export const withoutCredit = (row: ReviewCase, amount: Kobo): ReviewCase =>
  nextVersion(row, {
    amount: row.amount - amount,
    ...(row.status === 'unclaimed' && { recalledUnclaimed: row.recalledUnclaimed + amount }),
  });

/** The rail confirms a credit that was set aside: marks it as received, restarts its flow, closes its case. */
export function receiveAfterAll(
  book: Book,
  open: ReviewCase,
  credit: ConfirmedCredit,
  flow: FlowOutboxMessage | null,
): Movement {
  const closed = closeCase(book, open);
  return {
    ...closed,
    rows: { ...closed.rows, inbound_credits: [nextVersion(credit, { status: 'received' })] },
    outbox: flow === null ? [] : [restarted(flow)],
  };
}

/** `version`: of the open case. The hold makes the next version, in which the case is `returning`. */
const holdKey = (row: ReviewCase, version: number): string => `${caseId(row)}/hold/${version}`;

/** `version`: of the case that is `returning`, as one reference can be completed, undone and completed again. */
const completionKey = (row: ReviewCase, version: number): string => `${returnReference(row)}/completion/${version}`;

const caseId = ({ id }: ReviewCase): string => publicId('reviewCase', id);

function suspenseOf(row: ReviewCase): AccountCode {
  if (row.accountCode === null) throw new Error(`review case ${row.id} holds no money`);
  return row.accountCode;
}

/** The account that holds the money of a case that an operator may decide about. */
export const holderOf = (row: ReviewCase): AccountCode => (row.status === 'unclaimed' ? UNCLAIMED : suspenseOf(row));

function railOf(row: ReviewCase): string {
  if (row.rail === null) throw new Error(`review case ${row.id} has no rail`);
  return row.rail;
}

const resolved = (row: ReviewCase, status: ReviewCase['status'], resolvedAt = new Date()): ReviewCase =>
  nextVersion(row, { status, resolvedAt });

/** The transaction that resolves a case has the time that the case shows. */
const movedAt = ({ resolvedAt }: ReviewCase, transaction: Transaction): Transaction => ({
  ...transaction,
  effectiveAt: resolvedAt ?? transaction.effectiveAt,
});

/** `key`: the public id of the case or the reference of a return, then the step, which gives the kind. */
const move = (row: ReviewCase, key: string, debit: AccountCode, credit: AccountCode): Transaction =>
  moveBy(row, key, [{ debit, credit, amount: row.amount }]);

const moveBy = (row: ReviewCase, key: string, postings: readonly Posting[]): Transaction =>
  newTransaction(caseId(row), 'move', `review_${key.split('/')[1]}`, postings, { key });

const caseEvent = (type: 'review_case.opened' | 'review_case.resolved', row: ReviewCase, credit?: InboundCredit) =>
  newEvent(type, caseId(row), {
    ...reviewCaseView(row),
    ...(credit !== undefined && { credit: creditSummary(credit) }),
  });
