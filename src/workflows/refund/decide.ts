// The rules of refunds as pure functions: what may be refunded, to which account, and the payment's status afterwards.
import type { Kobo } from '../../money.ts';

/** The fields of a payment that the rules read. */
export interface RefundablePayment {
  status: string;
  amountCredited: Kobo;
  amountRefunding: Kobo;
  amountRefunded: Kobo;
  amountRecalled: Kobo;
}

export type RefundDecision =
  | { kind: 'refund'; amount: Kobo }
  /** Nothing was credited, or all of it is refunded. */
  | { kind: 'not_refundable' }
  | { kind: 'too_much'; refundable: Kobo };

/** What was credited, less what the bank has taken back and what refunds give back. */
const refundableAmount = (payment: RefundablePayment): Kobo =>
  Math.max(0, payment.amountCredited - payment.amountRecalled - payment.amountRefunding - payment.amountRefunded);

/** Decides the amount of a refund. Without a requested amount, it is all that is left. */
export function decideRefund(payment: RefundablePayment, requested: Kobo | undefined): RefundDecision {
  // Of an expired payment, what a review case has credited to its wallet later.
  if (payment.amountCredited === 0 || payment.status === 'refunded') return { kind: 'not_refundable' };
  const refundable = refundableAmount(payment);
  const amount = requested ?? refundable;
  return amount > refundable || amount === 0 ? { kind: 'too_much', refundable } : { kind: 'refund', amount };
}

/** What one bank account paid towards a payment. Number and bank are null if the sender is not known. */
export interface RefundPayer {
  accountNumber: string | null;
  bankCode: string | null;
  amount: Kobo;
}

/**
 * Why a refund that names no destination account cannot go to the payer. `not_paid_by_bank`: no bank account paid.
 * `not_paid_by_wallet`: no wallet paid, so the refund cannot go to a wallet.
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
 * The destination of a refund that names no account: the account that paid, if the whole payment came from it. Money is
 * never split among payers, and never sent to the account that happened to pay last.
 *
 * `refundedBefore` is everything refunded or being refunded, to any destination: a payer never gets back more than it
 * paid, over any number of refunds. All refunds together are at most what the wallet was credited, which is at most
 * what a single payer paid, so this last check fails only if the ledger is wrong.
 */
export function decideRefundAccount(payers: readonly RefundPayer[], refundedBefore: Kobo, amount: Kobo): RefundAccount {
  const [payer, ...others] = payers;
  if (payer === undefined) return { kind: 'unclear', reason: 'not_paid_by_bank' };
  const isUnknown = (paid: RefundPayer): boolean => paid.accountNumber === null || paid.bankCode === null;
  if (others.length > 0)
    return { kind: 'unclear', reason: payers.some(isUnknown) ? 'payer_unknown' : 'several_payers' };
  const { accountNumber, bankCode } = payer;
  if (accountNumber === null || bankCode === null) return { kind: 'unclear', reason: 'payer_unknown' };
  if (refundedBefore + amount > payer.amount) return { kind: 'unclear', reason: 'payer_paid_less' };
  return { kind: 'payer', accountNumber, bankCode };
}

/** The status of a settled payment, by how much of it was refunded. */
export function statusAfterRefunds(
  amountRefunded: Kobo,
  amountCredited: Kobo,
): 'settled' | 'partially_refunded' | 'refunded' {
  if (amountRefunded === 0) return 'settled';
  return amountRefunded === amountCredited ? 'refunded' : 'partially_refunded';
}
