// The flow of one payout item. Its money is in the payout's reserve from the moment when the request was accepted.
//
// It drives the bank transfer to its end. The first send makes the name enquiry and moves the money from the reserve to
// transit.   Compensation of both moves: amount and fee go back if the item cannot be sent, fails or is returned.
// The step that ends the item also rolls up its payout, so the flow of the payout need not be running by then.
import { proxyActivities } from '@temporalio/workflow';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import type { PayoutItemActivities, PayoutItemInput, PayoutItemResult } from './messages.ts';

const { sendPayoutItem, checkPayoutItem, markPayoutItemUnsent, applyPayoutItemDecision } =
  proxyActivities<PayoutItemActivities>(RAIL_ACTIVITY);

const STEPS = {
  send: sendPayoutItem,
  check: checkPayoutItem,
  mark_unsent: markPayoutItemUnsent,
  decide: applyPayoutItemDecision,
};

export async function payoutItem(input: PayoutItemInput): Promise<PayoutItemResult> {
  const status = await driveBankTransfer(input, STEPS);
  return { status: status === 'completed' ? 'completed' : 'failed' };
}
