// The Temporal Schedules of the maintenance flows. A worker creates them when it starts, or updates existing ones; one
// that an operator paused stays paused. While the worker runs it recreates Schedules that have disappeared.
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
  type WorkflowStartOptions,
} from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { repeated } from '../concurrency/shared.ts';
import type { Config } from '../config.ts';
import type { Log } from '../telemetry/log.ts';
import { taskQueueOf } from '../workflows/flows.ts';
import { type FlowType, priorityOf } from '../workflows/priority.ts';

interface ScheduledFlow {
  /** Workflow type, and the suffix of the Schedule's id. */
  workflow: FlowType;
  everyMs: number;
  /** Offset from midnight UTC, for a daily flow. */
  offsetMs?: number;
  /** How late a missed run is still started. Default: `CATCH_UP_MS`. */
  catchUpMs?: number;
  summary: string;
}

const HOUR_MS = 3_600_000;
/** Short: runs missed while Temporal was down are not caught up one by one, because each run covers everything. */
const CATCH_UP_MS = 60_000;
/** Limits how long a call to an unresponsive server delays the worker's shutdown. */
const CALL_TIMEOUT_MS = 5_000;

function scheduledFlows({ maintenance: settings }: Pick<Config, 'maintenance'>): ScheduledFlow[] {
  return [
    { workflow: 'sweep', everyMs: settings.sweepEveryMs, summary: 'Restarts missing flows of open resources' },
    {
      workflow: 'failingFlows',
      everyMs: settings.failingFlowsEveryMs,
      summary: 'Lists flows with a task that fails again and again',
    },
    {
      workflow: 'retention',
      everyMs: settings.retentionEveryMs,
      summary: 'Deletes rows that are past their retention; closes accounting days',
    },
    {
      workflow: 'ledgerSealing',
      everyMs: settings.sealEveryMs,
      summary: 'Seals the new postings of every book, and publishes the seals',
    },
    {
      workflow: 'ledgerVerification',
      everyMs: settings.ledgerVerificationEveryMs,
      offsetMs: 2 * HOUR_MS,
      summary: 'Verifies the ledger: balances, postings and the zero sum of every book',
    },
    {
      workflow: 'reconciliation',
      everyMs: settings.reconciliationEveryMs,
      offsetMs: 3 * HOUR_MS,
      // Of the runs missed in an outage one is started as soon as it is over: it covers all of them.
      catchUpMs: Math.max(settings.reconciliationEveryMs, CATCH_UP_MS),
      summary: "Compares the rails' statements with the ledger",
    },
    {
      workflow: 'dayProof',
      everyMs: 24 * HOUR_MS,
      offsetMs: 4 * HOUR_MS, // an hour after the reconciliation, which has the balance at the end of the day
      catchUpMs: 24 * HOUR_MS,
      summary: 'Proves the days that have ended, bank by bank',
    },
    {
      workflow: 'creditPolling',
      // Each run polls the rails that are due.
      everyMs: Math.min(settings.creditPolling.usualMs, ...Object.values(settings.creditPolling.ownMs)),
      summary: 'Imports credits whose callback was lost',
    },
  ];
}

/** The id of a Schedule, with the task queue as prefix: installations that share a namespace have one queue each. */
export const scheduleId = (taskQueue: string, workflow: string): string => `${taskQueue}-${workflow}`;

/** Creates or updates every Schedule to match this version. Idempotent, and safe to run from many workers at once. */
export async function syncSchedules(client: Client, config: Settings): Promise<void> {
  for (const desired of schedulesOf(config)) {
    const { scheduleId: id, spec, action, policies } = desired;
    if (await createMissing(client, desired)) continue;
    await client.schedule.getHandle(id).update(({ state }) => ({ spec, action, policies, state }));
  }
}

/**
 * Recreates missing Schedules for as long as the worker runs: a Temporal server that lost its state has none, and
 * without the sweep no flow would be restarted. It only creates, which the server does once however many workers try,
 * so an existing Schedule stays unchanged, paused or not.
 */
export function restoreSchedules(client: Client, config: Settings, log: Log): { stop: () => Promise<void> } {
  const restore = async (): Promise<void> => {
    try {
      for (const desired of schedulesOf(config)) {
        if (!(await createMissing(client, desired))) continue;
        log.warn({ schedule: desired.scheduleId }, 'a Schedule was missing and has been recreated');
      }
    } catch (error) {
      log.warn({ err: error }, 'the Schedules could not be checked; retrying');
    }
  };
  return repeated(restore, config.maintenance.schedulesEveryMs);
}

/** Creates a Schedule. False: it exists already. */
async function createMissing(client: Client, desired: ReturnType<typeof schedulesOf>[number]): Promise<boolean> {
  try {
    await client.connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, () => client.schedule.create(desired));
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

type Settings = Pick<Config, 'temporal' | 'maintenance'>;

function schedulesOf(config: Settings) {
  const { taskQueue } = config.temporal;
  return scheduledFlows(config).map(({ workflow, everyMs, offsetMs = 0, catchUpMs = CATCH_UP_MS, summary }) => {
    const id = scheduleId(taskQueue, workflow);
    // The SDK sends the priority, although its type of a Schedule's action lacks it.
    const action: ScheduleOptionsStartWorkflowAction<Workflow> & Pick<WorkflowStartOptions, 'priority'> = {
      type: 'startWorkflow',
      workflowType: workflow,
      workflowId: id,
      taskQueue: taskQueueOf(taskQueue, 'maintenance'),
      args: [],
      staticSummary: summary,
      priority: priorityOf({ workflow }),
    };
    return {
      scheduleId: id,
      spec: { intervals: [{ every: everyMs, offset: offsetMs % everyMs }] },
      action,
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUpMs } as const,
    };
  });
}
