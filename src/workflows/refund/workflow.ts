// The flow of one refund to a bank. The money was moved from the wallet to transit when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Compensation of the hold: if the transfer fails or is returned, the money
//      goes back.
import { proxyActivities } from '@temporalio/workflow';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import type { RefundActivities, RefundInput, RefundResult } from './messages.ts';

const { sendRefund, checkRefund, markRefundUnsent, applyRefundDecision } =
  proxyActivities<RefundActivities>(RAIL_ACTIVITY);

export async function refund(input: RefundInput): Promise<RefundResult> {
  const status = await driveBankTransfer(input, {
    send: sendRefund,
    check: checkRefund,
    mark_unsent: markRefundUnsent,
    decide: applyRefundDecision,
  });
  return { status: status === 'completed' ? 'completed' : 'failed' };
}
