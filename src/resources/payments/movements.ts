// Ledger movements of a payment: pure functions that turn a decision into the movement to post.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { clearingAccount, FEE_INCOME, paymentSuspenseAccount, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Movement, Transaction } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import { type CreditDecision, feeInReview } from '../../workflows/payment/decide.ts';
import { creditsOf, refusedParts, settledSplits, totalOf, type WalletAmount } from '../../workflows/payment/splits.ts';
import { nextVersion } from '../bookTable.ts';
import { endPayment, startPayment } from '../flows.ts';
import { creditLegs, holdsOf, withHolds } from '../holds/movements.ts';
import type { ConfirmedCredit } from '../inboundCredits/confirm.ts';
import { creditTransaction } from '../inboundCredits/movements.ts';
import { newTransaction } from '../movement.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { ReviewCase, ReviewReason } from '../reviewCases/queries.ts';
import type { VirtualAccountRow } from '../wallets/virtualAccounts.ts';
import type { Payment, PaymentWithAccount } from './queries.ts';
import { creditedEvents, paymentEvent, paymentRow, splitEvents } from './rows.ts';

/** What every new payment begins with: it has no credits. */
const noCredits = () =>
  ({
    id: newUuid(),
    version: 1,
    status: 'pending',
    amountReceived: 0,
    amountCredited: 0,
    amountRefunding: 0,
    amountRefunded: 0,
    amountInReview: 0,
    amountRecalled: 0,
    feeCharged: 0,
    payerWalletId: null,
    referenceIsFree: false,
    settledAt: null,
  }) satisfies Partial<Payment>;

export type NewPayment = Omit<Payment, keyof ReturnType<typeof noCredits>>;

export const newPayment = (request: NewPayment): Payment => ({ ...request, ...noCredits() });

/** Stores the payment and the account number that the rail opened for it, and starts its flow. */
export function acceptPayment(book: Book, payment: Payment, account: VirtualAccountRow | null): Movement {
  return {
    book,
    rows: { payments: [payment], virtual_accounts: account === null ? [] : [account] },
    outbox: [startPayment(book, payment)],
  };
}

const NONE: ReadonlySet<Uuid> = new Set();

/** The payment after a decision. `refusing`: wallets of splits that do not take their part, which goes to review. */
export function paymentAfter(
  payment: PaymentWithAccount,
  decision: CreditDecision,
  refusing: ReadonlySet<Uuid> = NONE,
): PaymentWithAccount {
  if (decision.kind === 'to_suspense') return payment;
  const { amountReceived } = decision;
  if (decision.kind === 'hold') return nextVersion(payment, { status: 'partial', amountReceived });
  return settledWith(payment, decision, refusing, new Date());
}

/** The payment once it is settled. */
export function settledWith(
  payment: PaymentWithAccount,
  { amountReceived, toWallet, toFees, toSuspense }: Omit<Settlement, 'kind' | 'alreadyHeld'>,
  refusing: ReadonlySet<Uuid>,
  settledAt: Date,
): PaymentWithAccount {
  const splits = settledSplits(payment.splits, refusing);
  const refused = totalOf(refusedParts(splits));
  return nextVersion(payment, {
    status: 'settled',
    amountReceived,
    amountCredited: toWallet - refused,
    splits,
    amountInReview: payment.amountInReview + toSuspense + refused,
    feeCharged: toFees,
    settledAt,
  });
}

type Settlement = Extract<CreditDecision, { kind: 'settle' }>;

/** What the wallets of a payment get that settles: the target what the splits leave, each split its part. */
function creditedParts({ targetWalletId, splits, amountCredited }: Payment): WalletAmount[] {
  const parts = creditsOf([], splits);
  return [{ walletId: targetWalletId, amount: amountCredited - totalOf(parts) }, ...parts];
}

/** The case of money of a payment that its wallet did not take. */
const refusedCase = (
  paymentId: Uuid,
  reason: ReviewReason,
  { walletId, amount }: WalletAmount,
  inboundCreditId: Uuid | null,
): ReviewCase => openReviewCase({ reason, amount, accountCode: UNMATCHED, inboundCreditId, paymentId, walletId });

/** The cases of a payment that settles: one for each part that its wallet did not take. */
const splitCases = ({ id, splits }: Payment, inboundCreditId: Uuid | null = null): ReviewCase[] =>
  refusedParts(splits).map((part) => refusedCase(id, 'split_refused', part, inboundCreditId));

/**
 * A credit accepted by the payment: held in its suspense account, or settling it together with the credits held before.
 */
