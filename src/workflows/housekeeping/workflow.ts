// Housekeeping, started hourly by its Schedule.
//
//   1. Delete idempotency keys and webhook attempts whose retention period is over.   Compensation: none is possible.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DeletedRows, HousekeepingActivities } from './messages.ts';

const { deleteExpiredRows } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export async function housekeeping(): Promise<DeletedRows> {
  const deleted = await deleteExpiredRows();
  setCurrentDetails(
    `Deleted ${deleted.idempotencyKeys} idempotency keys and ${deleted.webhookAttempts} webhook attempts.`,
  );
  return deleted;
}
