// The proof of days, started daily by its Schedule, after midnight in Lagos and after the reconciliation.
//
//   1. Close the accounting days that have ended.                         Compensation: none, a day over stays over.
//   2. Prove what the books say of them, for each bank with its statement and without a break. Days with breaks wait
//      for two operators.                                                 Compensation: none, a proof never changes.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DaysProved, MaintenanceActivities } from '../maintenance/messages.ts';
import { LONG } from '../options.ts';

const { closeAccountingDays, proveDays } = proxyActivities<MaintenanceActivities>(LONG);

export async function dayProof(): Promise<DaysProved> {
  await closeAccountingDays();
  const result = await proveDays();
  const { proved, withBreaks, withoutStatement } = result;
  setCurrentDetails(
    `Proved **${proved} days**. ${withBreaks} have breaks and wait for two operators, ${withoutStatement} have no ` +
      'statement. Show them with `npm run cli -- ledger days`.',
  );
  return result;
}