export function creditMovement(
  book: Book,
  payment: Payment,
  next: PaymentWithAccount,
  credit: ConfirmedCredit,
  decision: Exclude<CreditDecision, { kind: 'to_suspense' }>,
): Movement {
  const clearing = clearingAccount(credit.rail);
  const suspense = paymentSuspenseAccount(payment.id);
  const settles = decision.kind === 'settle';
  const hold = allocate([{ account: clearing, amount: credit.amount }], [{ account: suspense, amount: credit.amount }]);
  // With earlier credits, all money is gathered in suspense first, so that the wallet gets one credit and its limit is
  // checked on the whole amount.
  const gathers = settles && decision.alreadyHeld > 0;
  const settlement = settles
    ? allocate(
        [{ account: gathers ? suspense : clearing, amount: decision.alreadyHeld + credit.amount }],
        [
          ...creditLegs(next, creditedParts(next)),
          { account: FEE_INCOME, amount: decision.toFees },
          { account: UNMATCHED, amount: decision.toSuspense + totalOf(refusedParts(next.splits)) },
        ],
      )
    : [];
  const postings = [...(gathers || !settles ? hold : []), ...settlement];
  const cases = settles ? splitCases(next, credit.id) : [];
  if (settles && decision.toSuspense > 0) {
    const surplus = { walletId: payment.targetWalletId, amount: decision.toSuspense };
    cases.unshift(refusedCase(payment.id, 'surplus_over_limit', surplus, credit.id));
  }
  const movement = withCaseFlows(
    {
      book,
      transaction: {
        ...creditTransaction(
          credit,
          settles ? 'payment_settlement' : 'payment_partial',
          publicId('payment', payment.id),
          postings,
        ),
        movedAt: next.settledAt ?? new Date(),
      },
      rows: {
        payments: [paymentRow(next)],
        inbound_credits: [nextVersion(credit, { status: 'posted' })],
        review_cases: cases,
      },
      events: [...creditedEvents(next, credit), ...splitEvents(payment, next, credit)],
    },
    () => (cases.length > 0 ? [paymentEvent('payment.in_review', next, credit)] : []),
  );
  return withHolds(movement, settles ? holdsOf(next, creditedParts(next)) : []);
}

/** The payment after its expiry. The money received so far goes to review. */
export const expiredPayment = (open: PaymentWithAccount, toSuspense: Kobo): PaymentWithAccount =>
  nextVersion(open, { status: 'expired', amountInReview: open.amountInReview + toSuspense });

/** The row of a payment that has ended unpaid. */
const unpaidRow = (next: PaymentWithAccount): Payment => ({
  ...paymentRow(next),
  referenceIsFree: next.amountReceived + next.amountInReview === 0,
});

export const cancelledPayment = (pending: PaymentWithAccount): PaymentWithAccount =>
  nextVersion(pending, { status: 'cancelled' });

/** Cancels a payment to which no money has come. Its flow closes the account number. */
export const cancellationMovement = (book: Book, next: PaymentWithAccount): Movement => ({
  book,
  rows: { payments: [unpaidRow(next)] },
  events: [paymentEvent('payment.cancelled', next)],
  outbox: [endPayment(book, next, 'cancelled')],
});

/** Expires a payment. The money received so far stays in suspense, with a review case for an operator. */
export function expiryMovement(book: Book, next: PaymentWithAccount, toSuspense: Kobo): Movement {
  return withCaseFlows(
    {
      book,
      rows: {
        payments: [unpaidRow(next)],
        review_cases:
          toSuspense > 0
            ? [
                openReviewCase({
                  reason: 'partial_expired',
                  amount: toSuspense,
                  fee: feeInReview(next, toSuspense),
                  accountCode: paymentSuspenseAccount(next.id),
                  paymentId: next.id,
                  walletId: next.targetWalletId,
                }),
              ]
            : [],
      },
      events: [paymentEvent('payment.expired', next)],
    },
    () => (toSuspense > 0 ? [paymentEvent('payment.in_review', next)] : []),
  );
}

/**
 * Pays a payment from a wallet: the payable amount leaves the payer, the base amount reaches the target and the splits,
 * the fee becomes income. The business key is that of the payment, so no second wallet can pay it.
 */
export function walletPaymentMovement(
  book: Book,
  payment: Payment,
  settled: PaymentWithAccount & { payerWalletId: Uuid },
): Movement & { transaction: Transaction } {
  const cases = splitCases(settled);
  const postings = allocate(
    [{ account: walletAccount(settled.payerWalletId), amount: settled.amountReceived }],
    [
      ...creditLegs(settled, creditedParts(settled)),
      { account: FEE_INCOME, amount: settled.feeCharged },
      { account: UNMATCHED, amount: settled.amountInReview },
    ],
  );
  const movement = {
    book,
    transaction: newTransaction(publicId('payment', settled.id), 'payment', 'payment_from_wallet', postings, {
      effectiveAt: settled.settledAt ?? new Date(),
    }),
    rows: { payments: [paymentRow(settled)], review_cases: cases },
    events: [...creditedEvents(settled), ...splitEvents(payment, settled)],
  };
  const inReview = () => (cases.length > 0 ? [paymentEvent('payment.in_review', settled)] : []);
  const holds = holdsOf(settled, creditedParts(settled));
  return { ...withHolds(withCaseFlows(movement, inReview), holds), transaction: movement.transaction };
}
