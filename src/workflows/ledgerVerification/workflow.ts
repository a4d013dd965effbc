// The verification of the ledger, started daily by its Schedule.
//
//   1. Verify page by page.   Compensation: none, it only reads. Findings fail this flow with
//      LEDGER_INTEGRITY_VIOLATION, so that the Temporal UI shows it as failed; an outage does not fail it.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { LedgerVerificationActivities, VerificationResult } from './messages.ts';

const { verifyLedger } = proxyActivities<LedgerVerificationActivities>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout: '2 minutes',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

export async function ledgerVerification(): Promise<VerificationResult> {
  setCurrentDetails('Verifying the ledger; the pending activity shows the progress.');
  const verified = await verifyLedger();
  setCurrentDetails(`**The ledger is ok**: ${verified.books} books, ${verified.postings} postings, no findings.`);
  return verified;
}
