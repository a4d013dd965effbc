// Deliveries as rows: one event to one endpoint, and the log of its attempts.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { TEST_EVENT_TYPE } from '../resources/events.ts';
import type { ListFilters, PageRequest } from '../resources/pages.ts';
import type { DeliveryFailure } from '../workflows/webhookDelivery/messages.ts';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';
/** Why an attempt got no answer. */
export type AttemptError =
  | 'timeout'
  | 'url_forbidden'
  | 'address_forbidden'
  | 'name_not_resolved'
  | 'connection_failed'
  | 'connection_lost'
  | 'tls_failed'
  | 'answer_unreadable';

/** What came of one attempt: an answer, or the reason why there was none. */
export interface AttemptResult {
  attemptedAt: Date;
  durationMs: number;
  responseStatus: number | null;
  /** The start of it. */
  responseBody: string | null;
  error: AttemptError | null;
}

/** Everything that an attempt needs to know. */
export interface PendingDelivery {
  eventId: Uuid;
  endpointId: Uuid;
  type: string;
  createdAt: Date;
  /** The payload's JSON text, as it was written: every attempt sends the same bytes. */
  data: string;
  status: DeliveryStatus;
  failureReason: DeliveryFailure | null;
  /** Attempts on the schedule so far; also the version of this row. */
  attempts: number;
  nextAttemptAt: Date | null;
  url: string;
  endpointStatus: 'enabled' | 'disabled' | 'deleted';
  sealedSecret: string;
  /** Null when no rotation is under way. */
  sealedPreviousSecret: string | null;
}

/** A delivery that has just been opened has no row yet in the eyes of the statement that opens it: hence the defaults. */
const pendingDeliveryColumns = (sql: Sql) => sql`
  e.id AS event_id, w.id AS endpoint_id, e.type, e.created_at, e.data::text AS data,
  coalesce(d.status, 'pending') AS status, d.failure_reason, coalesce(d.attempts, 0) AS attempts, d.next_attempt_at,
  w.url, CASE WHEN w.deleted_at IS NULL THEN w.status ELSE 'deleted' END AS endpoint_status, w.sealed_secret,
  CASE WHEN w.previous_secret_until > now() THEN w.sealed_previous_secret END AS sealed_previous_secret`;

const joinDelivery = (sql: Sql) => sql`
  webhook_deliveries d ON d.organisation_id = e.organisation_id AND d.environment = e.environment
    AND d.event_id = e.id AND d.endpoint_id = w.id`;

const joinEndpoint = (sql: Sql) => sql`
  webhook_endpoints w ON w.organisation_id = e.organisation_id AND w.environment = e.environment`;

const isEvent = (sql: Sql, book: Book, eventId: Uuid) => sql`
  e.organisation_id = ${book.organisationId} AND e.environment = ${book.environment} AND e.id = ${eventId}`;

const isEnabled = (sql: Sql) => sql`w.status = 'enabled' AND w.deleted_at IS NULL`;

const wantsIt = (sql: Sql) => sql`
  ${isEnabled(sql)} AND (w.event_types IS NULL OR e.type = ANY (w.event_types)) AND e.type <> ${TEST_EVENT_TYPE}`;

/**
 * Opens the deliveries of a new event, to every endpoint that wants its type or to the one that is named, and returns
 * them all. Safe to repeat: a delivery that is there already is returned as it is.
 */
export async function openDeliveries(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId?: Uuid,
): Promise<PendingDelivery[]> {
  const receiver = endpointId === undefined ? wantsIt(sql) : sql`w.id = ${endpointId}`;
  return await sql<PendingDelivery[]>`
    WITH opened AS (
      INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status)
      SELECT e.organisation_id, e.environment, e.id, w.id, 'pending'
      FROM events e JOIN ${joinEndpoint(sql)} WHERE ${isEvent(sql, book, eventId)} AND ${receiver}
      ON CONFLICT DO NOTHING
    )
    SELECT ${pendingDeliveryColumns(sql)}
    FROM events e JOIN ${joinEndpoint(sql)} LEFT JOIN ${joinDelivery(sql)}
    WHERE ${isEvent(sql, book, eventId)} AND ${receiver}`;
}

