// The verification of all books, started by its Schedule every day.
//
//   1. Verify on one snapshot.   Undo: none, it only reads. Findings fail this flow with LEDGER_INTEGRITY_VIOLATION, so that they stand
//      red in the Temporal UI; an outage does not.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { LedgerVerificationActivities, VerificationResult } from './messages.ts';

const { verifyLedger } = proxyActivities<LedgerVerificationActivities>({
  startToCloseTimeout: '12 hours',
  heartbeatTimeout: '2 minutes',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

export async function ledgerVerification(): Promise<VerificationResult> {
  setCurrentDetails('The books are being verified; the pending activity shows how far.');
  const verified = await verifyLedger();
  setCurrentDetails(`**The books are whole**: ${verified.books} books, ${verified.postings} postings, no finding.`);
  return verified;
}
