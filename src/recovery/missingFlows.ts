// Finds open resources that have no flow, because it was terminated, cancelled or deleted, or because Temporal lost it,
// and restarts their flows through the outbox (docs/decisions/0013-recovery-of-flows.md). Safe to run at any time and
// concurrently.
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { findAdjustment } from '../resources/adjustments/queries.ts';
import {
  recallFlowId,
  startAdjustment,
  startInboundCredit,
  startPayment,
  startPayout,
  startRecall,
  startRefund,
  startReviewCase,
  startWithdrawal,
} from '../resources/flows.ts';
import { findInboundCredit } from '../resources/inboundCredits/queries.ts';
import { enqueue, isMessageWaiting } from '../resources/outbox.ts';
import { findPayment } from '../resources/payments/queries.ts';
import { countPayout, findPayout } from '../resources/payouts/queries.ts';
import { findRefund } from '../resources/refunds/queries.ts';
import { findReviewCase } from '../resources/reviewCases/queries.ts';
import { findWithdrawal } from '../resources/withdrawals/queries.ts';
import { findDelivery } from '../webhooks/deliveries.ts';
import { webhookDeliveryFlow } from '../webhooks/flow.ts';
import { bookOf, type FlowOutboxMessage, restarted, toOutbox } from '../workflows/flows.ts';
import { type CreditReceived, unappliedCredits } from '../workflows/payment/messages.ts';
import { hasUnreportedChange } from '../workflows/payout/decide.ts';
import { listOpenResources, type OpenKind, type OpenPosition, type OpenResource } from './openResources.ts';

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

/** Inbound credits first: the message that starts a payment's flow for a credit also carries the credit's signal. */
const KINDS: readonly OpenKind[] = [
  'inboundCredit',
  'recall',
  'payment',
  'withdrawal',
  'refund',
  'payout',
  'unreportedPayoutReturn',
  'reviewCase',
  'adjustment',
  'webhookDelivery',
];

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
  for (const kind of KINDS) {
    let after: OpenPosition | null = null;
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
  // A credit of a payment has no workflow of its own, so only its payment's flow can be queried about it.
  const running = kind === 'inboundCredit' ? new Set<string>() : await listRunning(client, kind, page);
  const suspects = page.filter((resource) => !running.has(flowIdOf(kind, resource)));
  const missing: MissingFlow[] = [];
  for (let first = 0; first < suspects.length; first += DESCRIBE_CONCURRENCY) {
    const examined = await Promise.all(
      suspects.slice(first, first + DESCRIBE_CONCURRENCY).map((resource) => examine(sql, client, kind, resource)),
    );
    missing.push(...examined.filter((flow) => flow !== null));
  }
  return missing;
}

/**
 * The flows that Temporal's visibility list reports as running. The list lags, so each absent one is described alone.
 */
async function listRunning(client: Client, kind: OpenKind, page: OpenResource[]): Promise<Set<string>> {
  const running = new Set<string>();
  if (page.length === 0) return running;
  const ids = page.map((resource) => `'${flowIdOf(kind, resource)}'`).join(', ');
  const query = `WorkflowId IN (${ids}) AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query })) running.add(workflowId);
  return running;
}

async function examine(sql: Sql, client: Client, kind: OpenKind, resource: OpenResource): Promise<MissingFlow | null> {
  const read = async () => await startOf(sql, kind, resource);
  const start = await read();
  if (start === null) return null;
  const { message } = start;
  const flow = await lookUp(client, message.id);
  const isMissing = flow === 'closed' || !(await hasSignal(client, message, flow));
  const { organisationId, id: eventId } = resource;
  if (!isMissing || (await isMessageWaiting(sql, { organisationId, flowId: message.id, eventId }))) return null;
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
  flow: 'notBegun' | 'busy' | 'idle',
): Promise<boolean> {
  if (signal === undefined || flow === 'busy') return true;
  if (flow === 'notBegun') return false; // a signal begins it
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

/**
 * `notBegun`: it has had no task, because it has nothing to do before its first signal. `busy`: an activity or a
 * workflow task is pending. `idle`: it is open and waits, or is parked for an operator.
 */
async function lookUp(client: Client, flowId: string): Promise<'closed' | 'notBegun' | 'busy' | 'idle'> {
  try {
    const { status, historyLength, raw } = await client.workflow.getHandle(flowId).describe();
    if (status.name !== 'RUNNING') return 'closed';
    if (historyLength === 1) return 'notBegun';
    return (raw.pendingActivities ?? []).length > 0 || raw.pendingWorkflowTask ? 'busy' : 'idle';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    throw error;
  }
}

function flowIdOf(kind: OpenKind, { id, endpointId }: OpenResource): string {
  if (kind === 'webhookDelivery') return `${publicId('event', id)}/${publicId('webhookEndpoint', endpointId ?? '')}`;
  if (kind === 'recall') return recallFlowId(id);
  return publicId(kind === 'unreportedPayoutReturn' ? 'payout' : kind, id);
}

/** Rebuilds the message that started the flow from the resource's row; null when the resource is no longer open. */
async function startOf(sql: Sql, kind: OpenKind, resource: OpenResource): Promise<FlowOutboxMessage | null> {
  const book = bookOf(resource);
  const { id } = resource;
  switch (kind) {
    case 'inboundCredit': {
      const row = await findInboundCredit(sql, book, id);
      if (row === null || row.status !== 'received') return null;
      if (row.ownerKind !== 'payment' || row.ownerId === null) return startInboundCredit(book, row, null);
      const payment = await findPayment(sql, book, row.ownerId);
      return payment && startInboundCredit(book, row, payment);
    }
    case 'recall': {
      const row = await findInboundCredit(sql, book, id);
      return row?.recall === 'received' ? startRecall(book, row) : null;
    }
    case 'payment': {
      const row = await findPayment(sql, book, id);
      const isOpen = row?.status === 'pending' || row?.status === 'partial';
      return isOpen ? startPayment(book, row) : null;
    }
    case 'withdrawal': {
      const row = await findWithdrawal(sql, book, id);
      return row?.status === 'processing' ? startWithdrawal(book, row) : null;
    }
    case 'refund': {
      const row = await findRefund(sql, book, id);
      return row?.status === 'processing' ? startRefund(book, row) : null;
    }
    case 'payout': {
      const row = await findPayout(sql, book, id);
      return row?.status === 'processing' ? startPayout(book, row) : null;
    }
    case 'unreportedPayoutReturn': {
      const counted = await countPayout(sql, book, id);
      return counted !== null && hasUnreportedChange(counted.payout, counted)
        ? startPayout(book, counted.payout)
        : null;
    }
    case 'reviewCase': {
      const row = await findReviewCase(sql, book, id);
      const isOpen = row?.status === 'open' || row?.status === 'returning';
      return isOpen ? startReviewCase(book, row) : null;
    }
    case 'adjustment': {
      const row = await findAdjustment(sql, book, id);
      return row?.status === 'requested' ? startAdjustment(book, row) : null;
    }
    case 'webhookDelivery': {
      const delivery = await findDelivery(sql, book, id, resource.endpointId ?? '');
      if (delivery?.status !== 'pending') return null;
      return toOutbox(
        webhookDeliveryFlow({
          ...book,
          eventId: publicId('event', delivery.eventId),
          endpointId: publicId('webhookEndpoint', delivery.endpointId),
          eventType: delivery.type,
        }),
      );
    }
  }
}
