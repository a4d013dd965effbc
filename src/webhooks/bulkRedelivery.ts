// Redelivers what an endpoint did not receive, after its owner has fixed it: for operators, and for the owner.
import type postgres from 'postgres';
import { firstOf, readDatabaseTime, type Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { FAILING_EVENT_TYPE, SETTLED_AFTER_SECONDS, TEST_EVENT_TYPE } from '../resources/events.ts';
import type { Proof } from '../resources/proofs.ts';
import { type PendingDelivery, reopened } from './deliveries.ts';
import type { WebhookEndpoint } from './endpoints.ts';

/** Deliveries that one statement reopens. */
const PAGE_SIZE = 500;

type BookAndStatus = Book & { status: PendingDelivery['endpointStatus'] };

export const findEndpoint = (sql: Sql, endpointId: Uuid): Promise<BookAndStatus | null> =>
  firstOf(sql<BookAndStatus[]>`
    SELECT organisation_id, environment, CASE WHEN deleted_at IS NULL THEN status ELSE 'deleted' END AS status
    FROM webhook_endpoints WHERE id = ${endpointId}`);

export interface FailingEndpoint extends Book {
  id: Uuid;
  failingSince: Date;
  /** Deliveries that wait for it, counted up to `WAITING_COUNTED_MAX`. */
  waiting: number;
  nextAttemptAt: Date | null;
}

const WAITING_COUNTED_MAX = 10_000;

/** The endpoints at which every attempt fails, the longest first. For operators: of every organisation. */
export const listFailingEndpoints = (sql: Sql): Promise<FailingEndpoint[]> => sql<FailingEndpoint[]>`
    SELECT w.organisation_id, w.environment, w.id, w.failing_since, d.waiting, d.next_attempt_at
    FROM webhook_endpoints w
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS waiting, min(next_attempt_at) AS next_attempt_at FROM (
        SELECT next_attempt_at FROM webhook_deliveries
        WHERE organisation_id = w.organisation_id AND environment = w.environment AND endpoint_id = w.id
          AND status = 'pending'
        ORDER BY next_attempt_at LIMIT ${WAITING_COUNTED_MAX}
      ) p
    ) d
    WHERE w.failing_since IS NOT NULL AND w.status = 'enabled' AND w.deleted_at IS NULL
    ORDER BY w.failing_since, w.id`;

/**
 * Makes the deliveries due that have failed, each with the whole schedule of attempts, and those that wait for a later
 * one; not those that were reopened and ended without an attempt, as of a disabled endpoint. `from` and `to`: of those
 * created in this range; null: no limit. Each page is one statement with its audit entry, so a command that is
 * interrupted can be run again. Returns their number.
 */
export async function redeliverFailed(
  sql: Sql,
  book: Book,
  { endpointId, from, to }: { endpointId: Uuid; from: Date | null; to: Date | null },
  { proof, reason }: { proof: Proof; reason: string },
): Promise<number> {
  const { organisationId, environment } = book;
  const begunAt = await readDatabaseTime(sql);
  // Those that were attempted since are not wanted: they have been reopened.
  const wanted = (order: 'created_at' | 'next_attempt_at', condition: postgres.Fragment) => sql`
    (SELECT event_id FROM webhook_deliveries
     WHERE organisation_id = ${organisationId} AND environment = ${environment} AND endpoint_id = ${endpointId}
       AND ${condition} AND attempted_at < ${begunAt}
       ${from === null ? sql`` : sql`AND created_at >= ${from}`}
       ${to === null ? sql`` : sql`AND created_at < ${to}`}
     ORDER BY ${sql(order)} LIMIT ${PAGE_SIZE})`;
  let redelivered = 0;
  for (;;) {
    const page = await sql`
      WITH failed AS (
        ${wanted('created_at', sql`status = 'failed' AND attempts > 0`)}
        UNION ALL ${wanted('next_attempt_at', sql`status = 'pending' AND next_attempt_at > now()`)}
      ), opened AS (
        UPDATE webhook_deliveries r SET ${reopened(sql)}
        FROM failed f
        WHERE r.organisation_id = ${organisationId} AND r.event_id = f.event_id AND r.endpoint_id = ${endpointId}
          AND r.status <> 'delivered'
        RETURNING r.event_id
      ), audited AS (
        SELECT ledger.audit(${organisationId}, ${environment}, ${proof}, 'webhooks.redeliver',
                            ${publicId('webhookEndpoint', endpointId)}, ${reason}::text || ' (' || count(*) || ' deliveries)') AS actor
        FROM opened HAVING count(*) > 0
      )
      SELECT event_id FROM opened, audited`;
    redelivered += page.length;
    if (page.length === 0) return redelivered;
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
        INSERT INTO webhook_deliveries AS r (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at)
        SELECT ${book.organisationId}::uuid, ${book.environment}::text, id, ${id}::uuid, 'pending', now() FROM page
        ON CONFLICT (organisation_id, event_id, endpoint_id) DO UPDATE SET ${reopened(sql)} WHERE r.status = 'failed'
        RETURNING event_id
      )
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
