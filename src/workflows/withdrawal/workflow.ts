// The flow of one withdrawal. The money was moved out of the wallet, into transit, when the request was accepted.
//
//   1. Drive the bank transfer to its end.   Undo of the hold: amount and fee go back when it failed or came back.
import { proxyActivities } from '@temporalio/workflow';
import type { AttentionActivities } from '../attention/park.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import type { WithdrawalActivities, WithdrawalInput, WithdrawalResult } from './messages.ts';

const { sendWithdrawal, checkWithdrawal, markWithdrawalUnsent, applyWithdrawalDecision, recordOperatorAction } =
  proxyActivities<WithdrawalActivities & AttentionActivities>(MONEY_ACTIVITY);

export async function withdrawal(input: WithdrawalInput): Promise<WithdrawalResult> {
  const status = await driveBankTransfer(
    input,
    {
      send: sendWithdrawal,
      check: checkWithdrawal,
      mark_unsent: markWithdrawalUnsent,
      decide: applyWithdrawalDecision,
    },
    { recordOperatorAction },
  );
  return { status };
}
