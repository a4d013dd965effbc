// How the flow of a refund to a bank is started and woken. A refund to a wallet is done at once and needs no flow.
import { publicId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { transferUpdated } from '../../workflows/bankTransfer/messages.ts';
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
    summary: `Refund of ${input.amount} kobo of ${input.paymentId}`,
    state: 'processing',
    input,
  };
}

export const startRefund = (book: Book, refund: Refund): FlowOutboxMessage => toOutbox(refundFlow(book, refund));

/** The rail reported something: wakes a flow that runs, or starts one that follows up on a refund that ended. */
export const wakeRefund = (book: Book, refund: Refund): FlowOutboxMessage =>
  toOutbox({ ...refundFlow(book, refund), signal: { name: transferUpdated.name, payload: null } });
