// Finds accepted resources that have no flow, because it was terminated, cancelled or deleted or Temporal lost it, and
// restarts their flows through the outbox (docs/decisions/0011-sweeper.md). Safe to run at any time and twice at once.
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import type { Journal } from '../ledger/journal.ts';
import { startInboundCredit } from '../resources/inboundCredits/flow.ts';
import { findInboundCredit } from '../resources/inboundCredits/queries.ts';
import { startPayment } from '../resources/payments/flow.ts';
import { findPayment } from '../resources/payments/queries.ts';
import { startPayout } from '../resources/payouts/flow.ts';
import { countPayout, findPayout } from '../resources/payouts/queries.ts';
import { startRefund } from '../resources/refunds/flow.ts';
import { findRefund } from '../resources/refunds/queries.ts';
import { startReviewCase } from '../resources/reviewCases/flow.ts';
import { findReviewCase } from '../resources/reviewCases/queries.ts';
import { startWithdrawal } from '../resources/withdrawals/flow.ts';
import { findWithdrawal } from '../resources/withdrawals/queries.ts';
import { findDelivery } from '../webhooks/deliveries.ts';
import { webhookDeliveryFlow } from '../webhooks/flow.ts';
import { bookOf, type FlowOutboxMessage, restarted, toOutbox } from '../workflows/flows.ts';
import { type CreditReceived, unplacedCredits } from '../workflows/payment/messages.ts';
import { hasUnreportedChange } from '../workflows/payout/decide.ts';
import {
  hasPendingMessage,
  listOpenResources,
  type OpenKind,
  type OpenPosition,
  type OpenResource,
} from './openResources.ts';

/** A resource that has not ended and that no flow looks after. */
export interface MissingFlow {
  resource: OpenResource;
  /** What starts its flow, or gives a running one what it never heard of. */
  start: FlowOutboxMessage;
}

interface SweepOptions {
  /** Younger resources are left alone: the message that starts their flow may still be on its way. */
  ageMinMs: number;
  /** Called after each page, so that whoever waits knows that it goes on. */
  onPage?: (looked: number) => void;
}

/** Credits come first: what starts a payment's flow for its credit tells it of the credit as well. */
const KINDS: readonly OpenKind[] = [
  'inboundCredit',
  'payment',
  'withdrawal',
  'refund',
  'payout',
  'payoutReturn',
  'reviewCase',
  'webhookDelivery',
];

/** Ids that fit into one query of Temporal's list, and descriptions that are asked for at the same time. */
const PAGE_SIZE = 100;
const ASKED_AT_ONCE = 10;

/** A worker answers within milliseconds, unless it has to replay a long history first. */
const QUERY_MAX_MS = 5_000;

/** All missing flows, as they are found. A resource that ends while it is looked at is none. */
export async function* findMissingFlows(
  { sql, client }: { sql: Sql; client: Client },
  { ageMinMs, onPage }: SweepOptions,
): AsyncGenerator<MissingFlow> {
  let looked = 0;
  for (const kind of KINDS) {
    let after: OpenPosition | null = null;
    for (;;) {
      const page: OpenResource[] = await listOpenResources(sql, kind, { after, limit: PAGE_SIZE, ageMinMs });
      yield* await missingOf(sql, client, kind, page);
      looked += page.length;
      onPage?.(looked);
      after = page.at(-1) ?? null;
      if (page.length < PAGE_SIZE) break;
    }
  }
}

/** Starts it, unless somebody else has meanwhile: the relay takes an open flow as started. */
export async function restartFlow(journal: Journal, { resource, start }: MissingFlow): Promise<void> {
  const { organisationId, environment } = resource;
  await journal.post({ book: { organisationId, environment }, outbox: [restarted(start)] });
}

async function missingOf(sql: Sql, client: Client, kind: OpenKind, page: OpenResource[]): Promise<MissingFlow[]> {
  // A credit of a payment has no flow of its own name, so only its payment's flow can tell.
  const running = kind === 'inboundCredit' ? new Set<string>() : await listRunning(client, kind, page);
  const suspects = page.filter((resource) => !running.has(flowIdOf(kind, resource)));
  const missing: MissingFlow[] = [];
  for (let first = 0; first < suspects.length; first += ASKED_AT_ONCE) {
    const found = await Promise.all(
      suspects.slice(first, first + ASKED_AT_ONCE).map((resource) => examine(sql, client, kind, resource)),
    );
    missing.push(...found.filter((one) => one !== null));
  }
  return missing;
}

/** Those that Temporal's list says are running. The list lags: what it lacks is asked about one by one. */
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
  const lacks = flow === 'closed' || (flow === 'waits' && !(await hasHeard(client, message)));
  if (!lacks || (await hasPendingMessage(sql, resource, message.id))) return null;
  // The flow may have ended because the resource did, after the page was read.
  const fresh = await read();
  return fresh === null ? null : { resource, start: fresh };
}

/**
 * Whether an open flow knows what the message would tell it. A payment's flow keeps the credits that the rail does not confirm yet,
 * so a credit that is not in the books is not one that it never heard of.
 */
async function hasHeard(client: Client, { id, signal }: FlowOutboxMessage['message']): Promise<boolean> {
  if (signal === undefined) return true;
  const { inboundCreditId } = signal.payload as CreditReceived;
  try {
    const known = await client.withDeadline(Date.now() + QUERY_MAX_MS, () =>
      client.workflow.getHandle(id).query(unplacedCredits),
    );
    return known.includes(inboundCreditId);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    return true; // no worker answers for it: the next sweep asks again
  }
}

/** `works`: an activity of it is under way. `waits`: it is open and idle, or waits for a person. */
async function lookUp(client: Client, flowId: string): Promise<'closed' | 'works' | 'waits'> {
  try {
    const { status, raw } = await client.workflow.getHandle(flowId).describe();
    if (status.name !== 'RUNNING') return 'closed';
    return (raw.pendingActivities ?? []).length > 0 || raw.pendingWorkflowTask ? 'works' : 'waits';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    throw error;
  }
}

function flowIdOf(kind: OpenKind, { id, endpointId }: OpenResource): string {
  if (kind === 'webhookDelivery') return `${publicId('event', id)}/${publicId('webhookEndpoint', endpointId ?? '')}`;
  return publicId(kind === 'payoutReturn' ? 'payout' : kind, id);
}

/** The message that its flow was started with, made anew from its row; null when it is open no more. */
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
    case 'payoutReturn': {
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
    case 'webhookDelivery': {
      const parcel = await findDelivery(sql, book, id, resource.endpointId ?? '');
      if (parcel?.status !== 'pending') return null;
      return toOutbox(
        webhookDeliveryFlow({
          ...book,
          eventId: publicId('event', parcel.eventId),
          endpointId: publicId('webhookEndpoint', parcel.endpointId),
          eventType: parcel.type,
        }),
      );
    }
  }
}
