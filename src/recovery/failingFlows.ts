// Finds open flows with a task that does not get done, for whatever reason, and keeps them in a table, where
// `attention list` and a gauge read them (docs/decisions/0013-recovery-of-flows.md).
import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { inBatches } from '../concurrency/batches.ts';
import { readDatabaseTime } from '../database/clock.ts';
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS } from '../ids.ts';
import { onTaskQueues } from '../workflows/flows.ts';
import { type FailingLimits, type FailingTask, type Failure, failingTask, isSuspect, textOf } from './failingTask.ts';

export interface FailingFlow extends Omit<FailingTask, 'failure' | 'isTaken'> {
  error: string;
  workflowId: string;
  workflow: string;
}

/** DescribeWorkflowExecution calls a second: little of what a server can do, and 30,000 flows in 25 minutes. */
const DESCRIBED_A_SECOND = 20;
/** Events read of a suspect's history, from its end. */
const EVENTS_MAX = 100;

/** Replaces the table by what it finds. `onProgress` is called at least every few seconds, for heartbeats. */
export async function scanFailingFlows(
  { sql, client }: { sql: Sql; client: Client },
  {
    taskQueue,
    limits,
    onProgress,
  }: { taskQueue: string; limits: FailingLimits; onProgress: (described: number) => void },
): Promise<{ described: number; failing: number }> {
  const startedAt = await readDatabaseTime(sql);
  const started = performance.now();
  // The worker's clock may be off, by more than a limit.
  const now = (): Date => new Date(startedAt.getTime() + performance.now() - started);
  const age = Math.min(...Object.values(limits));
  // Parked flows too: a signal, a decision or a timer gives them a task like any other.
  const query =
    `ExecutionStatus = 'Running' AND StartTime < '${new Date(startedAt.getTime() - age).toISOString()}' ` +
    `AND ${onTaskQueues(taskQueue)}`;
  let described = 0;
  let failing = 0;
  onProgress(described);
  for await (const batch of inBatches(client.workflow.list({ query }), DESCRIBED_A_SECOND)) {
    const nextAt = Date.now() + 1_000;
    const examined = await Promise.all(batch.map((flow) => examine(client, flow, limits, now())));
    const found = examined.filter((flow) => flow !== null);
    await Promise.all(found.map((flow) => store(sql, flow)));
    described += batch.length;
    failing += found.length;
    onProgress(described);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextAt - Date.now())));
  }
  // Fixed, or ended.
  await sql`DELETE FROM failing_flows WHERE organisation_id = ${ALL_ORGANISATIONS} AND seen_at < ${startedAt}`;
  return { described, failing };
}

/** The failing and stalled flows, the longest first. */
export async function listFailingFlows(sql: Sql): Promise<FailingFlow[]> {
  return await sql<FailingFlow[]>`
    SELECT workflow_id, workflow, task, activity, problem, attempt, since, error FROM failing_flows
    ORDER BY since, workflow_id`;
}

async function examine(
  client: Client,
  { workflowId, runId, type: workflow }: WorkflowExecutionInfo,
  limits: FailingLimits,
  now: Date,
): Promise<FailingFlow | null> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    if (!isSuspect(raw, limits, now)) return null;
    const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: EVENTS_MAX,
    });
    const task = failingTask(raw, history?.events ?? [], limits, now);
    if (task === null) return null;
    const { failure, isTaken, ...rest } = task;
    const error = textOf({ problem: task.problem, isTaken, failure: await decoded(client, failure) });
    return { workflowId, workflow, ...rest, error };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null; // it has ended
    throw error;
  }
}

/** The failure with its message, which is encrypted where payloads are. */
async function decoded(client: Client, failure: Failure): Promise<Failure> {
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  return error === undefined ? failure : { ...failure, message: error.message };
}

const store = (sql: Sql, flow: FailingFlow) => sql`
  INSERT INTO failing_flows (organisation_id, workflow_id, workflow, task, activity, problem, attempt, since, error,
                             seen_at)
  VALUES (${ALL_ORGANISATIONS}, ${flow.workflowId}, ${flow.workflow}, ${flow.task}, ${flow.activity}, ${flow.problem},
          ${flow.attempt}, ${flow.since}, ${flow.error}, now())
  ON CONFLICT (organisation_id, workflow_id) DO UPDATE SET
    task = excluded.task, activity = excluded.activity, problem = excluded.problem, attempt = excluded.attempt,
    since = excluded.since, error = excluded.error, seen_at = excluded.seen_at`;
