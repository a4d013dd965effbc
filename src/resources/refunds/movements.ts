// Ledger movements of a refund: to a wallet at once; to a bank through transit, then completed or returned to the
// wallet. Each changes the payment in the same statement, so that refunds never exceed the credited amount.
import { publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  FUNDED_REFUNDS,
  IN_TRANSIT_REFUNDS,
  UNMATCHED,
  walletAccount,
  walletReceivable,
} from '../../ledger/chart.ts';
import type { EventRow, Movement } from '../../ledger/movement.ts';
import { allocate, type Posting } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { statusAfterRefunds } from '../../workflows/refund/decide.ts';
import {
  type BankTransfer,
  clawBack,
  completeTransfer,
  heldBack,
  returnFunds,
  stepTransaction,
  walletDebited,
  walletLegs,
} from '../bankTransfers/movements.ts';
import { paidRow, unpaidRow } from '../bankTransfers/rows.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import type { TransferFailure } from '../failureCodes.ts';
import { holdsOf, withHolds } from '../holds/movements.ts';
import type { Hold } from '../holds/queries.ts';
import type { Payment } from '../payments/queries.ts';
import { paymentRow } from '../payments/rows.ts';
import { openReviewCase, type ReturnRefusal } from '../reviewCases/movements.ts';
import { refundView } from '../views.ts';
import type { Refund, RefundSource } from './queries.ts';

/** Refunds to the paying wallet: complete at once. `holds`: those that give a part of it, afterwards. */
export function refundToWallet(
  book: Book,
  payment: Payment,
  refund: Refund,
  payerWalletId: Uuid,
  holds: readonly Hold[] = [],
): Movement {
  const movement: Movement = {
    book,
    // A freeze does not block money that returns to a wallet.
    transaction: stepTransaction(nameOf(refund), 'completion', takenTo(walletAccount(payerWalletId), payment, refund), {
      rules: 'credit_exempt',
      effectiveAt: refund.createdAt,
    }),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunded: refund.amount }, refund.sources)] },
    events: [refundEvent('refund.completed', refund), ...debtEvents(refund)],
  };
  return withHolds(movement, holds);
}

/** Accepts a refund to a bank: moves the money from the wallet into transit. `holds`: as for `refundToWallet`. */
export function holdRefund(book: Book, payment: Payment, refund: Refund, holds: readonly Hold[] = []): Movement {
  const postings = takenTo(IN_TRANSIT_REFUNDS, payment, refund);
  const movement: Movement = {
    book,
    transaction: stepTransaction(nameOf(refund), 'hold', postings, { effectiveAt: refund.createdAt }),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunding: refund.amount }, refund.sources)] },
    events: debtEvents(refund),
  };
  return withHolds(movement, holds);
}

/** The money of a refund, from each wallet that gives a part of it. */
function takenTo(destination: AccountCode, payment: Payment, refund: Refund): Posting[] {
  const legs = sourcesOf(payment, refund).flatMap(walletLegs);
  return [...allocate(legs, [{ account: destination, amount: refund.amount }]), ...debtsOf(refund.sources)];
}

/** What wallets of the payment owe because own money is refunded in their place. */
const debtsOf = (sources: readonly RefundSource[]): Posting[] =>
  sources
    .filter(({ owed }) => owed > 0)
    .map(({ onBehalfOf, owed }) => ({ debit: walletReceivable(onBehalfOf), credit: FUNDED_REFUNDS, amount: owed }));

const debtEvents = (refund: Refund): EventRow[] =>
  refund.sources
    .filter(({ owed }) => owed > 0)
    .map(({ onBehalfOf: walletId, owed: missing }) =>
      walletDebited({ walletId, transferId: nameOf(refund).id, reason: 'refund_funded', amount: 0, missing }),
    );

/** After the rail has paid out. */
export function completeRefund(book: Book, payment: Payment, refund: Refund, report: TransferReport): Movement {
  const next: Refund = { ...paidRow(refund, report), completedAt: new Date() };
  return {
    book,
    transaction: completeTransfer(transferOf(payment, refund)),
    rows: {
      refunds: [next],
      payments: [paymentWith(payment, { refunding: -refund.amount, refunded: refund.amount })],
    },
    events: [refundEvent('refund.completed', next)],
  };
}

/**
 * After the rail has paid a refund that it reported as failed. `others`: the sum of the payment's other completed
 * refunds, one of which may have replaced this one.
 */
export function clawBackRefund(
  book: Book,
  payment: Payment,
  refund: Refund,
  report: TransferReport,
  { balanceOf, others }: { balanceOf: (walletId: Uuid) => Kobo; others: Kobo },
): Movement {
  const left = new Map<Uuid, Kobo>();
  const sources = sourcesOf(payment, refund).map((source) => {
    const balance = left.get(source.walletId) ?? balanceOf(source.walletId);
    const clawedBack = Math.min(source.amount, balance);
    left.set(source.walletId, balance - clawedBack);
    return { ...source, clawedBack };
  });
  const taken = sources.reduce((sum, { clawedBack }) => sum + clawedBack, 0);
  const now = new Date();
  const next: Refund = {
    ...paidRow(refund, report, taken),
    completedAt: now,
    sources: refund.sources.length > 0 ? sources : [],
  };
  const after = paymentWithRefunds(payment, others + refund.amount, payment.amountRefunding, refund.sources);
  return clawBack(book, { ...transferOf(payment, refund), sources }, taken, {
    at: now,
    rows: { refunds: [next], payments: [after] },
    events: [refundEvent('refund.completed', next)],
  });
}

