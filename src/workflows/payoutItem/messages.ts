// The messages of the flow of one payout item.
import type { BankTransferInput, TransferActivity, TransferDecisionActivity } from '../bankTransfer/messages.ts';

export interface PayoutItemInput extends BankTransferInput {
  payoutId: string;
  /** The source wallet. */
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
  /** Also for an item whose money is still in the reserve: then the posting takes it from there. */
  applyPayoutItemDecision: TransferDecisionActivity<PayoutItemInput>;
}
