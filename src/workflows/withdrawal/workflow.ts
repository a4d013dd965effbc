// The flow of one withdrawal. The money was moved from the wallet to transit when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Compensation of the hold: if the transfer fails or is returned, amount and
//      fee go back.
import { proxyActivities } from '@temporalio/workflow';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import type { WithdrawalActivities, WithdrawalInput, WithdrawalResult } from './messages.ts';

const { sendWithdrawal, checkWithdrawal, markWithdrawalUnsent, applyWithdrawalDecision } =
  proxyActivities<WithdrawalActivities>(RAIL_ACTIVITY);

export async function withdrawal(input: WithdrawalInput): Promise<WithdrawalResult> {
  const status = await driveBankTransfer(input, {
    send: sendWithdrawal,
    check: checkWithdrawal,
    mark_unsent: markWithdrawalUnsent,
    decide: applyWithdrawalDecision,
  });
  return { status };
}
