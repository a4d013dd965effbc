// The messages of the flow of a withdrawal.
import type { BankTransferInput, TransferActivity, TransferDecisionActivity } from '../bankTransfer/messages.ts';

export interface WithdrawalInput extends BankTransferInput {
  walletId: string;
}

export interface WithdrawalResult {
  status: string;
}

export interface WithdrawalActivities {
  sendWithdrawal: TransferActivity<WithdrawalInput>;
  checkWithdrawal: TransferActivity<WithdrawalInput>;
  markWithdrawalUnsent: TransferActivity<WithdrawalInput>;
  applyWithdrawalDecision: TransferDecisionActivity<WithdrawalInput>;
}
