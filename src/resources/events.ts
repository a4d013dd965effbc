// Queries for events. `ledger.post` writes an event with the change that it describes; it never changes.
import { rowOf, type Sql } from '../database/pool.ts';
import { newUuid, parseId, publicId, type Uuid } from '../ids.ts';
import { keepOutcome } from '../ledger/keepOutcome.ts';
import type { EventRow, IdempotencyOutcome } from '../ledger/movement.ts';
import { type Book, CURRENCY, type Kobo } from '../money.ts';
import { bookTable, type FiltersOf } from './bookTable.ts';
import { directionOf, filterClause, literalOf, type PageRequest, pageClause } from './pages.ts';

/** About one endpoint, for the others. */
export const FAILING_EVENT_TYPE = 'webhook_endpoint.failing';

/** The event types that an endpoint can subscribe to (contract, section 6). */
export const EVENT_TYPES = [
  'payment.settled',
  'payment.completed',
  'payment.expired',
  'payment.cancelled',
  'payment.in_review',
  'payment.reviewed',
  'payment.recalled',
  'withdrawal.completed',
  'withdrawal.failed',
  'withdrawal.returned',
  'transfer.completed',
  'hold.created',
  'hold.released',
  'hold.cancelled',
  'refund.completed',
  'refund.failed',
  'payout.completed',
  'payout.partially_completed',
  'payout.failed',
  'payout.item_completed',
  'payout.item_failed',
  'payout.item_returned',
  'wallet.credited',
  'wallet.debited',
  'wallet.adjusted',
  'wallet.frozen',
  'wallet.unfrozen',
  'wallet.closed',
  'review_case.opened',
  'review_case.resolved',
  FAILING_EVENT_TYPE,
  'webhook_endpoint.disabled',
] as const;

/** Sent to one endpoint on request; endpoints cannot subscribe to it. */
export const TEST_EVENT_TYPE = 'webhook.test';

export type EventType = (typeof EVENT_TYPES)[number];

/** An event about a resource, by its public id, that is written with a movement. `data`: the payload. */
export const newEvent = (type: EventType, resource: string, data: EventRow['data']): EventRow => ({
  id: newUuid(),
  type,
  resource,
  data,
  createdAt: new Date(),
});

/** Money came to the balance of a wallet: with the credit that brought it, if one did, and what else it is about. */
export function walletCredited(
  walletId: Uuid,
  amount: Kobo,
  about: Record<string, unknown>,
  credit?: { id: Uuid; sessionId: string },
): EventRow {
  const id = publicId('wallet', walletId);
  const inboundCreditId = credit === undefined ? null : publicId('inboundCredit', credit.id);
  const data = { walletId: id, inboundCreditId, amount, currency: CURRENCY, sessionId: credit?.sessionId ?? null };
  return newEvent('wallet.credited', id, { ...data, ...about });
}

export interface Event {
  id: Uuid;
  type: string;
  /** The public id of what it is about. */
  resource: string;
  /** Rises by one with every event of the resource. */
  sequence: number;
  data: Record<string, unknown>;
  createdAt: Date;
}

const table = bookTable<Event>('events', (sql) => sql`id, type, resource, sequence, data, created_at`);
export const findEvent = table.find;

/** An event has the time of its decision. It may be committed later: requests are retried while the database stalls. */
export const SETTLED_AFTER_SECONDS = 120;

/** SQL: the events of a payment and of its review cases. */
const ofPayment = (sql: Sql, { organisationId, environment }: Book, resource: string, paymentId: Uuid) => sql`
  AND type <> 'transfer.completed' AND resource = ANY (ARRAY(
    SELECT ${resource} UNION ALL
    SELECT ledger.public_id(r.id, 'rev') FROM review_cases r
    WHERE r.organisation_id = ${organisationId} AND r.environment = ${environment} AND r.payment_id = ${paymentId}))`;

/** SQL: the event of a transfer, which has its time. The index by resource has none of transfers. */
const ofTransfer = (sql: Sql, { organisationId }: Book, resource: string, transferId: Uuid) => sql`
  AND resource = ${resource}
  AND created_at = (SELECT created_at FROM transfers WHERE organisation_id = ${organisationId} AND id = ${transferId})`;

/**
 * A page of events, plus one row when another page exists. Those of one resource, by its public id, are by their
 * sequence. Others, oldest first, are settled ones, so that who reads on from the last one misses none.
 */
export async function listEvents(
  sql: Sql,
  book: Book,
  { resourceId = '', type, ...filters }: FiltersOf<Event, 'type'> & { resourceId?: string | undefined },
  page: PageRequest,
): Promise<Event[]> {
  const paymentId = parseId('payment', resourceId);
  const transferId = parseId('transfer', resourceId);
  const ofType = type === undefined ? sql`` : sql`AND type = ${literalOf(sql, type)}`;
  if (resourceId === '' || paymentId !== null || transferId !== null) {
    return await sql<Event[]>`
      ${table.rowsOf(sql, book)}
      ${paymentId === null ? sql`` : ofPayment(sql, book, resourceId, paymentId)}
      ${transferId === null ? sql`` : ofTransfer(sql, book, resourceId, transferId)}
      ${ofType}
      ${page.order === 'asc' ? sql`AND created_at < now() - make_interval(secs => ${SETTLED_AFTER_SECONDS})` : sql``}
      ${pageClause(sql, book, filters, page)}`;
  }
  const { after, limit } = page;
  const [direction, isAfter] = directionOf(sql, page);
  const last = sql`
    SELECT e.sequence FROM events e WHERE e.organisation_id = ${book.organisationId} AND e.id = ${after?.id ?? null}`;
  return await sql<Event[]>`
    ${table.rowsOf(sql, book)} AND resource = ${resourceId} AND type <> 'transfer.completed' ${ofType}
    ${filterClause(sql, book, filters)}
    ${after === null ? sql`` : sql`AND sequence ${isAfter} (${last})`}
    ORDER BY sequence ${direction} LIMIT ${limit + 1}`;
}

/** The sequence of a test event in the response of its `outcome`, which the statement replaces by the real one. */
export const SEQUENCE_UNKNOWN = -1;

/** Writes a test event for one endpoint, whatever types it subscribes to. Returns its sequence. */
export async function insertTestEvent(
  sql: Sql,
  book: Book,
  endpointId: Uuid,
  { id, type, resource, data, createdAt }: Omit<Event, 'sequence'>,
  outcome?: IdempotencyOutcome,
): Promise<number> {
  const { organisationId, environment } = book;
  const response = sql`
    replace(${outcome?.response ?? null}::text, ${`"sequence":${SEQUENCE_UNKNOWN}`}, '"sequence":' || inserted.sequence)`;
  const { sequence } = await rowOf(sql<{ sequence: number }[]>`
    WITH inserted AS (
      SELECT ledger.insert_event(${organisationId}, ${environment}, ${id}, ${type}, ${resource},
                                ${JSON.stringify(data)}::text::json, ${createdAt}, w.id) AS sequence
      FROM (
        SELECT id FROM webhook_endpoints
        WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ${endpointId}
        FOR NO KEY UPDATE
      ) w
    )${keepOutcome(sql, book, outcome, sql`inserted`, response)}
    SELECT sequence FROM inserted`);
  return sequence;
}
