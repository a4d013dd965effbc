// The task queues of a worker: for each, the role that polls it, its activities and its limits. A worker can run the
// workflows of every queue; which queue a flow is on is decided where it is started (src/workflows/flows.ts).
import type { Client } from '@temporalio/client';
import { createAdjustmentActivities } from '../activities/adjustments.ts';
import { createAttentionActivities } from '../activities/attention.ts';
import { createCreditPollingActivities } from '../activities/creditPolling.ts';
import { createFailingFlowsActivities } from '../activities/failingFlows.ts';
import { createInboundCreditActivities } from '../activities/inboundCredits.ts';
import { createLedgerSealingActivities } from '../activities/ledgerSealing.ts';
import { createLedgerVerificationActivities } from '../activities/ledgerVerification.ts';
import { createPaymentActivities } from '../activities/payments.ts';
import { createPayoutActivities } from '../activities/payouts.ts';
import { createRailResumeActivities } from '../activities/railResume.ts';
import { createRecallActivities } from '../activities/recalls.ts';
import { createReconciliationActivities } from '../activities/reconciliation.ts';
import { createRefundActivities } from '../activities/refunds.ts';
import { createRetentionActivities } from '../activities/retention.ts';
import { createReviewCaseActivities } from '../activities/reviewCases.ts';
import { createSweepActivities } from '../activities/sweep.ts';
import { createWebhookActivities } from '../activities/webhooks.ts';
import { createWithdrawalActivities } from '../activities/withdrawals.ts';
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
  /** It has no workflows, only activities: at most so many a second of all workers together; null: no limit. */
  activitiesPerSecond?: (settings: Config['worker']) => number | null;
}

/** The activities of the flows that call a rail. */
const callingRails = (runtime: WorkerRuntime) => ({
  ...createPaymentActivities(runtime),
  ...createInboundCreditActivities(runtime),
  ...createRecallActivities(runtime),
  ...createWithdrawalActivities(runtime),
  ...createRefundActivities(runtime),
  ...createReviewCaseActivities(runtime),
  ...createPayoutActivities(runtime),
});

export const QUEUES: readonly Queue[] = [
  {
    role: 'flows',
    queue: undefined,
    activities: (runtime, client) => ({
      ...createAttentionActivities(runtime),
      ...createRailResumeActivities({ ...runtime, client }),
      ...createPaymentActivities(runtime),
      ...createReviewCaseActivities(runtime),
      ...createAdjustmentActivities(runtime),
      ...createWebhookActivities({ ...runtime, keyring: runtime.config.keyring }),
    }),
    limits: ({ flows }) => flows,
  },
  {
    // The server hands them out by priority and in turns of the organisations, no faster than the rate (decision 17).
    role: 'flows',
    queue: 'rail',
    activities: callingRails,
    limits: ({ flows }) => flows,
    activitiesPerSecond: ({ railActivitiesPerSecond }) => railActivitiesPerSecond,
  },
  {
    // A payout has up to a thousand items: with a queue and a share of a worker of their own they delay only other
    // payout items.
    role: 'payouts',
    queue: 'payouts',
    activities: (runtime) => ({ ...createAttentionActivities(runtime), ...createPayoutActivities(runtime) }),
    limits: ({ payouts }) => payouts,
  },
  {
    // Maintenance runs for minutes to hours, mostly in the database: a process of its own keeps it off the money path.
    role: 'maintenance',
    queue: 'maintenance',
    activities: (runtime, client) => {
      const maintenance = { ...runtime, sql: runtime.maintenanceSql };
      return {
        ...createSweepActivities({ ...runtime, client }),
        ...createFailingFlowsActivities({ ...runtime, client }),
        ...createLedgerSealingActivities(maintenance),
        ...createLedgerVerificationActivities(maintenance),
        ...createRetentionActivities(maintenance),
        ...createReconciliationActivities(maintenance),
        ...createCreditPollingActivities(maintenance),
      };
    },
    // More than there are Schedules, each of which runs once at a time.
    limits: () => ({ tasksMax: 10, activitiesMax: 20, cachedMax: 50 }),
  },
];
