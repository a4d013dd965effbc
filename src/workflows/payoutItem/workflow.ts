// The flow of one payout item. Its money stands in the payout's reserve since the request was accepted.
//
//   1. Drive the bank transfer to its end. The first send takes the money out of the reserve, into transit, after the name
//      enquiry.   Undo of both: amount and fee go back to the wallet when it cannot be sent, failed or came back.
//   2. Without a payout flow that waits for it (the bank returned an item that had ended), roll the payout up again.
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
    const status = await driveBankTransfer(input, STEPS, { recordOperatorAction });
    let news = false; // that comes during the roll-up: the bank may bounce what it paid a moment ago
    setHandler(transferUpdated, () => {
      news = true;
    });
    if (workflowInfo().parent === undefined) {
      const attention = createAttention({ ...input, subject: input.transferId }, { recordOperatorAction });
      await attention.postOrPark(() => rollUpPayout(input));
    }
    if (!news) return { status: status === 'completed' ? 'completed' : 'failed' };
  }
}
