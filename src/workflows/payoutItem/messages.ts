// The messages of the flow of one payout item.
import type { BankTransferInput, TransferActivity, TransferDecisionActivity } from '../bankTransfer/messages.ts';

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

export interface PayoutItemActivities {
  sendPayoutItem: TransferActivity<PayoutItemInput>;
  checkPayoutItem: TransferActivity<PayoutItemInput>;
  markPayoutItemUnsent: TransferActivity<PayoutItemInput>;
  /** An item may be decided that never left the reserve: then that is where its money comes from. */
  applyPayoutItemDecision: TransferDecisionActivity<PayoutItemInput>;
}
