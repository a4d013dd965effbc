// A client of Temporal can write the input of any activity. So each activity is in this list, with what it takes
// from its input. That those of money take no more than ids is tested with every scenario: their worker cuts the rest
// off (test/support/activities.ts).
import { afterAll, expect, test } from '@jest/globals';
import { QUEUES } from '../../src/worker/queues.ts';
import { startTestApi } from '../support/api.ts';

const api = await startTestApi();

afterAll(() => api.close());

const TAKEN: Record<string, string> = {
  sendBankTransfer: 'the id of the transfer; how often it was sent is in transfer_sends, whatever the flow asks for',
  checkBankTransfer: 'the id of the transfer',
  markBankTransferUnsent: 'the id of the transfer; how often and when it was sent is in transfer_sends',
  applyBankTransferDecision: 'the id of the transfer, and a code that the database checks',
  applyCredit: 'the ids of payment and credit, and a code; the credit must belong to the payment',
  applyDeposit: 'the id of the credit, and a code; the bank confirms it',
  applyRecall: 'the id of the credit, and a code; the bank confirms it',
  listUnappliedCredits: 'the id of the payment; moves nothing',
  expirePayment: 'the id of the payment, which must be due by its row',
  closePaymentAccount: 'the id of the payment; closes the account number of one that has ended',
  rollUpPayout: 'the id of the payout',
  readReviewCase: 'the id of the case; moves nothing',
  applyCaseDecision:
    'the id of the case, the decision, and the code for it; without one, the payment of the case says so',
  readAdjustment: 'the id of the adjustment; moves nothing',
  applyAdjustmentDecision: 'the id of the adjustment, the decision, and the code for it',
  releaseDueHold: 'the id of the hold, which must be due by its row',
  applyHoldDecision: 'the id of the hold, the decision, and the code for it',
  recordDecision: 'the decision, and the code for it; moves nothing',
  signalPausedFlows: 'the organisation: flows query their rail, which may still be paused',
  restartMissingFlows: 'nothing',
  scanForFailingFlows: 'nothing',
  closeAccountingDays: 'nothing',
  deleteExpiredRows: 'nothing',
  sealLedger: 'nothing',
  verifyLedger: 'nothing',
  pollCredits: 'a period to ask the bank about; only what the bank lists is received',
  proveDays: 'nothing',
  reconcileBooks: 'a period to compare; what differs opens a review case, which holds no money',
};

test('every activity of the workers is in the list, with what it takes from its input', () => {
  const runtime = { ...api.dependencies, maintenanceSql: api.sql } as never;
  const names = QUEUES.flatMap(({ activities }) => Object.keys(activities(runtime, {} as never)));
  expect(Object.keys(TAKEN).sort()).toEqual([...new Set(names)].sort());
});
