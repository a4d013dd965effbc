// Housekeeping, started by its Schedule every hour.
//
//   1. Forget idempotency keys and webhook attempts that nobody needs any more.   Undo: none is possible.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Forgotten, HousekeepingActivities } from './messages.ts';

const { forgetOldRows } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '5 minutes' },
});

export async function housekeeping(): Promise<Forgotten> {
  const forgotten = await forgetOldRows();
  setCurrentDetails(
    `Forgot ${forgotten.idempotencyKeys} idempotency keys and ${forgotten.webhookAttempts} webhook attempts.`,
  );
  return forgotten;
}
