// Redelivers what an endpoint did not receive, after its owner has fixed it: for operators, and for the owner.
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { FAILING_EVENT_TYPE, SETTLED_AFTER_SECONDS, TEST_EVENT_TYPE } from '../resources/events.ts';
import type { Proof } from '../resources/proofs.ts';
import type { PendingDelivery } from './deliveries.ts';
import type { WebhookEndpoint } from './endpoints.ts';

/** Deliveries that one statement reopens. */
const PAGE_SIZE = 500;

export interface FailedDeliveries {
  endpointId: Uuid;
  /** Of deliveries created in this range; null: no limit. */
  from: Date | null;
  to: Date | null;
}

type BookAndStatus = Book & { status: PendingDelivery['endpointStatus'] };

export async function findEndpoint(sql: Sql, endpointId: Uuid): Promise<BookAndStatus | null> {
  const [row] = await sql<BookAndStatus[]>`
    SELECT organisation_id, environment, CASE WHEN deleted_at IS NULL THEN status ELSE 'deleted' END AS status
    FROM webhook_endpoints WHERE id = ${endpointId}`;
  return row ?? null;
}

/** SQL: queues the redelivery of the events `opened`. */
const queuedAfterOpened = (sql: Sql, book: Book, endpointId: Uuid) => sql`
  queued AS (
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT ${book.organisationId}::uuid, ${book.environment}::text, 'event',
           jsonb_build_object('eventId', event_id, 'endpointId', ${endpointId}::text, 'redelivery', true)
    FROM opened
  )`;

/**
 * Reopens the deliveries whose attempts are exhausted, each with the whole schedule of attempts. Each page is one
 * statement with its messages to the relay and its audit entry, so a command that is interrupted can be run again.
 * Returns their number.
 */
export async function redeliverFailed(
  sql: Sql,
  book: Book,
  { endpointId, from, to }: FailedDeliveries,
  { proof, reason }: { proof: Proof; reason: string },
): Promise<number> {
  const { organisationId, environment } = book;
  let redelivered = 0;
  let after: Uuid | null = null;
  for (;;) {
    const page: { eventId: Uuid }[] = await sql<{ eventId: Uuid }[]>`
      WITH failed AS (
        SELECT event_id FROM webhook_deliveries
        WHERE organisation_id = ${organisationId} AND environment = ${environment} AND endpoint_id = ${endpointId}
          AND failure_reason = 'retries_exhausted'
          ${after === null ? sql`` : sql`AND event_id > ${after}`}
          ${from === null ? sql`` : sql`AND created_at >= ${from}`}
          ${to === null ? sql`` : sql`AND created_at < ${to}`}
        ORDER BY event_id LIMIT ${PAGE_SIZE} FOR UPDATE
      ), opened AS (
        UPDATE webhook_deliveries d SET status = 'pending', failure_reason = NULL, attempts = 0, next_attempt_at = now()
        FROM failed f
        WHERE d.organisation_id = ${organisationId} AND d.event_id = f.event_id AND d.endpoint_id = ${endpointId}
        RETURNING d.event_id
      ), ${queuedAfterOpened(sql, book, endpointId)}, audited AS (
        SELECT ledger.audit(${organisationId}, ${environment}, ${proof}, 'webhooks.redeliver',
                            ${publicId('webhookEndpoint', endpointId)}, ${reason}::text || ' (' || count(*) || ' deliveries)') AS actor
        FROM opened HAVING count(*) > 0
      )
      SELECT event_id FROM opened, audited ORDER BY event_id`;
    redelivered += page.length;
    after = page.at(-1)?.eventId ?? after;
    if (page.length < PAGE_SIZE) return redelivered;
  }
}

/** Events that one request of the owner looks at. */
const EVENTS_PER_REQUEST_MAX = 10 * PAGE_SIZE;

/**
 * Sends an endpoint every event since a time that it subscribes to and has not received: its failed deliveries, and the
 * events of a time when it was disabled, but not from before it existed. Looks at a bounded number of events, oldest
 * first, a page with one statement. Returns how many are sent again, and from when a further call continues; null:
 * there are no more.
 */
export async function redeliverSince(
  sql: Sql,
  book: Book,
  { id, eventTypes, createdAt }: Pick<WebhookEndpoint, 'id' | 'eventTypes' | 'createdAt'>,
  since: Date,
): Promise<{ redelivered: number; continueFrom: Date | null }> {
  let redelivered = 0;
  let after: { createdAt: Date; id: Uuid } | null = null;
  for (let looked = 0; looked < EVENTS_PER_REQUEST_MAX; looked += PAGE_SIZE) {
    const [last]: RedeliveredPage[] = await sql<RedeliveredPage[]>`
      WITH page AS (
        SELECT id, created_at FROM events
        WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
          AND created_at >= greatest(${since}, ${createdAt}) AND created_at < now() - make_interval(secs => ${SETTLED_AFTER_SECONDS})
          ${after === null ? sql`` : sql`AND (created_at, id) > (${after.createdAt}, ${after.id})`}
          ${eventTypes === null ? sql`` : sql`AND type = ANY (${[...eventTypes]}::text[])`}
          AND type <> ${TEST_EVENT_TYPE}
          AND NOT (type = ${FAILING_EVENT_TYPE} AND resource = ${publicId('webhookEndpoint', id)})
        ORDER BY created_at, id LIMIT ${PAGE_SIZE}
      ), opened AS (
        INSERT INTO webhook_deliveries AS d (organisation_id, environment, event_id, endpoint_id, status)
        SELECT ${book.organisationId}::uuid, ${book.environment}::text, id, ${id}::uuid, 'pending' FROM page
        ON CONFLICT (organisation_id, event_id, endpoint_id) DO UPDATE
          SET status = 'pending', failure_reason = NULL, attempts = 0, next_attempt_at = excluded.created_at
          WHERE d.status = 'failed'
        RETURNING event_id
      ), ${queuedAfterOpened(sql, book, id)}
      SELECT id, created_at, (SELECT count(*)::int FROM opened) AS opened, (SELECT count(*)::int FROM page) AS looked
      FROM page ORDER BY created_at DESC, id DESC LIMIT 1`;
    redelivered += last?.opened ?? 0;
    if (last === undefined || last.looked < PAGE_SIZE) return { redelivered, continueFrom: null };
    after = last;
  }
  return { redelivered, continueFrom: after?.createdAt ?? null };
}

/** The last event of a page, with the numbers of those that are sent again, and of all. */
interface RedeliveredPage {
  id: Uuid;
  createdAt: Date;
  opened: number;
  looked: number;
}
