// The messages of the flow of one payout item.
import { type BankTransferInput, railReported } from '../bankTransfer/messages.ts';
import type { FlowMessage } from '../flows.ts';

export interface PayoutItemInput extends BankTransferInput {
  payoutId: string;
  /** The wallet that the money came from. */
  walletId: string;
}

export interface PayoutItemResult {
  status: 'completed' | 'failed';
}

export function payoutItemSummary(input: PayoutItemInput): string {
  return `Payout item of ${input.amount} kobo from ${input.walletId}`;
}

/** Wakes the flow of an item because the rail has news of it, or follows up on one that ended. Its payout starts it. */
export function payoutItemFlow(input: PayoutItemInput): FlowMessage {
  return {
    workflow: 'payoutItem',
    id: input.transferId,
    summary: payoutItemSummary(input),
    state: 'processing',
    queue: 'payouts',
    input,
    signal: { name: railReported.name, payload: null },
  };
}
