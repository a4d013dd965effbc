// Housekeeping, started hourly by its Schedule.
//
//   1. Delete idempotency keys, webhook attempts and request logs whose retention period is over.
//      Compensation: none is possible.
//   2. Close the accounting days that are over.   Compensation: none is needed.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { HousekeepingActivities, Housekept } from './messages.ts';

const { closeAccountingDays, deleteExpiredRows } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export async function housekeeping(): Promise<Housekept> {
  const deleted = await deleteExpiredRows();
  const closedDays = await closeAccountingDays();
  setCurrentDetails(
    `Deleted ${deleted.idempotencyKeys} idempotency keys, ${deleted.webhookAttempts} webhook attempts and ` +
      `${deleted.requestLogs} request logs. Closed ${closedDays} accounting days.`,
  );
  return { ...deleted, closedDays };
}