/** A payment never shows more refunds than it was credited, even if the bank has paid more. */
function paymentWithRefunds(payment: Payment, completed: Kobo, refunding: Kobo, sources: readonly RefundSource[]) {
  const refunded = Math.min(completed, payment.amountCredited - refunding);
  const change = { refunding: refunding - payment.amountRefunding, refunded: refunded - payment.amountRefunded };
  return paymentWith(payment, change, sources);
}

/** Returns the money to the wallet, what was held to a new hold. `others`: as for `clawBackRefund`. */
export function returnRefundFunds(
  book: Book,
  payment: Payment,
  refund: Refund,
  change: 'fail' | 'return',
  failure: TransferFailure,
  { refusalOf, owedBy, others }: ReturnFacts,
): Movement {
  const now = new Date();
  const isClawedBack = refund.clawedBack !== null;
  const undone = isClawedBack
    ? refund.sources
    : refund.sources.map((source) => ({
        ...source,
        repaid: source.owed - Math.min(source.owed, owedBy(source.onBehalfOf)),
      }));
  const heldAgainOf = ({ walletId, held }: RefundSource): Kobo =>
    isClawedBack ? 0 : heldBack(refusalOf(walletId), held);
  const transfer = { ...transferOf(payment, refund), sources: sourcesOf(payment, refund) };
  const next: Refund = {
    ...unpaidRow(refund, failure),
    status: 'failed',
    completedAt: now,
    returnedAt: change === 'return' ? now : null,
    sources: undone.map((source) => {
      const refusal = refusalOf(source.walletId);
      const kept = heldAgainOf(source);
      const suspended = source.suspended + (refusal === null ? 0 : (source.clawedBack ?? source.amount) - kept);
      return { ...source, suspended, ...(!isClawedBack && refusal !== 'wallet_closed' && { held: 0 }) };
    }),
  };
  const heldAgain = undone.map((source) => ({ walletId: source.walletId, amount: heldAgainOf(source) }));
  const refunding = payment.amountRefunding - (refund.status === 'completed' ? 0 : refund.amount);
  const given = refund.sources.map((source) => ({ ...source, amount: -source.amount }));
  const movement = returnFunds(book, transfer, isClawedBack ? 'refund_clawback_return' : 'refund_return', refusalOf, {
    at: now,
    rows: {
      refunds: [next],
      payments: [paymentWithRefunds(payment, others, refunding, given)],
    },
    events: [refundEvent('refund.failed', next)],
    ...(isClawedBack ? {} : withoutDebts(payment, undone)),
  });
  return withHolds(movement, holdsOf(payment, heldAgain));
}

/** `owedBy`: what a wallet owes now. */
interface ReturnFacts {
  refusalOf: (walletId: Uuid) => ReturnRefusal;
  owedBy: (walletId: Uuid) => Kobo;
  others: Kobo;
}

/** Ends the debts for a refund that was not paid. What was repaid of one goes to suspense, to be credited again. */
function withoutDebts(payment: Payment, sources: readonly RefundSource[]) {
  const debts = sources.filter(({ owed }) => owed > 0);
  return {
    postings: debts.flatMap(({ onBehalfOf, owed, repaid }) =>
      allocate(
        [{ account: FUNDED_REFUNDS, amount: owed }],
        [
          { account: walletReceivable(onBehalfOf), amount: owed - repaid },
          { account: UNMATCHED, amount: repaid },
        ],
      ),
    ),
    cases: debts
      .filter(({ repaid }) => repaid > 0)
      .map(({ onBehalfOf: walletId, repaid: amount }) =>
        openReviewCase({ reason: 'over_limit', amount, accountCode: UNMATCHED, walletId, paymentId: payment.id }),
      ),
  };
}

const nameOf = (refund: Refund) => ({ kind: 'refund', id: publicId('refund', refund.id) }) as const;

/** A refund to a bank, which has no fee. */
function transferOf(payment: Payment, refund: Refund): BankTransfer {
  const { rail } = refund;
  if (rail === null) throw new Error(`refund ${refund.id} has no rail`);
  const [walletId, paymentId] = [payment.targetWalletId, payment.id];
  return { ...refund, ...nameOf(refund), rail, fee: 0, heldIn: IN_TRANSIT_REFUNDS, walletId, paymentId };
}

/** The wallets that give a refund: by default the target of the payment. */
export const sourcesOf = (
  { targetWalletId: walletId }: Pick<Payment, 'targetWalletId'>,
  { sources, amount, clawedBack }: Pick<Refund, 'sources' | 'amount' | 'clawedBack'>,
): readonly RefundSource[] =>
  sources.length > 0
    ? sources
    : [{ walletId, onBehalfOf: walletId, amount, clawedBack, suspended: 0, owed: 0, repaid: 0 }];

/** `sources`: what their wallets give of the refund, or have back of it. */
function paymentWith(
  payment: Payment,
  change: { refunding?: Kobo; refunded?: Kobo },
  sources: readonly RefundSource[] = [],
): Payment {
  const amountRefunded = payment.amountRefunded + (change.refunded ?? 0);
  const amountRefunding = payment.amountRefunding + (change.refunding ?? 0);
  const status =
    payment.settledAt === null ? payment.status : statusAfterRefunds(amountRefunded, payment.amountCredited);
  const givenBy = (walletId: Uuid): Kobo => sources.find((source) => source.onBehalfOf === walletId)?.amount ?? 0;
  const splits = payment.splits.map((split) => ({
    ...split,
    amountRefunded: split.amountRefunded + givenBy(split.walletId),
  }));
  return paymentRow(nextVersion(payment, { amountRefunding, amountRefunded, status, splits }));
}

const refundEvent = (type: 'refund.completed' | 'refund.failed', refund: Refund) =>
  newEvent(type, publicId('refund', refund.id), refundView(refund));
