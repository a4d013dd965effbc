// The messages of the flow of one payout item.
import { nairaText } from '../../money.ts';
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
  return `Payout item of ${nairaText(input.amount)} from ${input.walletId}`;
}

/** Each step that ends the item, or finds it ended, rolls up its payout. */
export interface PayoutItemActivities {
  sendPayoutItem: TransferActivity<PayoutItemInput>;
  checkPayoutItem: TransferActivity<PayoutItemInput>;
  markPayoutItemUnsent: TransferActivity<PayoutItemInput>;
  /** Also for an item whose money is still in the reserve: then the posting takes it from there. */
  applyPayoutItemDecision: TransferDecisionActivity<PayoutItemInput>;
}
