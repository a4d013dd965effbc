// A summary of each activity in the Temporal UI and in histories: what it does, in a line. An interceptor sets it, so a
// workflow calls its activities by name only. Summaries are not part of what a replay compares.
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

const SEND = 'queries the rail, sends the transfer if the rail does not have it, and posts the result';
const CHECK = 'queries the rail and posts the result of the transfer';
const MARK_UNSENT = 'records that the rail never received the transfer, so that it can be sent again';
const DECIDE = "posts the operators' decision on the transfer";

/** By activity; `test/workflows/commandCoverage.test.ts` compares them with what the workflows call. */
export const SUMMARIES: Readonly<Record<string, string>> = {
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
  pollCredits: 'queries the rails for credits that no callback has reported',
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
  const summary = SUMMARIES[input.activityType];
  return summary === undefined ? input : { ...input, options: { ...input.options, summary } };
}
