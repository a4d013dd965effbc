// Housekeeping, started by its Schedule every hour.
//
//   1. Forget idempotency keys and webhook attempts that nobody needs any more.   Undo: none is possible.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DeletedRows, HousekeepingActivities } from './messages.ts';

const { deleteExpiredRows } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export async function housekeeping(): Promise<DeletedRows> {
  const forgotten = await deleteExpiredRows();
  setCurrentDetails(
    `Forgot ${forgotten.idempotencyKeys} idempotency keys and ${forgotten.webhookAttempts} webhook attempts.`,
  );
  return forgotten;
}
