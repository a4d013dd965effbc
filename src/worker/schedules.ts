// What Temporal starts by the clock. The Schedules are created when a worker starts and brought up to date when they are
// there already; one that a person paused stays paused. Those that are gone are made again while the worker runs.
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import type { Config } from '../config.ts';
import type { Log } from '../telemetry/log.ts';

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
/** A call that a hung server does not answer must not keep the worker from stopping for long. */
const CALL_TIMEOUT_MS = 5_000;

function clockworks({ maintenance }: Pick<Config, 'maintenance'>): Clockwork[] {
  return [
    {
      workflow: 'sweep',
      everyMs: maintenance.sweepEveryMs,
      offsetMs: 0,
      summary: 'Starts the flows of accepted resources that have none',
    },
    {
      workflow: 'housekeeping',
      everyMs: maintenance.housekeepingEveryMs,
      offsetMs: 0,
      summary: 'Forgets old idempotency keys and webhook attempts',
    },
    {
      workflow: 'ledgerVerification',
      everyMs: maintenance.ledgerVerificationEveryMs,
      offsetMs: 2 * HOUR_MS,
      summary: 'Proves that the books are whole',
    },
    {
      workflow: 'reconciliation',
      everyMs: maintenance.reconciliationEveryMs,
      offsetMs: 3 * HOUR_MS,
      summary: 'Compares the rails’ statements with the books',
    },
  ];
}

/** The name of a Schedule: installations that share a namespace have a task queue each. */
export const scheduleId = (taskQueue: string, workflow: string): string => `${taskQueue}-${workflow}`;

/** Makes every Schedule what this version wants it to be. Safe to repeat, and to do from many workers at once. */
export async function keepSchedules(client: Client, config: Settings): Promise<void> {
  for (const wanted of schedulesOf(config)) {
    const { scheduleId: id, spec, action, policies } = wanted;
    if (await createMissing(client, wanted)) continue;
    await client.schedule.getHandle(id).update(({ state }) => ({ spec, action, policies, state }));
  }
}

/**
 * Makes the Schedules that are gone, for as long as the worker runs: a Temporal that lost its state and came back empty has
 * none, and then no sweep brings the flows back. It only ever creates, which the server does once however many workers try;
 * so a Schedule that is there stays as it is, paused or not.
 */
export function restoreSchedules(client: Client, config: Settings, log: Log): { stop: () => Promise<void> } {
  let stopped = false;
  let wake = (): void => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, config.maintenance.schedulesEveryMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const loop = (async () => {
    while (!stopped) {
      await pause();
      if (stopped) return;
      try {
        for (const wanted of schedulesOf(config)) {
          const { scheduleId: schedule } = wanted;
          if (await createMissing(client, wanted)) log.warn({ schedule }, 'a Schedule was gone and is made again');
        }
      } catch (error) {
        log.warn({ err: error }, 'the Schedules could not be looked after; trying again');
      }
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      wake();
      await loop;
    },
  };
}

/** False: it is there. */
async function createMissing(client: Client, wanted: Wanted): Promise<boolean> {
  try {
    await client.connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => client.schedule.create(wanted));
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

type Settings = Pick<Config, 'temporal' | 'maintenance'>;
type Wanted = ReturnType<typeof schedulesOf>[number];

function schedulesOf(config: Settings) {
  const { taskQueue } = config.temporal;
  return clockworks(config).map(({ workflow, everyMs, offsetMs, summary }) => {
    const id = scheduleId(taskQueue, workflow);
    const action: ScheduleOptionsStartWorkflowAction<Workflow> = {
      type: 'startWorkflow',
      workflowType: workflow,
      workflowId: id,
      taskQueue,
      args: [],
      staticSummary: summary,
    };
    return {
      scheduleId: id,
      spec: { intervals: [{ every: everyMs, offset: offsetMs % everyMs }] },
      action,
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP } as const,
    };
  });
}
