// Ledger movements of an inbound credit: to the wallet whose deposit account was credited, or to suspense with a review
// case for an operator. Credits accepted by a payment are posted by payments/movements.ts.
import { publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, clearingAccount, UNMATCHED, walletAccount, walletOf } from '../../ledger/chart.ts';
import type { Movement, RefusalCode, Transaction } from '../../ledger/movement.ts';
import type { Posting } from '../../ledger/postings.ts';
import type { Book } from '../../money.ts';
import { type FlowOutboxMessage, restarted } from '../../workflows/flows.ts';
import { feeInReview } from '../../workflows/payment/decide.ts';
import type { Split } from '../../workflows/payment/splits.ts';
import { nextVersion } from '../bookTable.ts';
import { walletCredited } from '../events.ts';
import { newTransaction } from '../movement.ts';
import type { Payment, PaymentWithAccount } from '../payments/queries.ts';
import { reviewChange } from '../payments/rows.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { ReviewCase, ReviewReason } from '../reviewCases/queries.ts';
import { senderView } from '../views.ts';
import type { ConfirmedCredit } from './confirm.ts';
import type { InboundCredit } from './queries.ts';

/** The business key of a credit: its rail and session id, so a credit is posted only once. */
export const creditKey = ({ rail, sessionId }: Pick<InboundCredit, 'rail' | 'sessionId'>): string =>
  `credit/${rail}/${sessionId}`;

/** The business key of a recall: a credit is taken back once. */
export const recallKey = ({ rail, sessionId }: Pick<InboundCredit, 'rail' | 'sessionId'>): string =>
  `recall/${rail}/${sessionId}`;

/** The business key under which the bank's debt is settled for money that had left when it was recalled. */
export const cameBackKey = (credit: Pick<InboundCredit, 'rail' | 'sessionId'>): string => `${recallKey(credit)}/return`;

export const creditTransaction = (
  credit: InboundCredit,
  kind: string,
  resource: string,
  postings: Posting[],
): Transaction =>
  newTransaction(resource, 'credit', kind, postings, {
    key: creditKey(credit),
    effectiveAt: credit.receivedAt,
    movedAt: new Date(),
  });

/** The transaction that posts the whole credit to one account. */
const creditTo = (account: AccountCode, credit: ConfirmedCredit, kind: string): Transaction =>
  creditTransaction(credit, kind, publicId('inboundCredit', credit.id), [
    { debit: clearingAccount(credit.rail), credit: account, amount: credit.amount },
  ]);

/** The rail's record names another owner than was reported: the credit goes on in the flow of that one. */
export const redirectMovement = (book: Book, credit: ConfirmedCredit, flow: FlowOutboxMessage | null): Movement => ({
  book,
  rows: { inbound_credits: [nextVersion(credit, {})] },
  outbox: flow === null ? [] : [restarted(flow)],
});

/** Posts the whole credit to suspense, with a review case. `walletId`, `payment`: the intended ones, if known. */
export function creditToSuspense(
  book: Book,
  credit: ConfirmedCredit,
  reason: ReviewReason,
  walletId: Uuid | null,
  payment: PaymentWithAccount | null = null,
): Movement {
  const { rows, events } = reviewChange(payment, credit.amount, credit);
  // Late money is decided about when its payment, which may still be open, has expired.
  const isOpen = payment?.status === 'pending' || payment?.status === 'partial';
  const ended = isOpen && reason === 'late_credit' ? { ...payment, status: 'expired' as const } : payment;
  const fee = ended === null ? 0 : feeInReview(ended, credit.amount);
  const lateMs = payment === null ? 0 : credit.receivedAt.getTime() - payment.expiresAt.getTime();
  const lateBySeconds = reason === 'late_credit' ? Math.ceil(Math.max(0, lateMs) / 1000) : null;
  return withCaseFlows(
    {
      book,
      transaction: creditTo(UNMATCHED, credit, 'credit_to_suspense'),
      rows: {
        ...rows,
        inbound_credits: [nextVersion(credit, { status: 'suspense' })],
        review_cases: [{ ...caseOf(credit, reason, UNMATCHED, walletId, payment), fee, lateBySeconds }],
      },
    },
    events,
  );
}

/**
 * Sets aside a credit that the rail does not confirm, on an operator's request: posts nothing, and opens a review case
 * that holds no money. `walletId`, `payment`: what it was intended for, if known.
 */
export function setAsideMovement(
  book: Book,
  credit: InboundCredit,
  walletId: Uuid | null,
  payment: OfPayment = null,
): Movement {
  return withCaseFlows({
    book,
    rows: {
      inbound_credits: [nextVersion(credit, { status: 'set_aside' })],
      review_cases: [caseOf(credit, 'credit_unconfirmed', null, walletId, payment)],
    },
  });
}

type OfPayment = Pick<Payment, 'reference'> | null;

function caseOf(
  credit: InboundCredit,
  reason: ReviewReason,
  accountCode: AccountCode | null,
  walletId: Uuid | null,
  payment: OfPayment,
): ReviewCase {
  const paymentId = credit.ownerKind === 'payment' ? credit.ownerId : null;
  return openReviewCase({
    reason,
    amount: credit.amount,
    accountCode,
    inboundCreditId: credit.id,
    paymentId,
    reference: payment?.reference ?? null,
    walletId,
  });
}

/** The review reason by the refusal of the wallet that should be credited. */
const REVIEW_REASONS: Partial<Record<RefusalCode, ReviewReason>> = {
  WALLET_FROZEN: 'wallet_frozen',
  WALLET_CLOSED: 'wallet_closed',
  WALLET_KYC_REQUIRED: 'wallet_unverified',
  WALLET_TIER1_LIMIT_EXCEEDED: 'over_limit',
};

/** Whether it is the account of a wallet, or that beside it. */
const isOf = (account: AccountCode | null, walletId: Uuid): boolean =>
  account !== null && walletOf(account) === publicId('wallet', walletId);

/**
 * The review reason of a refused credit; null when another account refused it, or with an unexpected code. The limit
 * code is accepted from any account, because every account refuses a credit beyond the largest possible balance, the
 * suspense account of a payment too.
 */
export function reviewReasonOf(
  { code, account }: { code: RefusalCode; account: AccountCode | null },
  walletId: Uuid,
): ReviewReason | null {
  const isExpected = isOf(account, walletId) || code === 'WALLET_TIER1_LIMIT_EXCEEDED';
  return isExpected ? (REVIEW_REASONS[code] ?? null) : null;
}

/** The wallet of a split that refused its part, for a reason that an operator decides about; null: it was another. */
export function refusingSplit(
  splits: readonly Split[],
  { code, account }: { code: RefusalCode; account: AccountCode | null },
): Uuid | null {
  const split = splits.find(({ walletId }) => isOf(account, walletId));
  return split !== undefined && REVIEW_REASONS[code] !== undefined ? split.walletId : null;
}

/** Posts a credit to the wallet whose deposit account was credited. */
export function depositMovement(book: Book, credit: ConfirmedCredit, walletId: Uuid): Movement {
  const about = { sender: senderView(credit), receivedAt: credit.receivedAt.toISOString() };
  return {
    book,
    transaction: creditTo(walletAccount(walletId), credit, 'deposit'),
    rows: { inbound_credits: [nextVersion(credit, { status: 'posted' })] },
    events: [walletCredited(walletId, credit.amount, about, credit)],
  };
}
