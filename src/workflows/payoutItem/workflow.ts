// The flow of one payout item. Its money is in the payout's reserve from the moment when the request was accepted.
//
//   1. Drive the bank transfer to its end. The first send makes the name enquiry and moves the money from the reserve
//      to transit.   Compensation of both moves: amount and fee go back if the item cannot be sent, fails or is
//      returned.
//   2. If no payout flow waits for it (the bank returned an item that had ended), roll the payout up again.
import { proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { transferUpdated } from '../bankTransfer/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import type { PayoutActivities } from '../payout/messages.ts';
import type { PayoutItemActivities, PayoutItemInput, PayoutItemResult } from './messages.ts';

const {
  sendPayoutItem,
  checkPayoutItem,
  markPayoutItemUnsent,
  applyPayoutItemDecision,
  rollUpPayout,
  recordOperatorAction,
  identifyOperator,
} = proxyActivities<PayoutItemActivities & Pick<PayoutActivities, 'rollUpPayout'> & AttentionActivities>(
  MONEY_ACTIVITY,
);

const STEPS = {
  send: sendPayoutItem,
  check: checkPayoutItem,
  mark_unsent: markPayoutItemUnsent,
  decide: applyPayoutItemDecision,
};

export async function payoutItem(input: PayoutItemInput): Promise<PayoutItemResult> {
  for (;;) {
    const status = await driveBankTransfer(input, STEPS, { recordOperatorAction, identifyOperator });
    let updated = false; // during the roll-up: the bank may return what it has just paid
    setHandler(transferUpdated, () => {
      updated = true;
    });
    if (workflowInfo().parent === undefined) {
      const attention = createAttention(
        { ...input, subject: input.transferId },
        { recordOperatorAction, identifyOperator },
      );
      await attention.postOrPark(() => rollUpPayout(input));
    }
    if (!updated) return { status: status === 'completed' ? 'completed' : 'failed' };
  }
}
