// The withdrawal flow's messages.

import { type BankTransferInput, railReported } from '../bankTransfer/messages.ts';
import type { FlowMessage } from '../flows.ts';

export interface WithdrawalInput extends BankTransferInput {
  walletId: string;
}

export interface WithdrawalResult {
  status: string;
}

/** Starts the flow of a withdrawal; with news it also wakes one that runs, or follows up on one that ended. */
export function withdrawalFlow(input: WithdrawalInput, news?: 'news'): FlowMessage {
  return {
    workflow: 'withdrawal',
    id: input.transferId,
    summary: `Withdrawal of ${input.amount} kobo from ${input.walletId}`,
    state: 'processing',
    input,
    ...(news && { signal: { name: railReported.name, payload: null } }),
  };
}
