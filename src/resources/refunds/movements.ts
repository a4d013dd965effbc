// Ledger movements of a refund: to a wallet at once; to a bank through transit, then completed or returned to the
// wallet. Each changes the payment in the same statement, so that refunds never exceed the credited amount.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, IN_TRANSIT_REFUNDS, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Movement, Transaction } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { statusAfterRefunds } from '../../workflows/refund/decide.ts';
import { type BankTransferStep, clawable, clawBack, undoClawback } from '../clawbacks/movements.ts';
import { newEvent } from '../events.ts';
import { type DecidedBy, failureCodeOf } from '../failureCodes.ts';
import { paymentRow } from '../payments/movements.ts';
import type { Payment } from '../payments/queries.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { closedWalletCase, withCaseFlows } from '../reviewCases/movements.ts';
import { refundView } from '../views.ts';
import type { Refund } from './queries.ts';

/** Refunds to the paying wallet: complete at once. */
export function refundToWallet(book: Book, payment: Payment, refund: Refund, payerWalletId: Uuid): Movement {
  return {
    book,
    transaction: move(refund, 'completion', walletAccount(payment.targetWalletId), walletAccount(payerWalletId)),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunded: refund.amount })] },
    events: [refundEvent('refund.completed', refund)],
  };
}

/** Accepts a refund to a bank: moves the money from the wallet into transit. */
export function holdRefund(book: Book, payment: Payment, refund: Refund): Movement {
  return {
    book,
    transaction: move(refund, 'hold', walletAccount(payment.targetWalletId), IN_TRANSIT_REFUNDS),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunding: refund.amount })] },
  };
}

/** After the rail has paid out: the money leaves through the clearing account. */
export function completeRefund(book: Book, payment: Payment, refund: Refund, report: TransferReport): Movement {
  const next: Refund = {
    ...refund,
    version: refund.version + 1,
    status: 'completed',
    sessionId: report.sessionId,
    completedAt: new Date(),
  };
  return {
    book,
    transaction: {
      ...move(refund, 'completion', IN_TRANSIT_REFUNDS, payoutAccountOf(refund)),
      resolves: keyOf(refund, 'hold'),
    },
    rows: {
      refunds: [next],
      payments: [paymentWith(payment, { refunding: -refund.amount, refunded: refund.amount })],
    },
    events: [refundEvent('refund.completed', next)],
  };
}

/**
 * After the rail has paid a refund that it reported as failed. `balance`: of the wallet. `others`: the sum of the
 * payment's other completed refunds, one of which may have replaced this one.
 */
export function clawBackRefund(
  book: Book,
  payment: Payment,
  refund: Refund,
  report: TransferReport,
  { balance, others }: { balance: Kobo; others: Kobo },
): Movement {
  const rail = railOf(refund);
  const taken = clawable({ ...refund, fee: 0 }, balance);
  const next: Refund = {
    ...refund,
    version: refund.version + 1,
    status: 'completed',
    failureCode: null,
    failureReason: null,
    sessionId: report.sessionId ?? refund.sessionId,
    completedAt: new Date(),
    clawedBack: taken,
  };
  const movement = clawBack({
    book,
    transfer: publicId('refund', refund.id),
    kind: 'refund_clawback',
    rail,
    amount: refund.amount,
    fee: 0,
    paymentId: payment.id,
    walletId: payment.targetWalletId,
    taken,
  });
  return {
    ...movement,
    rows: { ...movement.rows, refunds: [next], payments: [paymentAfterClawback(payment, others + refund.amount)] },
    events: [...(movement.events ?? []), refundEvent('refund.completed', next)],
  };
}

/** A payment never shows more refunds than it was credited, even if the bank has paid more. */
const paymentAfterClawback = (payment: Payment, completed: Kobo): Payment =>
  paymentWith(payment, {
    refunded: Math.min(completed, payment.amountCredited - payment.amountRefunding) - payment.amountRefunded,
  });

/**
 * Returns the money to the wallet, once: from transit, or, if the refund was completed before, from clearing. After a
 * clawback, what that took. If the wallet has been closed, the money goes to suspense with a review case for an
 * operator. `others`: as for `clawBackRefund`.
 */
export function returnRefundFunds(
  book: Book,
  payment: Payment,
  refund: Refund,
  report: TransferReport,
  { walletIsClosed, others, decidedBy }: { walletIsClosed: boolean; others: Kobo; decidedBy: DecidedBy },
): Movement {
  const wasCompleted = refund.status === 'completed';
  const { clawedBack } = refund;
  const amount = clawedBack ?? refund.amount;
  const next: Refund = {
    ...refund,
    version: refund.version + 1,
    status: 'failed',
    failureCode: failureCodeOf(report.status === 'returned' ? 'return' : 'fail', decidedBy),
    failureReason: report.reason ?? 'The bank refused or returned the refund',
    sessionId: report.sessionId ?? refund.sessionId,
    completedAt: new Date(),
    returnedAt: report.status === 'returned' ? new Date() : null,
  };
  const destination = walletIsClosed ? UNMATCHED : walletAccount(payment.targetWalletId);
  return withCaseFlows({
    book,
    transaction:
      clawedBack === null
        ? {
            ...move(refund, 'return', wasCompleted ? payoutAccountOf(refund) : IN_TRANSIT_REFUNDS, destination),
            reverses: keyOf(refund, wasCompleted ? 'completion' : 'hold'),
          }
        : {
            ...move(refund, 'clawback_return', payoutAccountOf(refund), destination),
            reverses: keyOf(refund, 'clawback'),
            postings: undoClawback({ ...refund, rail: railOf(refund), fee: 0 }, clawedBack, destination),
          },
    rows: {
      refunds: [next],
      payments: [
        clawedBack === null
          ? paymentWith(payment, wasCompleted ? { refunded: -refund.amount } : { refunding: -refund.amount })
          : paymentAfterClawback(payment, others),
      ],
      review_cases: walletIsClosed && amount > 0 ? [closedWalletCase(amount, payment.targetWalletId, payment.id)] : [],
    },
    events: [refundEvent('refund.failed', next)],
  });
}

function railOf(refund: Refund): string {
  if (refund.rail === null) throw new Error(`refund ${refund.id} has no rail`);
  return refund.rail;
}

const payoutAccountOf = (refund: Refund): AccountCode => payoutAccount(railOf(refund));

const keyOf = (refund: Refund, step: BankTransferStep): string => `${publicId('refund', refund.id)}/${step}`;

/**
 * Moves the whole amount between two accounts. `credit_exempt`: limits and freezes do not block money returning to a
 * wallet.
 */
function move(
  refund: Refund,
  step: Exclude<BankTransferStep, 'clawback'>,
  debit: AccountCode,
  credit: AccountCode,
): Transaction {
  return {
    id: newUuid(),
    key: keyOf(refund, step),
    kind: `refund_${step}`,
    resource: publicId('refund', refund.id),
    effectiveAt: new Date(),
    rules: 'credit_exempt',
    postings: [{ debit, credit, amount: refund.amount }],
  };
}

function paymentWith(payment: Payment, change: { refunding?: Kobo; refunded?: Kobo }): Payment {
  const amountRefunded = payment.amountRefunded + (change.refunded ?? 0);
  return paymentRow({
    ...payment,
    version: payment.version + 1,
    amountRefunding: payment.amountRefunding + (change.refunding ?? 0),
    amountRefunded,
    status: statusAfterRefunds(amountRefunded, payment.amountCredited),
  });
}

const refundEvent = (type: 'refund.completed' | 'refund.failed', refund: Refund) =>
  newEvent(type, publicId('refund', refund.id), refundView(refund));
