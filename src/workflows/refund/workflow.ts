// The flow of one refund to a bank. The money was moved out of the wallet, into transit, when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Undo of the hold: the money goes back when it failed or came back.
import { proxyActivities } from '@temporalio/workflow';
import type { AttentionActivities } from '../attention/park.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import type { RefundActivities, RefundInput, RefundResult } from './messages.ts';

const { sendRefund, checkRefund, markRefundUnsent, applyRefundDecision, recordOperatorAction } = proxyActivities<
  RefundActivities & AttentionActivities
>(MONEY_ACTIVITY);

export async function refund(input: RefundInput): Promise<RefundResult> {
  const status = await driveBankTransfer(
    input,
    { send: sendRefund, check: checkRefund, mark_unsent: markRefundUnsent, decide: applyRefundDecision },
    { recordOperatorAction },
  );
  return { status: status === 'completed' ? 'completed' : 'failed' };
}