/** The deliveries of an event, of all endpoints or of one, whatever became of them. */
export async function listPendingDeliveries(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId?: Uuid,
): Promise<PendingDelivery[]> {
  return await sql<PendingDelivery[]>`
    SELECT ${pendingDeliveryColumns(sql)}
    FROM events e JOIN ${joinEndpoint(sql)} JOIN ${joinDelivery(sql)}
    WHERE ${isEvent(sql, book, eventId)} ${endpointId === undefined ? sql`` : sql`AND w.id = ${endpointId}`}`;
}

/** One delivery; null when it was never opened. */
export async function findDelivery(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId: Uuid,
): Promise<PendingDelivery | null> {
  const [parcel] = await sql<PendingDelivery[]>`
    SELECT ${pendingDeliveryColumns(sql)}
    FROM events e JOIN ${joinEndpoint(sql)} JOIN ${joinDelivery(sql)}
    WHERE ${isEvent(sql, book, eventId)} AND w.id = ${endpointId}`;
  return parcel ?? null;
}

/**
 * Opens deliveries of an event once more and tells the relay, in one statement. To the endpoint that is named, or to all
 * that had the event before or want its type now; enabled ones only. A delivery that is still under way keeps its
 * schedule and gets one more attempt. Returns the endpoints.
 */
export async function requestRedelivery(sql: Sql, book: Book, eventId: Uuid, endpointId?: Uuid): Promise<Uuid[]> {
  const receiver =
    endpointId === undefined ? sql`(d.endpoint_id IS NOT NULL OR (${wantsIt(sql)}))` : sql`w.id = ${endpointId}`;
  const message = { eventId, redelivery: true, ...(endpointId !== undefined && { endpointId }) };
  const opened = await sql<{ endpointId: Uuid }[]>`
    WITH opened AS (
      INSERT INTO webhook_deliveries AS r (organisation_id, environment, event_id, endpoint_id, status)
      SELECT e.organisation_id, e.environment, e.id, w.id, 'pending'
      FROM events e JOIN ${joinEndpoint(sql)} LEFT JOIN ${joinDelivery(sql)}
      WHERE ${isEvent(sql, book, eventId)} AND ${isEnabled(sql)} AND ${receiver}
      ON CONFLICT (organisation_id, event_id, endpoint_id) DO UPDATE SET
        status = 'pending', failure_reason = NULL,
        attempts = CASE WHEN r.status = 'pending' THEN r.attempts ELSE 0 END,
        next_attempt_at = CASE WHEN r.status = 'pending' THEN r.next_attempt_at ELSE now() END
      RETURNING r.endpoint_id
    ), told AS (
      INSERT INTO outbox (organisation_id, environment, topic, message)
      SELECT ${book.organisationId}::uuid, ${book.environment}::text, 'event', ${JSON.stringify(message)}::text::jsonb
      WHERE EXISTS (SELECT FROM opened)
    )
    SELECT endpoint_id FROM opened ORDER BY endpoint_id`;
  return opened.map((row) => row.endpointId);
}

/** What an attempt makes of its delivery. `extra`: it was none of the schedule's, and its failure changes nothing. */
export type AttemptVerdict =
  | { kind: 'delivered' }
  | { kind: 'again'; at: Date }
  | { kind: 'failed'; reason: DeliveryFailure }
  | { kind: 'extra' };

/**
 * Writes an attempt into the log and its verdict onto the delivery, in one statement. A failure changes nothing on a
 * delivery that another attempt has moved on meanwhile; a success always counts.
 */
