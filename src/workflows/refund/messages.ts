// The messages of the flow of a refund to a bank. A refund to a wallet is done at once and needs no flow.
import { type BankTransferInput, railReported } from '../bankTransfer/messages.ts';
import type { FlowMessage } from '../flows.ts';

export interface RefundInput extends BankTransferInput {
  paymentId: string;
}

export interface RefundResult {
  status: string;
}

/** Starts the flow of a refund; with news it also wakes one that runs, or follows up on one that ended. */
export function refundFlow(input: RefundInput, news?: 'news'): FlowMessage {
  return {
    workflow: 'refund',
    id: input.transferId,
    summary: `Refund of ${input.amount} kobo of ${input.paymentId}`,
    state: 'processing',
    input,
    ...(news && { signal: { name: railReported.name, payload: null } }),
  };
}
