// Signals the flows that wait for a rail: for the end of a pause, or for its balance.
import type { Client } from '@temporalio/client';
import { inBatches } from '../concurrency/batches.ts';
import { publicId } from '../ids.ts';
import { wakeFlow } from '../outbox/startFlow.ts';
import { railResumed } from '../workflows/bankTransfer/messages.ts';
import { onTaskQueues } from '../workflows/flows.ts';
import type { RailResumeInput } from '../workflows/railResume/messages.ts';
import { ATTENTION, ENVIRONMENT, ORGANISATION_ID } from '../workflows/searchAttributes.ts';

/** Signals in flight: hundreds a second, so that thousands of flows continue within a minute. */
const CONCURRENCY = 20;

/**
 * The flows that may wait: of an environment, those that show that the rail is paused. Of an organisation, all
 * transfers in progress, because one that waits for the balance shows it only after a limit.
 */
function waitingFlows({ environment, organisationId }: RailResumeInput): string {
  const inEnvironment = `ExecutionStatus = 'Running' AND ${ENVIRONMENT.name} = '${environment}'`;
  if (organisationId === undefined) return `${inEnvironment} AND ${ATTENTION.name} = 'rail_paused'`;
  return (
    `${inEnvironment} AND ${ORGANISATION_ID.name} = '${publicId('organisation', organisationId)}' AND ` +
    `(WorkflowType IN ('withdrawal', 'refund', 'payoutItem') OR ` +
    `(WorkflowType = 'reviewCase' AND ${ATTENTION.name} = 'rail_not_ready'))`
  );
}

/** Signals every flow that may wait for the rail. Returns their number. */
export async function signalFlowsOfRail(
  client: Client,
  input: RailResumeInput,
  { taskQueue, onProgress }: { taskQueue: string; onProgress: (flows: number) => void },
): Promise<number> {
  const query = `${waitingFlows(input)} AND ${onTaskQueues(taskQueue)}`;
  let flows = 0;
  for await (const batch of inBatches(client.workflow.list({ query }), CONCURRENCY)) {
    await Promise.all(batch.map(({ workflowId }) => wakeFlow(client, workflowId, railResumed.name)));
    flows += batch.length;
    onProgress(flows);
  }
  return flows;
}
