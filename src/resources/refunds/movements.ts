// How a refund stands in the books: at once to a wallet; to a bank by way of transit, paid out or put back. Each changes
// the payment in the same statement, so that refunds never pass what was credited.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, clearingAccount, IN_TRANSIT_REFUNDS, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { statusAfterRefunds } from '../../workflows/refund/decide.ts';
import { paymentRow } from '../payments/movements.ts';
import type { Payment } from '../payments/queries.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { Refund } from './queries.ts';

/** A refund to the wallet that paid: done at once. */
export function refundToWallet(book: Book, payment: Payment, refund: Refund, payerWalletId: Uuid): Movement {
  return {
    book,
    transaction: move(refund, 'completion', walletAccount(payment.targetWalletId), walletAccount(payerWalletId)),
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunded: refund.amount })] },
    events: [refundEvent('refund.completed', refund)],
  };
}

/** A refund to a bank is accepted: the money leaves the wallet for transit. It has the refund's own UUID. */
export function holdRefund(book: Book, payment: Payment, refund: Refund): Movement {
  return {
    book,
    transaction: {
      ...move(refund, 'hold', walletAccount(payment.targetWalletId), IN_TRANSIT_REFUNDS),
      id: refund.id,
    },
    rows: { refunds: [refund], payments: [paymentWith(payment, { refunding: refund.amount })] },
  };
}

/** The rail paid it out. */
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
    transaction: move(refund, 'completion', IN_TRANSIT_REFUNDS, clearingOf(refund)),
    rows: {
      refunds: [next],
      payments: [paymentWith(payment, { refunding: -refund.amount, refunded: refund.amount })],
    },
    events: [refundEvent('refund.completed', next)],
  };
}

/**
 * The money goes back to the wallet, once: from transit, or, when the rail had confirmed it before, from where it had
 * left. A wallet that was closed meanwhile takes nothing; then the money waits for a person.
 */
export function returnRefundFunds(
  book: Book,
  payment: Payment,
  refund: Refund,
  report: TransferReport,
  walletIsClosed: boolean,
): Movement {
  const wasCompleted = refund.status === 'completed';
  const next: Refund = {
    ...refund,
    version: refund.version + 1,
    status: 'failed',
    failureReason: report.reason ?? 'The bank did not take the refund',
    sessionId: report.sessionId ?? refund.sessionId,
    completedAt: new Date(),
    returnedAt: report.status === 'returned' ? new Date() : null,
  };
  const destination = walletIsClosed ? UNMATCHED : walletAccount(payment.targetWalletId);
  return withCaseFlows({
    book,
    transaction: {
      ...move(refund, 'return', wasCompleted ? clearingOf(refund) : IN_TRANSIT_REFUNDS, destination),
      reverses: refund.id,
    },
    rows: {
      refunds: [next],
      payments: [paymentWith(payment, wasCompleted ? { refunded: -refund.amount } : { refunding: -refund.amount })],
      review_cases: walletIsClosed
        ? [
            openReviewCase({
              reason: 'wallet_closed',
              amount: refund.amount,
              accountCode: UNMATCHED,
              inboundCreditId: null,
              paymentId: payment.id,
              walletId: payment.targetWalletId,
            }),
          ]
        : [],
    },
    events: [refundEvent('refund.failed', next)],
  });
}

function clearingOf(refund: Refund): AccountCode {
  if (refund.rail === null) throw new Error(`refund ${refund.id} has no rail`);
  return clearingAccount(refund.rail);
}

/** The whole amount from one account to another. Money that comes back to a wallet posts whatever its limits say. */
function move(
  refund: Refund,
  step: 'hold' | 'completion' | 'return',
  debit: AccountCode,
  credit: AccountCode,
): Transaction {
  return {
    id: newUuid(),
    key: `${publicId('refund', refund.id)}/${step}`,
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

function refundEvent(type: 'refund.completed' | 'refund.failed', refund: Refund): EventRow {
  return {
    id: newUuid(),
    type,
    resource: publicId('refund', refund.id),
    data: {
      id: publicId('refund', refund.id),
      paymentId: publicId('payment', refund.paymentId),
      amount: refund.amount,
      destination: refund.destination,
      status: refund.status,
      failureReason: refund.failureReason,
      currency: CURRENCY,
      createdAt: refund.createdAt.toISOString(),
      completedAt: refund.completedAt?.toISOString() ?? null,
    },
    createdAt: new Date(),
  };
}
