// What Temporal starts by the clock. The Schedules are created when a worker starts and brought up to date when they are
// there already; one that a person paused stays paused.
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import type { Config } from '../config.ts';

interface Clockwork {
  /** Workflow type, and the end of the Schedule's id. */
  workflow: string;
  everyMs: number;
  /** Counted from midnight UTC when it runs once a day. */
  offsetMs: number;
  summary: string;
}

const HOUR_MS = 3_600_000;
/** What was missed while Temporal was away is not made up for run by run: each looks at everything. */
const CATCH_UP = '1 minute';

function clockworks({ upkeep }: Pick<Config, 'upkeep'>): Clockwork[] {
  return [
    {
      workflow: 'sweep',
      everyMs: upkeep.sweepEveryMs,
      offsetMs: 0,
      summary: 'Starts the flows of accepted resources that have none',
    },
    {
      workflow: 'housekeeping',
      everyMs: upkeep.housekeepingEveryMs,
      offsetMs: 0,
      summary: 'Forgets old idempotency keys and webhook attempts',
    },
    {
      workflow: 'ledgerVerification',
      everyMs: upkeep.ledgerVerificationEveryMs,
      offsetMs: 2 * HOUR_MS,
      summary: 'Proves that the books are whole',
    },
    {
      workflow: 'reconciliation',
      everyMs: upkeep.reconciliationEveryMs,
      offsetMs: 3 * HOUR_MS,
      summary: 'Compares the rails’ statements with the books',
    },
  ];
}

/** The name of a Schedule: installations that share a namespace have a task queue each. */
export const scheduleId = (taskQueue: string, workflow: string): string => `${taskQueue}-${workflow}`;

/** Makes every Schedule what this version wants it to be. Safe to repeat, and to do from many workers at once. */
export async function keepSchedules(client: Client, config: Pick<Config, 'temporal' | 'upkeep'>): Promise<void> {
  const { taskQueue } = config.temporal;
  for (const { workflow, everyMs, offsetMs, summary } of clockworks(config)) {
    const id = scheduleId(taskQueue, workflow);
    const action: ScheduleOptionsStartWorkflowAction<Workflow> = {
      type: 'startWorkflow',
      workflowType: workflow,
      workflowId: id,
      taskQueue,
      args: [],
      staticSummary: summary,
    };
    const spec = { intervals: [{ every: everyMs, offset: offsetMs % everyMs }] };
    const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP } as const;
    try {
      await client.schedule.create({ scheduleId: id, spec, action, policies });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.schedule.getHandle(id).update(({ state }) => ({ spec, action, policies, state }));
    }
  }
}
