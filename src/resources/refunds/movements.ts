// Ledger movements of a refund: to a wallet at once; to a bank through transit, then completed or returned to the
// wallet. Each changes the payment in the same statement, so that refunds never exceed the credited amount.

import { publicId, type Uuid } from '../../ids.ts';
import { IN_TRANSIT_REFUNDS, walletAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { statusAfterRefunds } from '../../workflows/refund/decide.ts';
import {
  type BankTransfer,
  clawable,
  clawBack,
  completeTransfer,
  returnFunds,
  stepTransaction,
} from '../bankTransfers/movements.ts';
import { paidRow, unpaidRow } from '../bankTransfers/rows.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import type { TransferFailure } from '../failureCodes.ts';
import type { Payment } from '../payments/queries.ts';
import { paymentRow } from '../payments/rows.ts';
import type { ReturnRefusal } from '../reviewCases/movements.ts';
import { refundView } from '../views.ts';
import type { Refund } from './queries.ts';

/** Refunds to the paying wallet: complete at once. */
export function refundToWallet(book: Book, payment: Payment, refund: Refund, payerWalletId: Uuid): Movement {
  const [debit, credit] = [walletAccount(payment.targetWalletId), walletAccount(payerWalletId)];
  return {
    book,
    // A freeze does not block money that returns to a wallet.
    transaction: stepTransaction(nameOf(refund), 'completion', [{ debit, credit, amount: refund.amount }], {
      rules: 'credit_exempt',
      effectiveAt: refund.createdAt,
    }),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunded: refund.amount })] },
    events: [refundEvent('refund.completed', refund)],
  };
}

/** Accepts a refund to a bank: moves the money from the wallet into transit. */
export function holdRefund(book: Book, payment: Payment, refund: Refund): Movement {
  const debit = walletAccount(payment.targetWalletId);
  const postings = [{ debit, credit: IN_TRANSIT_REFUNDS, amount: refund.amount }];
  return {
    book,
    transaction: stepTransaction(nameOf(refund), 'hold', postings, { effectiveAt: refund.createdAt }),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunding: refund.amount })] },
  };
}

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
  const transfer = transferOf(payment, refund);
  const taken = clawable(transfer, balance);
  const now = new Date();
  const next: Refund = { ...paidRow(refund, report, taken), completedAt: now };
  return clawBack(book, transfer, taken, {
    at: now,
    rows: { refunds: [next], payments: [paymentAfterClawback(payment, others + refund.amount)] },
    events: [refundEvent('refund.completed', next)],
  });
}

/** A payment never shows more refunds than it was credited, even if the bank has paid more. */
const paymentAfterClawback = (payment: Payment, completed: Kobo): Payment =>
  paymentWith(payment, {
    refunded: Math.min(completed, payment.amountCredited - payment.amountRefunding) - payment.amountRefunded,
  });

/** Returns the money to the wallet. `others`: as for `clawBackRefund`. */
export function returnRefundFunds(
  book: Book,
  payment: Payment,
  refund: Refund,
  change: 'fail' | 'return',
  failure: TransferFailure,
  { refusal, others }: { refusal: ReturnRefusal; others: Kobo },
): Movement {
  const now = new Date();
  const next: Refund = {
    ...unpaidRow(refund, failure),
    status: 'failed',
    completedAt: now,
    returnedAt: change === 'return' ? now : null,
  };
  const isClawedBack = refund.clawedBack !== null;
  const taken = refund.status === 'completed' ? { refunded: -refund.amount } : { refunding: -refund.amount };
  return returnFunds(
    book,
    transferOf(payment, refund),
    isClawedBack ? 'refund_clawback_return' : 'refund_return',
    refusal,
    {
      at: now,
      rows: {
        refunds: [next],
        payments: [isClawedBack ? paymentAfterClawback(payment, others) : paymentWith(payment, taken)],
      },
      events: [refundEvent('refund.failed', next)],
    },
  );
}

const nameOf = (refund: Refund) => ({ kind: 'refund', id: publicId('refund', refund.id) }) as const;

/** A refund to a bank, which has no fee. */
function transferOf(payment: Payment, refund: Refund): BankTransfer {
  const { rail } = refund;
  if (rail === null) throw new Error(`refund ${refund.id} has no rail`);
  const [walletId, paymentId] = [payment.targetWalletId, payment.id];
  return { ...refund, ...nameOf(refund), rail, fee: 0, heldIn: IN_TRANSIT_REFUNDS, walletId, paymentId };
}

function paymentWith(payment: Payment, change: { refunding?: Kobo; refunded?: Kobo }): Payment {
  const amountRefunded = payment.amountRefunded + (change.refunded ?? 0);
  const amountRefunding = payment.amountRefunding + (change.refunding ?? 0);
  const status =
    payment.settledAt === null ? payment.status : statusAfterRefunds(amountRefunded, payment.amountCredited);
  return paymentRow(nextVersion(payment, { amountRefunding, amountRefunded, status }));
}

const refundEvent = (type: 'refund.completed' | 'refund.failed', refund: Refund) =>
  newEvent(type, publicId('refund', refund.id), refundView(refund));
