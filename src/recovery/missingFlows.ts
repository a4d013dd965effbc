// Finds open resources that have no flow, because it was terminated, cancelled or deleted, or because Temporal lost it,
// and restarts their flows through the outbox (docs/decisions/0013-recovery-of-flows.md). Safe to run at any time and
// concurrently.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { mapAtMost } from '../concurrency/mapAtMost.ts';
import type { Sql } from '../database/pool.ts';
import { enqueue, isMessageWaiting } from '../resources/outbox.ts';
import { bookOf, type FlowOutboxMessage, restarted } from '../workflows/flows.ts';
import { type CreditReceived, unappliedCredits } from '../workflows/payment/messages.ts';
import { listOpenResources, OPEN_KINDS, type OpenKind, type OpenResource } from './openResources.ts';

/** An open resource without an open flow, or whose open flow has not received its signal. */
export interface MissingFlow {
  resource: OpenResource;
  /** The message that starts the flow, or gives a running one the signal it has not received. */
  start: FlowOutboxMessage;
}

interface SweepOptions {
  /** Younger resources are skipped: the message that starts their flow may still be in the outbox. */
  ageMinMs: number;
  /** Called after each page with the number of resources scanned so far, for heartbeats. */
  onPage?: (scanned: number) => void;
}

/** Workflow ids that fit into one list query of Temporal. */
const PAGE_SIZE = 100;
/** DescribeWorkflowExecution calls in flight at a time. */
const DESCRIBE_CONCURRENCY = 10;

/** A worker returns within milliseconds, unless it has to replay a long history first. */
const QUERY_TIMEOUT_MS = 5_000;

/** Yields all missing flows. A resource that ends during the scan is not one of them. */
export async function* findMissingFlows(
  { sql, client }: { sql: Sql; client: Client },
  { ageMinMs, onPage }: SweepOptions,
): AsyncGenerator<MissingFlow> {
  let scanned = 0;
  for (const kind of OPEN_KINDS) {
    let after: OpenResource | null = null;
    for (;;) {
      const page: OpenResource[] = await listOpenResources(sql, kind, { after, limit: PAGE_SIZE, ageMinMs });
      yield* await missingOf(sql, client, kind, page);
      scanned += page.length;
      onPage?.(scanned);
      after = page.at(-1) ?? null;
      if (page.length < PAGE_SIZE) break;
    }
  }
}

/** Queues the restart. A flow that is open by then is not started twice: the relay uses the running one. */
export const restartFlow = (sql: Sql, { resource, start }: MissingFlow): Promise<void> =>
  enqueue(sql, resource, restarted(start));

async function missingOf(sql: Sql, client: Client, kind: OpenKind, page: OpenResource[]): Promise<MissingFlow[]> {
  const flowIds = kind.flowId === null ? [] : page.map(kind.flowId);
  const running = await listRunning(client, flowIds);
  const suspects = page.filter((_resource, index) => !running.has(flowIds[index] ?? ''));
  const examined = await mapAtMost(DESCRIBE_CONCURRENCY, suspects, (resource) => examine(sql, client, kind, resource));
  return examined.filter((flow) => flow !== null);
}

/** The flows that Temporal lists as running. The list lags, so each absent one is described alone. */
async function listRunning(client: Client, flowIds: readonly string[]): Promise<Set<string>> {
  const running = new Set<string>();
  if (flowIds.length === 0) return running;
  const query = `WorkflowId IN ('${flowIds.join("', '")}') AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query })) running.add(workflowId);
  return running;
}

async function examine(sql: Sql, client: Client, kind: OpenKind, resource: OpenResource): Promise<MissingFlow | null> {
  const read = async () => await kind.start(sql, bookOf(resource), resource);
  const start = await read();
  if (start === null) return null;
  const { message } = start;
  const flow = await lookUp(client, message.id);
  const isMissing = flow === 'closed' || !(await hasSignal(client, message, flow));
  const waiting = { ...bookOf(resource), flowId: message.id };
  if (!isMissing || (await isMessageWaiting(sql, waiting))) return null;
  // Read the row again: the flow may have ended because the resource ended after the page was read.
  const fresh = await read();
  return fresh === null ? null : { resource, start: fresh };
}

/**
 * Whether an open flow has already received the message's signal. A payment's flow holds credits that the rail has not
 * confirmed yet, so a credit that is not posted does not mean that its signal was lost.
 */
async function hasSignal(
  client: Client,
  { id, signal }: FlowOutboxMessage['message'],
  flow: 'busy' | 'idle',
): Promise<boolean> {
  if (signal === undefined || flow === 'busy') return true;
  const { inboundCreditId } = signal.payload as CreditReceived;
  try {
    const unapplied = await client.withDeadline(Date.now() + QUERY_TIMEOUT_MS, () =>
      client.workflow.getHandle(id).query(unappliedCredits),
    );
    return unapplied.includes(inboundCreditId);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    return true; // no worker replies to the query: the next sweep retries it
  }
}

/** `busy`: an activity or a workflow task is pending. `idle`: it is open and waits, or is parked for an operator. */
async function lookUp(client: Client, flowId: string): Promise<'closed' | 'busy' | 'idle'> {
  try {
    const { status, raw } = await client.workflow.getHandle(flowId).describe();
    if (status.name !== 'RUNNING') return 'closed';
    return (raw.pendingActivities ?? []).length > 0 || raw.pendingWorkflowTask ? 'busy' : 'idle';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    throw error;
  }
}
