// Open flows with a task that does not get done, for whatever reason, in a table that `attention list` and a gauge read
// (docs/decisions/0013-recovery-of-flows.md). Workers note flows as their tasks fail, so that a scan describes these
// only, and others while a queue has tasks that no worker takes.
import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { inBatches } from '../concurrency/batches.ts';
import { readDatabaseTime, type Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS } from '../ids.ts';
import { onTaskQueues, taskQueuesOf } from '../workflows/flows.ts';
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
const PAGE_SIZE = 500;

/** Flows that are described because a queue has tasks that no worker takes: enough to show it. */
const WAITING_MAX = 1_000;

/** temporal.api.enums.v1.TaskQueueType */
const TASK_TYPES = [1, 2];

type Suspect = Pick<WorkflowExecutionInfo, 'workflowId' | 'type'>;

/** Notes a flow as a task of it has failed. The next scan says whether it fails for too long. */
export async function noteSuspect(sql: Sql, { workflowId, type }: Suspect): Promise<void> {
  await sql`
    INSERT INTO failing_flows (organisation_id, workflow_id, workflow) VALUES (${ALL_ORGANISATIONS}, ${workflowId}, ${type})
    ON CONFLICT DO NOTHING`;
}

/** Describes what was noted, and replaces it by what is found. `onProgress`: at least every few seconds. */
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
  let described = 0;
  let failing = 0;
  onProgress(described);
  const waiting = await listWaiting(client, taskQueue, limits, startedAt);
  for await (const batch of inBatches(suspectsOf(sql, waiting), DESCRIBED_A_SECOND)) {
    const nextAt = Date.now() + 1_000;
    await Promise.all(
      batch.map(async (flow) => {
        const examined = await examine(client, flow, limits, now());
        if (examined === 'fine') await forget(sql, flow.workflowId);
        else if (examined !== 'suspect') await store(sql, examined);
        if (typeof examined === 'object') failing += 1;
      }),
    );
    described += batch.length;
    onProgress(described);
    if (batch.length === DESCRIBED_A_SECOND) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, nextAt - Date.now())));
    }
  }
  return { described, failing };
}

/** What was noted, page by page, then those of `waiting` that were not. */
async function* suspectsOf(sql: Sql, waiting: Map<string, Suspect>): AsyncGenerator<Suspect> {
  for (let after = ''; ; ) {
    const page = await sql<Suspect[]>`
      SELECT workflow_id, workflow AS type FROM failing_flows
      WHERE organisation_id = ${ALL_ORGANISATIONS} AND workflow_id > ${after}
      ORDER BY workflow_id LIMIT ${PAGE_SIZE}`;
    for (const suspect of page) {
      waiting.delete(suspect.workflowId);
      yield suspect;
    }
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.workflowId;
  }
  yield* waiting.values();
}

/** Open flows, if a queue has had a task for too long; parked ones too, which a signal gives a task like any other. */
async function listWaiting(
  client: Client,
  common: string,
  { taskStalledMs }: FailingLimits,
  now: Date,
): Promise<Map<string, Suspect>> {
  const { namespace } = client.options;
  const flows = new Map<string, Suspect>();
  for (const taskQueue of taskQueuesOf(common)) {
    const waits = await Promise.all(
      TASK_TYPES.map(async (taskQueueType) => {
        const queue = { namespace, taskQueue: { name: taskQueue }, taskQueueType, reportStats: true };
        const { stats } = await client.workflowService.describeTaskQueue(queue);
        return Number(stats?.approximateBacklogAge?.seconds ?? 0) * 1000;
      }),
    );
    if (Math.max(...waits) < taskStalledMs) continue;
    const until = new Date(now.getTime() - taskStalledMs).toISOString();
    const query = `ExecutionStatus = 'Running' AND StartTime < '${until}' AND ${onTaskQueues(common)}`;
    for await (const { workflowId, type } of client.workflow.list({ query })) {
      flows.set(workflowId, { workflowId, type });
      if (flows.size === WAITING_MAX) break;
    }
    break;
  }
  return flows;
}

/** The failing and stalled flows, the longest first. */
export const listFailingFlows = (sql: Sql): Promise<FailingFlow[]> => sql<FailingFlow[]>`
    SELECT workflow_id, workflow, task, activity, problem, attempt, since, error FROM failing_flows
    WHERE task IS NOT NULL ORDER BY since, workflow_id`;

/** `fine`: its tasks get done. `suspect`: one does not, but not for long. */
async function examine(
  client: Client,
  { workflowId, type: workflow }: Suspect,
  limits: FailingLimits,
  now: Date,
): Promise<FailingFlow | 'fine' | 'suspect'> {
  try {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    if (!isSuspect(raw, limits, now)) return 'fine';
    const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId },
      maximumPageSize: EVENTS_MAX,
    });
    const task = failingTask(raw, history?.events ?? [], limits, now);
    if (task === null) return 'suspect';
    const { failure, isTaken, ...rest } = task;
    const error = textOf({ problem: task.problem, isTaken, failure: await decoded(client, failure) });
    return { workflowId, workflow, ...rest, error };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'fine'; // it has ended
    throw error;
  }
}

/** The failure with its message, which is encrypted where payloads are. */
async function decoded(client: Client, failure: Failure): Promise<Failure> {
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  return error === undefined ? failure : { ...failure, message: error.message };
}

const store = (sql: Sql, flow: FailingFlow) => sql`
  INSERT INTO failing_flows (organisation_id, workflow_id, workflow, task, activity, problem, attempt, since, error)
  VALUES (${ALL_ORGANISATIONS}, ${flow.workflowId}, ${flow.workflow}, ${flow.task}, ${flow.activity}, ${flow.problem},
          ${flow.attempt}, ${flow.since}, ${flow.error})
  ON CONFLICT (organisation_id, workflow_id) DO UPDATE SET
    task = excluded.task, activity = excluded.activity, problem = excluded.problem, attempt = excluded.attempt,
    since = excluded.since, error = excluded.error`;

const forget = (sql: Sql, workflowId: string) => sql`
  DELETE FROM failing_flows WHERE organisation_id = ${ALL_ORGANISATIONS} AND workflow_id = ${workflowId}`;
