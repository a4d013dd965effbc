// How the flow of a payment is started and signalled.
import { publicId, type Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import {
  type CreditReceived,
  creditReceived,
  type PaymentInput,
  type PaymentSettledByWallet,
  paymentSettledByWallet,
} from '../../workflows/payment/messages.ts';
import type { Payment } from './queries.ts';

/** What the flow's input is made of. */
export type PaymentOfFlow = Pick<Payment, 'id' | 'targetWalletId' | 'baseAmount' | 'expiresAt'>;

export function paymentInput(book: Book, payment: PaymentOfFlow): PaymentInput {
  return {
    ...book,
    paymentId: publicId('payment', payment.id),
    walletId: publicId('wallet', payment.targetWalletId),
    amount: payment.baseAmount,
    expiresAt: payment.expiresAt.toISOString(),
  };
}

function paymentFlow(book: Book, payment: PaymentOfFlow): FlowMessage {
  const input = paymentInput(book, payment);
  return {
    workflow: 'payment',
    id: input.paymentId,
    summary: `Payment of ${input.amount} kobo into ${input.walletId}`,
    state: 'pending',
    input,
  };
}

export const startPayment = (book: Book, payment: PaymentOfFlow): FlowOutboxMessage =>
  toOutbox(paymentFlow(book, payment));

/** A credit came to the payment's account: starts the flow, or wakes the one that runs. */
export function creditPayment(book: Book, payment: PaymentOfFlow, creditId: Uuid): FlowOutboxMessage {
  const payload: CreditReceived = { inboundCreditId: publicId('inboundCredit', creditId) };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: creditReceived.name, payload } });
}

/** A wallet has paid the payment, and the books say so already: ends its flow. */
export function endPaidPayment(
  book: Book,
  payment: PaymentOfFlow & Pick<Payment, 'amountReceived'>,
): FlowOutboxMessage {
  const payload: PaymentSettledByWallet = { amountReceived: payment.amountReceived };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: paymentSettledByWallet.name, payload } });
}
