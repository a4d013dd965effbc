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

/** What one bank account paid towards a payment; without number or bank, what came from a sender that is not known. */
export interface RefundPayer {
  accountNumber: string | null;
  bankCode: string | null;
  amount: Kobo;
}

/**
 * Why a refund that names no bank account cannot be sent to the payer's. `not_paid_by_bank`: no bank account paid.
 * `not_paid_by_wallet`: no wallet did, so it cannot go to one.
 */
export type UnclearDestination =
  | 'several_payers'
  | 'payer_unknown'
  | 'payer_paid_less'
  | 'not_paid_by_bank'
  | 'not_paid_by_wallet';

export type RefundAccount =
  | { kind: 'payer'; accountNumber: string; bankCode: string }
  | { kind: 'unclear'; reason: UnclearDestination };

/**
 * The account that a refund goes to which names none: the one that paid, when all of the payment came from that one account. Money is not split
 * among payers, and never sent to whoever happened to pay last.
 *
 * `refundedBefore` is all that was refunded or is being refunded, wherever it went: with it a payer is never given more
 * than it paid, over any number of refunds. Together refunds are within what the wallet was credited, which is within what a
 * single payer paid, so that this last rule holds by itself as long as the books are right.
 */
export function decideRefundAccount(payers: readonly RefundPayer[], refundedBefore: Kobo, amount: Kobo): RefundAccount {
  const [payer, ...others] = payers;
  if (payer === undefined) return { kind: 'unclear', reason: 'not_paid_by_bank' };
  const isUnknown = (one: RefundPayer): boolean => one.accountNumber === null || one.bankCode === null;
  if (others.length > 0)
    return { kind: 'unclear', reason: payers.some(isUnknown) ? 'payer_unknown' : 'several_payers' };
  const { accountNumber, bankCode } = payer;
  if (accountNumber === null || bankCode === null) return { kind: 'unclear', reason: 'payer_unknown' };
  if (refundedBefore + amount > payer.amount) return { kind: 'unclear', reason: 'payer_paid_less' };
  return { kind: 'payer', accountNumber, bankCode };
}

/** The status of a settled payment by what of it was refunded. */
export function statusAfterRefunds(
  amountRefunded: Kobo,
  amountCredited: Kobo,
): 'settled' | 'partially_refunded' | 'refunded' {
  if (amountRefunded === 0) return 'settled';
  return amountRefunded === amountCredited ? 'refunded' : 'partially_refunded';
}
