// Signals the flows that wait for a rail: for the end of a pause, or for its balance.
import type { Client } from '@temporalio/client';
import { inBatches } from '../concurrency/batches.ts';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { wakeFlow } from '../outbox/startFlow.ts';
import { listNotSent } from '../resources/transferSends.ts';
import { railResumed } from '../workflows/bankTransfer/messages.ts';
import { type InstallationScope, onTaskQueues } from '../workflows/flows.ts';
import { ATTENTION, ENVIRONMENT, ORGANISATION_ID } from '../workflows/searchAttributes.ts';

/** Signals in flight: hundreds a second, so that thousands of flows continue within a minute. */
const CONCURRENCY = 20;

/**
 * The flows that may wait: of an environment, those that show that the rail is paused. Of an organisation, those whose
 * transfer was not accepted, by the database, because one that waits for the balance shows it only after a limit. To
 * signal all transfers in progress would have each of them query the rail at every news of the balance.
 */
async function* waitingFlows(
  { sql, client }: { sql: Sql; client: Client },
  { environment, organisationId }: InstallationScope,
  taskQueue: string,
): AsyncGenerator<string> {
  if (organisationId !== undefined) yield* await listNotSent(sql, { organisationId, environment });
  const isWaiting =
    organisationId === undefined
      ? `${ATTENTION.name} = 'rail_paused'`
      : `${ORGANISATION_ID.name} = '${publicId('organisation', organisationId)}' AND ` +
        `WorkflowType = 'reviewCase' AND ${ATTENTION.name} = 'rail_not_ready'`;
  const query = `ExecutionStatus = 'Running' AND ${ENVIRONMENT.name} = '${environment}' AND ${isWaiting}`;
  for await (const { workflowId } of client.workflow.list({ query: `${query} AND ${onTaskQueues(taskQueue)}` }))
    yield workflowId;
}

/** Signals every flow that may wait for the rail. Returns their number. */
export async function signalFlowsOfRail(
  sources: { sql: Sql; client: Client },
  input: InstallationScope,
  { taskQueue, onProgress }: { taskQueue: string; onProgress: (flows: number) => void },
): Promise<number> {
  let flows = 0;
  for await (const batch of inBatches(waitingFlows(sources, input, taskQueue), CONCURRENCY)) {
    await Promise.all(batch.map((workflowId) => wakeFlow(sources.client, workflowId, railResumed.name)));
    flows += batch.length;
    onProgress(flows);
  }
  return flows;
}
