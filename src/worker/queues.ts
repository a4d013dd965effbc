// The task queues of a worker: for each, the role that polls it, its activities and its limits. A worker can run the
// workflows of every queue; which queue a flow is on is decided where it is started (src/workflows/flows.ts).
import type { Client } from '@temporalio/client';
import { createCreditPollingActivities } from '../activities/creditPolling.ts';
import { createLedgerActivities } from '../activities/ledger.ts';
import { createMoneyActivities } from '../activities/moneyActivities.ts';
import { createReconciliationActivities } from '../activities/reconciliation.ts';
import { createRecoveryActivities } from '../activities/recovery.ts';
import { createRetentionActivities } from '../activities/retention.ts';
import type { Config, WorkerRole } from '../config.ts';
import type { ServiceRuntime } from '../runtime.ts';
import type { TaskQueue } from '../workflows/flows.ts';
import type { QueueLimits } from './capacity.ts';

export type WorkerRuntime = Omit<ServiceRuntime, 'close'>;

interface Queue {
  /** A process with this role polls it. */
  role: WorkerRole;
  /** Undefined: the common queue. */
  queue: TaskQueue | undefined;
  activities: (runtime: WorkerRuntime, client: Client) => object;
  limits: (settings: Config['worker']) => QueueLimits;
}

const flowActivities = (runtime: WorkerRuntime, client: Client) => ({
  ...createMoneyActivities(runtime),
  ...createRecoveryActivities({ ...runtime, client }),
});

function maintenanceActivities(runtime: WorkerRuntime, client: Client) {
  const maintenance = { ...runtime, sql: runtime.maintenanceSql };
  return {
    ...createRecoveryActivities({ ...runtime, client }),
    ...createLedgerActivities(maintenance),
    ...createRetentionActivities(maintenance),
    ...createReconciliationActivities({ ...maintenance, keyring: runtime.config.keyring }),
    ...createCreditPollingActivities(maintenance),
  };
}

export const QUEUES: readonly Queue[] = [
  { role: 'flows', queue: undefined, activities: flowActivities, limits: ({ flows }) => flows },
  // Of activities only. The server hands them out by priority and in turns of the organisations, no faster than the
  // rate (docs/decisions/0017-limits-of-a-rail.md).
  { role: 'flows', queue: 'rail', activities: flowActivities, limits: ({ flows }) => flows },
  // A payout has up to a thousand items: with a queue and a share of a worker of their own they delay only other payout
  // items.
  { role: 'payouts', queue: 'payouts', activities: flowActivities, limits: ({ payouts }) => payouts },
  // Maintenance runs for minutes to hours, mostly in the database: a process of its own keeps it off the money path.
  {
    role: 'maintenance',
    queue: 'maintenance',
    activities: maintenanceActivities,
    // More than there are Schedules, each of which runs once at a time.
    limits: () => ({ tasksMax: 10, activitiesMax: 20, cachedMax: 50 }),
  },
];
