// A summary of each activity in the Temporal UI and in histories: what it does, in a line. An interceptor sets it, so a
// workflow calls its activities by name only. Summaries are not part of what a replay compares.
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** By activity; `test/workflows/commandCoverage.test.ts` compares them with what the workflows call. */
export const SUMMARIES: Readonly<Record<string, string>> = {
  applyAdjustmentDecision: 'posts or rejects the adjustment',
  applyBankTransferDecision: "posts the operators' decision on the transfer",
  applyCaseDecision: "posts the operators' decision on the review case",
  applyCredit: 'confirms the credit with the rail and posts it to the payment',
  applyDeposit: 'confirms the credit with the rail, and posts it to the wallet or to suspense',
  applyHoldDecision: "posts the operator's decision on the hold",
  applyRecall: 'confirms the recall with the rail and takes the credit back',
  checkBankTransfer: 'queries the rail and posts the result of the transfer',
  closeAccountingDays: 'stores the closing balances of the days that have ended',
  closePaymentAccount: "closes the payment's account at the rail",
  deleteExpiredRows: 'deletes rows that are older than they are kept',
  expirePayment: 'expires the payment, and opens a review case for what it received',
  listUnappliedCredits: 'lists the credits of the payment that are not applied yet',
  markBankTransferUnsent: 'posts that the rail never received the transfer, and puts the money back',
  pollCredits: 'queries the rails for credits that no callback has reported',
  proveDays: 'proves the days that have a statement and no break',
  readAdjustment: 'reads the adjustment',
  readReviewCase: 'reads the review case',
  reconcileBooks: "compares the statements of the rails with the ledger's books",
  recordDecision: "checks the operator's code and records the decision",
  releaseDueHold: 'reads the hold, and releases it if it is due',
  restartMissingFlows: 'starts the flows of open resources that have none',
  rollUpPayout: 'lists the items that have not ended, and ends the payout when there are none',
  scanForFailingFlows: 'lists the flows with a task that keeps failing',
  sealLedger: 'seals the postings since the last seal, and publishes the seals',
  sendBankTransfer: 'queries the rail, sends the transfer if the rail does not have it, and posts the result',
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
