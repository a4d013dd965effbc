// Sealing of the ledger, started every few minutes by its Schedule.
//
//   1. Seal the new postings of every book, and publish the seals.   Compensation: none; a retry publishes again.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { LedgerSealingActivities, SealingResult } from './messages.ts';

const { sealLedger } = proxyActivities<LedgerSealingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '2 minutes',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export async function ledgerSealing(): Promise<SealingResult> {
  const sealed = await sealLedger();
  setCurrentDetails(`Made ${sealed.seals} seals, and published ${sealed.published}.`);
  return sealed;
}
