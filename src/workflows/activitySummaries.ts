// A summary of each activity in the Temporal UI and in histories: what it does, in a line. An interceptor sets it, so a
// workflow calls its activities by name only. Summaries are not part of what a replay compares.
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { AdjustmentActivities } from './adjustment/messages.ts';
import type { AttentionActivities } from './attention/park.ts';
import type { InboundCreditActivities } from './inboundCredit/messages.ts';
import type {
  CreditPollingActivities,
  FailingFlowsActivities,
  LedgerSealingActivities,
  LedgerVerificationActivities,
  RetentionActivities,
  SweepActivities,
} from './maintenance/messages.ts';
import type { PaymentActivities } from './payment/messages.ts';
import type { PayoutActivities } from './payout/messages.ts';
import type { PayoutItemActivities } from './payoutItem/messages.ts';
import type { RailResumeActivities } from './railResume/messages.ts';
import type { RecallActivities } from './recall/messages.ts';
import type { ReconciliationActivities } from './reconciliation/messages.ts';
import type { RefundActivities } from './refund/messages.ts';
import type { ReviewCaseActivities } from './reviewCase/messages.ts';
import type { WebhookActivities } from './webhookDelivery/messages.ts';
import type { WithdrawalActivities } from './withdrawal/messages.ts';

type ActivityName =
  | keyof AdjustmentActivities
  | keyof AttentionActivities
  | keyof CreditPollingActivities
  | keyof FailingFlowsActivities
  | keyof RetentionActivities
  | keyof InboundCreditActivities
  | keyof LedgerSealingActivities
  | keyof LedgerVerificationActivities
  | keyof PaymentActivities
  | keyof PayoutActivities
  | keyof PayoutItemActivities
  | keyof RailResumeActivities
  | keyof RecallActivities
  | keyof ReconciliationActivities
  | keyof RefundActivities
  | keyof ReviewCaseActivities
  | keyof SweepActivities
  | keyof WebhookActivities
  | keyof WithdrawalActivities;

const SEND = 'queries the rail, sends the transfer if the rail does not have it, and posts the result';
const CHECK = 'queries the rail and posts the result of the transfer';
const MARK_UNSENT = 'records that the rail never received the transfer, so that it can be sent again';
const DECIDE = "posts the operators' decision on the transfer";

const SUMMARIES: Record<ActivityName, string> = {
  applyAdjustmentDecision: 'posts or rejects the adjustment',
  applyCaseDecision: "posts the operators' decision on the review case",
  applyCredit: 'confirms the credit with the rail and posts it to the payment',
  applyDeposit: 'confirms the credit with the rail, and posts it to the wallet or to suspense',
  applyPayoutItemDecision: DECIDE,
  applyRecall: 'confirms the recall with the rail and takes the credit back',
  applyRefundDecision: DECIDE,
  applyReturnDecision: DECIDE,
  applyWithdrawalDecision: DECIDE,
  checkPayoutItem: CHECK,
  checkRefund: CHECK,
  checkReturn: CHECK,
  checkWithdrawal: CHECK,
  closeAccountingDays: 'stores the closing balances of the days that have ended',
  closePaymentAccount: "closes the payment's account at the rail",
  deleteExpiredRows: 'deletes rows that are older than they are kept',
  deliverWebhook: 'sends the event to the endpoint',
  expirePayment: 'expires the payment, and opens a review case for what it received',
  identifyOperator: 'finds out whose code this is, and what the operator may do',
  listUnappliedCredits: 'lists the credits of the payment that are not applied yet',
  markPayoutItemUnsent: MARK_UNSENT,
  markRefundUnsent: MARK_UNSENT,
  markReturnUnsent: MARK_UNSENT,
  markWithdrawalUnsent: MARK_UNSENT,
  pollCredits: 'asks the rails for credits that no callback has reported',
  readAdjustment: 'reads the adjustment',
  readReviewCase: 'reads the review case',
  reconcileBooks: "compares the statements of the rails with the ledger's books",
  recordOperatorAction: "records the operator's action in the audit trail",
  restartMissingFlows: 'starts the flows of open resources that have none',
  rollUpPayout: 'lists the items that have not ended, and ends the payout when there are none',
  scanForFailingFlows: 'lists the flows with a task that keeps failing',
  sealLedger: 'seals the postings since the last seal, and publishes the seals',
  sendPayoutItem: SEND,
  sendRefund: SEND,
  sendReturn: SEND,
  sendWithdrawal: SEND,
  setAsideCredit: 'confirms the credit with the rail, or opens a review case for it',
  setAsideDeposit: 'confirms the credit with the rail, or opens a review case for it',
  setAsideRecall: 'confirms the recall with the rail, or opens a review case for it',
  signalPausedFlows: 'signals the flows that wait for the rail',
  verifyLedger: 'verifies the ledger, its seals and the resources',
};

export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      scheduleActivity: (input, next) => next(summarised(input)),
      scheduleLocalActivity: (input, next) => next(summarised(input)),
    },
  ],
});

function summarised<Input extends { activityType: string; options: { summary?: string } }>(input: Input): Input {
  const summary = (SUMMARIES as Partial<Record<string, string>>)[input.activityType];
  return summary === undefined ? input : { ...input, options: { ...input.options, summary } };
}
