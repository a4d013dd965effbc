// Signals the flows that wait for a paused rail.
import type { Client } from '@temporalio/client';
import { inBatches } from '../concurrency/batches.ts';
import type { Environment } from '../money.ts';
import { railResumed } from '../workflows/bankTransfer/messages.ts';
import { onTaskQueues } from '../workflows/flows.ts';
import { ATTENTION, ENVIRONMENT } from '../workflows/searchAttributes.ts';
import { wakeFlow } from './startFlow.ts';

/** Signals in flight: hundreds a second, so that thousands of flows continue within a minute. */
const CONCURRENCY = 20;

/** Signals every flow that shows that it waits for the rail of this environment. Returns their number. */
export async function signalFlowsOfRail(
  client: Client,
  {
    environment,
    taskQueue,
    onProgress,
  }: { environment: Environment; taskQueue: string; onProgress: (flows: number) => void },
): Promise<number> {
  const query =
    `ExecutionStatus = 'Running' AND ${ATTENTION.name} = 'rail_paused' AND ${ENVIRONMENT.name} = '${environment}' ` +
    `AND ${onTaskQueues(taskQueue)}`;
  let flows = 0;
  for await (const batch of inBatches(client.workflow.list({ query }), CONCURRENCY)) {
    await Promise.all(batch.map(({ workflowId }) => wakeFlow(client, workflowId, railResumed.name)));
    flows += batch.length;
    onProgress(flows);
  }
  return flows;
}
