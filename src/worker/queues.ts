// The task queues of a worker: for each, the role that polls it, its activities and its limits. A worker can run the
// workflows of every queue; which queue a flow is on is decided where it is started (src/workflows/flows.ts).
import type { Client } from '@temporalio/client';
import { createAdjustmentActivities } from '../activities/adjustments.ts';
import { createAttentionActivities } from '../activities/attention.ts';
import { createCreditPollingActivities } from '../activities/creditPolling.ts';
import { createFailingFlowsActivities } from '../activities/failingFlows.ts';
import { createHousekeepingActivities } from '../activities/housekeeping.ts';
import { createInboundCreditActivities } from '../activities/inboundCredits.ts';
import { createLedgerSealingActivities } from '../activities/ledgerSealing.ts';
import { createLedgerVerificationActivities } from '../activities/ledgerVerification.ts';
import { createPaymentActivities } from '../activities/payments.ts';
import { createPayoutActivities } from '../activities/payouts.ts';
import { createRailResumeActivities } from '../activities/railResume.ts';
import { createRecallActivities } from '../activities/recalls.ts';
import { createReconciliationActivities } from '../activities/reconciliation.ts';
import { createRefundActivities } from '../activities/refunds.ts';
import { createReviewCaseActivities } from '../activities/reviewCases.ts';
import { createSweepActivities } from '../activities/sweep.ts';
import { createWebhookActivities } from '../activities/webhooks.ts';
import { createWithdrawalActivities } from '../activities/withdrawals.ts';
import type { Config, WorkerRole } from '../config.ts';
import type { ServiceRuntime } from '../runtime.ts';
import type { FlowQueue } from '../workflows/flows.ts';
import type { QueueLimits } from './capacity.ts';

export type WorkerRuntime = Omit<ServiceRuntime, 'close'>;

interface Queue {
  /** A process with this role polls it. */
  role: WorkerRole;
  /** Undefined: the common queue. */
  queue: FlowQueue | undefined;
  activities: (runtime: WorkerRuntime, client: Client) => object;
  limits: (settings: Config['worker']) => QueueLimits;
}

export const QUEUES: readonly Queue[] = [
  {
    role: 'flows',
    queue: undefined,
    activities: (runtime, client) => ({
      ...createAttentionActivities(runtime),
      ...createRailResumeActivities({ ...runtime, client }),
      ...createPaymentActivities(runtime),
      ...createInboundCreditActivities(runtime),
      ...createRecallActivities(runtime),
      ...createWithdrawalActivities(runtime),
      ...createRefundActivities(runtime),
      ...createReviewCaseActivities(runtime),
      ...createAdjustmentActivities(runtime),
      ...createWebhookActivities({ ...runtime, keyring: runtime.config.keyring }),
    }),
    limits: ({ flows }) => flows,
  },
  {
    // A payout has up to a thousand items: with a queue and a share of a worker of their own they delay only other
    // payout items. Their limit of activities also limits the concurrent calls to a rail.
    role: 'payouts',
    queue: 'payouts',
    activities: (runtime) => ({ ...createAttentionActivities(runtime), ...createPayoutActivities(runtime) }),
    limits: ({ payouts }) => payouts,
  },
  {
    // Maintenance runs for minutes to hours, mostly in the database: a process of its own keeps it off the money path.
    role: 'upkeep',
    queue: 'upkeep',
    activities: (runtime, client) => {
      const maintenance = { ...runtime, sql: runtime.maintenanceSql };
      return {
        ...createSweepActivities({ ...runtime, client }),
        ...createFailingFlowsActivities({ ...runtime, client }),
        ...createLedgerSealingActivities(maintenance),
        ...createLedgerVerificationActivities(maintenance),
        ...createHousekeepingActivities(maintenance),
        ...createReconciliationActivities(maintenance),
        ...createCreditPollingActivities(maintenance),
      };
    },
    // More than there are Schedules, each of which runs once at a time.
    limits: () => ({ tasksMax: 10, activitiesMax: 20, cachedMax: 50 }),
  },
];