export async function recordAttempt(
  sql: Sql,
  book: Book,
  parcel: Pick<PendingDelivery, 'eventId' | 'endpointId' | 'attempts'>,
  result: AttemptResult,
  verdict: AttemptVerdict,
): Promise<void> {
  const { eventId, endpointId } = parcel;
  const delivered = verdict.kind === 'delivered';
  const status = delivered || verdict.kind === 'failed' ? verdict.kind : 'pending';
  await sql`
    WITH logged AS (
      INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms,
                                    response_status, response_body, error)
      VALUES (${book.organisationId}, ${book.environment}, ${eventId}, ${endpointId}, ${result.attemptedAt},
              ${result.durationMs}, ${result.responseStatus}, ${result.responseBody}, ${result.error})
    )
    UPDATE webhook_deliveries
    SET status = ${status}, attempts = attempts + 1,
        failure_reason = ${verdict.kind === 'failed' ? verdict.reason : null},
        next_attempt_at = ${verdict.kind === 'again' ? verdict.at : null},
        delivered_at = ${delivered ? sql`now()` : sql`delivered_at`}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId}
      AND ${delivered ? sql`true` : sql`status = 'pending' AND attempts = ${parcel.attempts} AND ${verdict.kind !== 'extra'}`}`;
}

/** Has a failed delivery tried anew from now on, by the whole schedule. */
export async function reopenDelivery(
  sql: Sql,
  book: Book,
  { eventId, endpointId }: Pick<PendingDelivery, 'eventId' | 'endpointId'>,
): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET status = 'pending', failure_reason = NULL, attempts = 0, next_attempt_at = now()
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId} AND status = 'failed'`;
}

/** Ends a delivery without another attempt, unless it has ended. */
export async function endDelivery(
  sql: Sql,
  book: Book,
  { eventId, endpointId }: Pick<PendingDelivery, 'eventId' | 'endpointId'>,
  reason: DeliveryFailure,
): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET status = 'failed', failure_reason = ${reason}, next_attempt_at = NULL
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId} AND status = 'pending'`;
}

export interface Delivery {
  eventId: Uuid;
  endpointId: Uuid;
  status: DeliveryStatus;
  failureReason: DeliveryFailure | null;
  nextAttemptAt: Date | null;
  deliveredAt: Date | null;
  createdAt: Date;
  /** The latest ones, newest first. */
  attempts: AttemptResult[];
}

/** A delivery shows this many of its attempts: the whole schedule, and room for redeliveries. */
const ATTEMPTS_SHOWN_MAX = 25;

/** A page of an event's deliveries, newest first, each with its attempts, and one more when another page exists. */
export async function listDeliveries(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  filters: ListFilters,
  page: PageRequest,
): Promise<Delivery[]> {
  const deliveries = await sql<Omit<Delivery, 'attempts'>[]>`
    SELECT event_id, endpoint_id, status, failure_reason, next_attempt_at, delivered_at, created_at
    FROM webhook_deliveries
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND event_id = ${eventId}
    ${page.after ? sql`AND (created_at, endpoint_id) < (${page.after.createdAt}, ${page.after.id})` : sql``}
    ${filters.createdAtFrom ? sql`AND created_at >= ${filters.createdAtFrom}` : sql``}
    ${filters.createdAtTo ? sql`AND created_at <= ${filters.createdAtTo}` : sql``}
    ORDER BY created_at DESC, endpoint_id DESC LIMIT ${page.limit + 1}`;
  const attempts = await sql<(AttemptResult & { endpointId: Uuid })[]>`
    SELECT a.*
    FROM unnest(${deliveries.map((delivery) => delivery.endpointId)}::uuid[]) AS w (id)
    CROSS JOIN LATERAL (
      SELECT endpoint_id, attempted_at, duration_ms, response_status, response_body, error
      FROM webhook_attempts
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND event_id = ${eventId}
        AND endpoint_id = w.id
      ORDER BY id DESC LIMIT ${ATTEMPTS_SHOWN_MAX}
    ) a`;
  const byEndpoint = Map.groupBy(attempts, (attempt) => attempt.endpointId);
  return deliveries.map((delivery) => ({ ...delivery, attempts: byEndpoint.get(delivery.endpointId) ?? [] }));
}
