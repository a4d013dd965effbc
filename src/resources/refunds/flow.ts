// Outbox messages that start or wake the flow of a refund to a bank. A refund to a wallet completes at once, without a
// flow.
import { publicId } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { withTransferUpdate } from '../../workflows/bankTransfer/messages.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { RefundInput } from '../../workflows/refund/messages.ts';
import type { Refund } from './queries.ts';

function refundFlow(book: Book, refund: Refund): FlowMessage {
  const input: RefundInput = {
    ...book,
    transferId: publicId('refund', refund.id),
    paymentId: publicId('payment', refund.paymentId),
    amount: refund.amount,
  };
  return {
    workflow: 'refund',
    id: input.transferId,
    summary: `Refund of ${nairaText(input.amount)} of ${input.paymentId}`,
    state: 'processing',
    input,
  };
}

export const startRefund = (book: Book, refund: Refund): FlowOutboxMessage => toOutbox(refundFlow(book, refund));

/**
 * After an update from the rail: signals the refund's flow, and starts one if none is running, because a completed
 * refund may still be returned.
 */
export const wakeRefund = (book: Book, refund: Refund): FlowOutboxMessage =>
  toOutbox(withTransferUpdate(refundFlow(book, refund)));
