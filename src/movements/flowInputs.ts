// What each flow is started with, made from the rows of its resource. Whoever starts a flow takes its input from here,
// the request that accepts the money and the sweeper that finds the flow missing alike.
import { publicId } from '../ids.ts';
import type { Book } from '../money.ts';
import type { InboundCredit } from '../records/inboundCredits.ts';
import type { Payment } from '../records/payments.ts';
import type { Payout, SourcedItem } from '../records/payouts.ts';
import type { Refund } from '../records/refunds.ts';
import type { Withdrawal } from '../records/withdrawals.ts';
import type { FlowMessage } from '../workflows/flows.ts';
import { type InboundCreditInput, inboundCreditFlow } from '../workflows/inboundCredit/messages.ts';
import { type PaymentInput, paymentFlow } from '../workflows/payment/messages.ts';
import type { PayoutInput } from '../workflows/payout/messages.ts';
import type { PayoutItemInput } from '../workflows/payoutItem/messages.ts';
import type { RefundInput } from '../workflows/refund/messages.ts';
import type { WithdrawalInput } from '../workflows/withdrawal/messages.ts';

export function paymentInput(
  book: Book,
  payment: Pick<Payment, 'id' | 'targetWalletId' | 'baseAmount' | 'expiresAt'>,
): PaymentInput {
  return {
    ...book,
    paymentId: publicId('payment', payment.id),
    walletId: publicId('wallet', payment.targetWalletId),
    amount: payment.baseAmount,
    expiresAt: payment.expiresAt.toISOString(),
  };
}

export function withdrawalInput(book: Book, row: Withdrawal): WithdrawalInput {
  return {
    ...book,
    transferId: publicId('withdrawal', row.id),
    walletId: publicId('wallet', row.sourceWalletId),
    amount: row.amount,
  };
}

export function refundInput(book: Book, refund: Refund): RefundInput {
  return {
    ...book,
    transferId: publicId('refund', refund.id),
    paymentId: publicId('payment', refund.paymentId),
    amount: refund.amount,
  };
}

export function payoutInput(book: Book, payout: Payout): PayoutInput {
  return {
    ...book,
    payoutId: publicId('payout', payout.id),
    walletId: publicId('wallet', payout.sourceWalletId),
    amount: payout.totalAmount,
    itemCount: payout.itemCount,
  };
}

export function payoutItemInput(book: Book, { item, sourceWalletId }: SourcedItem): PayoutItemInput {
  return {
    ...book,
    payoutId: publicId('payout', item.payoutId),
    walletId: publicId('wallet', sourceWalletId),
    transferId: publicId('payoutItem', item.id),
    amount: item.amount,
  };
}

/** For a credit that belongs to no payment. */
function inboundCreditInput(book: Book, credit: InboundCredit): InboundCreditInput {
  return {
    ...book,
    inboundCreditId: publicId('inboundCredit', credit.id),
    amount: credit.amount,
    ...(credit.ownerId !== null && { walletId: publicId('wallet', credit.ownerId) }),
  };
}

/** Tells a credit to the flow that it belongs to: that of its payment, or one of its own (`payment` null). */
export function creditFlow(
  book: Book,
  credit: InboundCredit,
  payment: Pick<Payment, 'id' | 'targetWalletId' | 'baseAmount' | 'expiresAt'> | null,
): FlowMessage {
  if (payment === null) return inboundCreditFlow(inboundCreditInput(book, credit));
  return paymentFlow(paymentInput(book, payment), { inboundCreditId: publicId('inboundCredit', credit.id) });
}
