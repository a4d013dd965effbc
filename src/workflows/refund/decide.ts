// The rules of refunds as pure functions: what may be refunded, and what it makes of the payment.
import type { Kobo } from '../../money.ts';

/** What the rules need to know of a payment. */
export interface RefundablePayment {
  status: string;
  amountCredited: Kobo;
  amountRefunding: Kobo;
  amountRefunded: Kobo;
}

export type RefundDecision =
  | { kind: 'refund'; amount: Kobo }
  /** Nothing was credited, or it is all refunded. */
  | { kind: 'not_refundable' }
  | { kind: 'too_much'; refundable: Kobo };

/** What is asked to be refunded of a payment; without an amount, all that is left. */
export function decideRefund(payment: RefundablePayment, asked: Kobo | undefined): RefundDecision {
  if (payment.status !== 'settled' && payment.status !== 'partially_refunded') return { kind: 'not_refundable' };
  const refundable = payment.amountCredited - payment.amountRefunding - payment.amountRefunded;
  const amount = asked ?? refundable;
  return amount > refundable || amount === 0 ? { kind: 'too_much', refundable } : { kind: 'refund', amount };
}

/** The status of a settled payment by what of it was refunded. */
export function statusAfterRefunds(
  amountRefunded: Kobo,
  amountCredited: Kobo,
): 'settled' | 'partially_refunded' | 'refunded' {
  if (amountRefunded === 0) return 'settled';
  return amountRefunded === amountCredited ? 'refunded' : 'partially_refunded';
}
