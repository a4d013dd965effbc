// Reconciliation, started daily by its Schedule and by `reconciliation run`.
//
//   1. Compare every book with its rail's statement, store a report, and open a review case for each new break.
//      Compensation: none, it repairs nothing.
//      If there are breaks, the flow sets Attention to `reconciliation_breaks`, and completes.
import { proxyActivities, setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { ATTENTION } from '../searchAttributes.ts';
import type { Reconciled, ReconciliationActivities, ReconciliationInput } from './messages.ts';

const { reconcileBooks } = proxyActivities<ReconciliationActivities>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '5 minutes',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

const HOUR_MS = 3_600_000;
/** A daily run covers 25 hours: runs overlap by an hour, so that no line falls between two of them. */
const PERIOD_MS = 25 * HOUR_MS;
/** The last hour is left out: only one side may have recorded it yet. */
const SETTLED_AFTER_MS = HOUR_MS;

export async function reconciliation(input?: ReconciliationInput): Promise<Reconciled> {
  const period = input ?? lastDay(workflowInfo().startTime.getTime());
  const reconciled = await reconcileBooks(period);
  const { books, lines, breaks, opened } = reconciled;
  if (breaks > 0) upsertSearchAttributes([{ key: ATTENTION, value: 'reconciliation_breaks' }]);
  setCurrentDetails(
    `**${breaks} breaks** in ${books} books and ${lines} statement lines, ${period.from} to ${period.to}; ` +
      `${opened} of them are new, each with a review case. Show them with \`npm run cli -- reconciliation show\`.`,
  );
  return reconciled;
}

function lastDay(now: number): ReconciliationInput {
  const to = now - SETTLED_AFTER_MS;
  return { from: new Date(to - PERIOD_MS).toISOString(), to: new Date(to).toISOString() };
}
