// What movements of several resources change of a payment: its row and its events.
import { publicId } from '../../ids.ts';
import type { EventRow, Movement } from '../../ledger/movement.ts';
import type { Kobo } from '../../money.ts';
import { creditsOf } from '../../workflows/payment/splits.ts';
import { nextVersion } from '../bookTable.ts';
import { type EventType, newEvent, walletCredited } from '../events.ts';
import { isHeldFor } from '../holds/movements.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';
import { creditSummary, paymentView } from '../views.ts';
import type { Payment, PaymentWithAccount } from './queries.ts';

/** The row of a payment, without the joined account. */
export function paymentRow(payment: Payment): Payment {
  const { account: _account, ...row } = payment as PaymentWithAccount;
  return row;
}

/** The payload of contract section 6, with the credit that caused it. */
export const paymentEvent = (
  type: Extract<EventType, `payment.${string}`>,
  payment: PaymentWithAccount,
  credit?: InboundCredit,
) =>
  newEvent(type, publicId('payment', payment.id), {
    ...paymentView(payment),
    ...(credit !== undefined && { credit: creditSummary(credit) }),
  });

/**
 * Every credit emits `payment.settled`, with the status `partial` or `settled`, as the contract says. The one that
 * settles the payment also emits `payment.completed`, so that is sent once.
 */
export const creditedEvents = (payment: PaymentWithAccount, credit?: InboundCredit): EventRow[] => [
  paymentEvent('payment.settled', payment, credit),
  ...(payment.status === 'settled' ? [paymentEvent('payment.completed', payment, credit)] : []),
];

/** `wallet.credited` for each split whose balance a change of a payment credits. */
export const splitEvents = (before: Payment, after: Payment, credit?: InboundCredit): EventRow[] =>
  creditsOf(before.splits, after.splits)
    .filter(({ walletId }) => !isHeldFor(after, walletId))
    .map(({ walletId, amount }) => {
      const about = { paymentId: publicId('payment', after.id), reference: after.reference };
      return walletCredited(walletId, amount, about, credit);
    });

/** What a movement commits of a payment, beside the money. Its events are made after those that come before them. */
interface PaymentPart {
  rows: NonNullable<Movement['rows']>;
  events: () => EventRow[];
}

/** Money of a payment, with its credit, goes to review (positive) or has been decided (negative). */
export function reviewChange(payment: PaymentWithAccount | null, change: Kobo, credit?: InboundCredit): PaymentPart {
  if (payment === null || change === 0) return { rows: {}, events: () => [] };
  const next = nextVersion(payment, { amountInReview: payment.amountInReview + change });
  return {
    rows: { payments: [paymentRow(next)] },
    events: () => [paymentEvent(change > 0 ? 'payment.in_review' : 'payment.reviewed', next, credit)],
  };
}
