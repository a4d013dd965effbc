// The messages of the flow of a refund to a bank. A refund to a wallet is posted by the request and needs no flow.
import type { BankTransferInput, TransferActivity, TransferDecisionActivity } from '../bankTransfer/messages.ts';

export interface RefundInput extends BankTransferInput {
  paymentId: string;
}

export interface RefundResult {
  status: string;
}

export interface RefundActivities {
  sendRefund: TransferActivity<RefundInput>;
  checkRefund: TransferActivity<RefundInput>;
  markRefundUnsent: TransferActivity<RefundInput>;
  applyRefundDecision: TransferDecisionActivity<RefundInput>;
}
