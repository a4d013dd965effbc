// Outbox messages that start or signal the flow of a payment.
import { publicId, type Uuid } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import {
  type CreditReceived,
  creditReceived,
  type PaymentInput,
  type PaymentSettledByWallet,
  paymentSettledByWallet,
} from '../../workflows/payment/messages.ts';
import type { Payment } from './queries.ts';

/** The fields that the flow's input is built from. */
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
    summary: `Payment of ${nairaText(input.amount)} into ${input.walletId}`,
    state: 'pending',
    input,
  };
}

/** Until its first credit, or the end of its window, a payment has nothing to do. */
export const startPayment = (book: Book, payment: PaymentOfFlow): FlowOutboxMessage =>
  toOutbox({ ...paymentFlow(book, payment), idleUntil: payment.expiresAt.toISOString() });

/** After a credit to the payment's account number: signals the flow, and starts it if it is not running. */
export function creditPayment(book: Book, payment: PaymentOfFlow, creditId: Uuid): FlowOutboxMessage {
  const payload: CreditReceived = { inboundCreditId: publicId('inboundCredit', creditId) };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: creditReceived.name, payload } });
}

/** After a payment from a wallet has been posted: signals the flow to end. */
export function endPaidPayment(
  book: Book,
  payment: PaymentOfFlow & Pick<Payment, 'amountReceived'>,
): FlowOutboxMessage {
  const payload: PaymentSettledByWallet = { amountReceived: payment.amountReceived };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: paymentSettledByWallet.name, payload } });
}
