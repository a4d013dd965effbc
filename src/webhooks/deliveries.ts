// Queries of webhook deliveries (one event to one endpoint) and of the log of their attempts.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { FAILING_EVENT_TYPE, TEST_EVENT_TYPE } from '../resources/events.ts';
import { type ListFilters, type PageRequest, pageClause } from '../resources/pages.ts';
import type { DeliveryFailure } from '../workflows/webhookDelivery/messages.ts';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';
/** Why an attempt got no response. */
export type AttemptError =
  | 'timeout'
  | 'url_forbidden'
  | 'address_forbidden'
  | 'name_not_resolved'
  | 'connection_failed'
  | 'connection_lost'
  | 'tls_failed'
  | 'answer_unreadable';

/** The result of one attempt: a response, or the reason why there was none. */
export interface AttemptResult {
  attemptedAt: Date;
  durationMs: number;
  responseStatus: number | null;
  /** The start of the response body. */
  responseBody: string | null;
  error: AttemptError | null;
}

/** A delivery with its event and endpoint: everything that an attempt needs. */
export interface PendingDelivery {
  eventId: Uuid;
  endpointId: Uuid;
  type: string;
  createdAt: Date;
  resource: string;
  sequence: number;
  /** The payload's JSON text as stored: every attempt sends the same bytes. */
  data: string;
  status: DeliveryStatus;
  failureReason: DeliveryFailure | null;
  /** Scheduled attempts made so far; also the row version for optimistic concurrency. */
  attempts: number;
  /** The time until the next attempt, by the clock of the database; 0 when it is due. */
  waitMs: number;
  url: string;
  endpointStatus: 'enabled' | 'disabled' | 'deleted';
  /** Whether its last attempt failed, of any event. */
  endpointIsFailing: boolean;
  /** The event that the other endpoints get if one more attempt fails; null: none. */
  endpointNotice: 'failing' | 'disabled' | null;
  sealedSecret: string;
  /** Null when no rotation is in progress. */
  sealedPreviousSecret: string | null;
}

/** An endpoint at which every attempt has failed for this long is disabled. */
const DISABLED_AFTER_DAYS = 5;

/** SQL: whether the endpoint `w` is to be disabled. */
export const hasFailedForDays = (sql: Sql) => sql`
  w.failing_since <= now() - make_interval(days => ${DISABLED_AFTER_DAYS})`;

/**
 * After this long the other endpoints get `webhook_endpoint.failing`. A restart or a deployment is over by then, and an
 * event's first four attempts, within 36 minutes, have failed.
 */
const REPORTED_AFTER_HOURS = 1;

/** SQL: whether the endpoint `w` has failed for that long without an event about it since its last success. */
export const isUnreported = (sql: Sql) => sql`
  w.failing_since <= now() - make_interval(hours => ${REPORTED_AFTER_HOURS})
  AND (w.failing_event_at IS NULL OR w.failing_event_at < w.failing_since)`;

/** The statement that inserts a delivery does not see its row yet (same snapshot): hence the `coalesce` defaults. */
const pendingDeliveryColumns = (sql: Sql) => sql`
  e.id AS event_id, w.id AS endpoint_id, e.type, e.created_at, e.resource, e.sequence, e.data::text AS data,
  coalesce(d.status, 'pending') AS status, d.failure_reason, coalesce(d.attempts, 0) AS attempts,
  coalesce(greatest(0, extract(epoch FROM d.next_attempt_at - now()) * 1000), 0)::float8 AS wait_ms,
  w.url, CASE WHEN w.deleted_at IS NULL THEN w.status ELSE 'deleted' END AS endpoint_status, w.sealed_secret,
  w.failing_since IS NOT NULL AS endpoint_is_failing,
  CASE WHEN ${hasFailedForDays(sql)} THEN 'disabled' WHEN ${isUnreported(sql)} THEN 'failing' END AS endpoint_notice,
  CASE WHEN w.previous_secret_until > now() THEN w.sealed_previous_secret END AS sealed_previous_secret`;

const joinDelivery = (sql: Sql) => sql`
  webhook_deliveries d ON d.organisation_id = e.organisation_id AND d.environment = e.environment
    AND d.event_id = e.id AND d.endpoint_id = w.id`;

const joinEndpoint = (sql: Sql) => sql`
  webhook_endpoints w ON w.organisation_id = e.organisation_id AND w.environment = e.environment`;

const isEvent = (sql: Sql, book: Book, eventId: Uuid) => sql`
  e.organisation_id = ${book.organisationId} AND e.environment = ${book.environment} AND e.id = ${eventId}`;

const isEnabled = (sql: Sql) => sql`w.status = 'enabled' AND w.deleted_at IS NULL`;

/** An endpoint that fails is not sent the event about it. */
const isSubscribed = (sql: Sql) => sql`
  ${isEnabled(sql)} AND (w.event_types IS NULL OR e.type = ANY (w.event_types)) AND e.type <> ${TEST_EVENT_TYPE}
  AND NOT (e.type = ${FAILING_EVENT_TYPE} AND e.resource = ledger.public_id(w.id, 'whe'))`;

/**
 * Creates the deliveries of a new event, to every endpoint subscribed to its type or only to `endpointId`, and returns
 * them. Idempotent: an existing delivery is returned unchanged.
 */
export async function openDeliveries(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId?: Uuid,
): Promise<PendingDelivery[]> {
  const receiver = endpointId === undefined ? isSubscribed(sql) : sql`w.id = ${endpointId}`;
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

/** Returns the deliveries of an event in any status, to all endpoints or to one. */
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

export async function findDelivery(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId: Uuid,
): Promise<PendingDelivery | null> {
  const [delivery] = await listPendingDeliveries(sql, book, eventId, endpointId);
  return delivery ?? null;
}

/**
 * Reopens deliveries of an event and queues an outbox message for the relay, in one statement. To `endpointId`, or to
 * all endpoints that have a delivery of the event or are subscribed to its type now; enabled ones only. A pending
 * delivery keeps its schedule and gets one extra attempt. Returns the endpoints.
 */
export async function requestRedelivery(sql: Sql, book: Book, eventId: Uuid, endpointId?: Uuid): Promise<Uuid[]> {
  const receiver =
    endpointId === undefined ? sql`(d.endpoint_id IS NOT NULL OR (${isSubscribed(sql)}))` : sql`w.id = ${endpointId}`;
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
        next_attempt_at = CASE WHEN r.status = 'pending' THEN r.next_attempt_at ELSE excluded.created_at END
      RETURNING r.endpoint_id
    ), queued AS (
      INSERT INTO outbox (organisation_id, environment, topic, message)
      SELECT ${book.organisationId}::uuid, ${book.environment}::text, 'event', ${JSON.stringify(message)}::text::jsonb
      WHERE EXISTS (SELECT FROM opened)
    )
    SELECT endpoint_id FROM opened ORDER BY endpoint_id`;
  return opened.map((row) => row.endpointId);
}

/**
 * The state of a delivery after an attempt. `answer` describes the endpoint's response in two words. A failed attempt
 * outside of the schedule leaves `attempts` as it was.
 */
export type AttemptOutcome =
  | { status: 'delivered'; answer: string }
  | { status: 'pending'; answer: string; attempts: number; waitMs: number }
  | { status: 'failed'; reason: DeliveryFailure; answer: string | null };

/**
 * Logs an attempt and applies its outcome to the delivery, and the first success to those that wait for the endpoint,
 * in one statement. A failure is ignored when another attempt
 * has changed the delivery since it was read (`attempts` is the version); a success always applies.
 */
export async function recordAttempt(
  sql: Sql,
  book: Book,
  delivery: Pick<PendingDelivery, 'eventId' | 'endpointId' | 'attempts' | 'endpointIsFailing'>,
  result: AttemptResult,
  outcome: AttemptOutcome,
): Promise<void> {
  const { eventId, endpointId } = delivery;
  const { status } = outcome;
  const delivered = status === 'delivered';
  const isScheduled = status !== 'pending' || outcome.attempts > delivery.attempts;
  const nextAt = status === 'pending' ? sql`now() + make_interval(secs => ${outcome.waitMs / 1000})` : null;
  await sql`
    WITH logged AS (
      INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms,
                                    response_status, response_body, error)
      VALUES (${book.organisationId}, ${book.environment}, ${eventId}, ${endpointId}, ${result.attemptedAt},
              ${result.durationMs}, ${result.responseStatus}, ${result.responseBody}, ${result.error})
    )${delivered === delivery.endpointIsFailing ? changeHealth(sql, book, endpointId, delivered) : sql``}
    ${delivered && delivery.endpointIsFailing ? resumeWaiting(sql, book, eventId) : sql``}
    UPDATE webhook_deliveries
    SET status = ${status}, attempts = attempts + 1,
        failure_reason = ${status === 'failed' ? outcome.reason : null}, next_attempt_at = ${nextAt},
        delivered_at = ${delivered ? sql`now()` : sql`delivered_at`}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId}
      ${delivered ? sql`` : sql`AND status = 'pending' AND attempts = ${delivery.attempts} AND ${isScheduled}`}`;
}

/** SQL: since when the attempts at an endpoint fail. Written only when that changes. */
const changeHealth = (sql: Sql, book: Book, endpointId: Uuid, delivered: boolean) => sql`, health AS (
      UPDATE webhook_endpoints SET failing_since = ${delivered ? null : sql`now()`}
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${endpointId}
        AND failing_since ${delivered ? sql`IS NOT NULL` : sql`IS NULL`}
      RETURNING id
    )`;

/** The pause between two deliveries that waited for an endpoint that has recovered. */
const RESUME_GAP_MS = 5;

/**
 * SQL: once an endpoint has recovered, its deliveries that wait for a later attempt are due at once, the oldest first;
 * each with a message to the relay, so that new events go between them.
 */
const resumeWaiting = (sql: Sql, book: Book, eventId: Uuid) => sql`, waiting AS (
      SELECT d.organisation_id, d.environment, d.event_id, d.endpoint_id,
             now() + (row_number() OVER (ORDER BY d.created_at, d.event_id) - 1) * ${RESUME_GAP_MS}::int * interval '1 ms' AS due
      FROM webhook_deliveries d JOIN health h ON d.endpoint_id = h.id
      WHERE d.organisation_id = ${book.organisationId} AND d.status = 'pending' AND d.next_attempt_at > now() AND d.event_id <> ${eventId}
    ), resumed AS (
      UPDATE webhook_deliveries d SET next_attempt_at = w.due
      FROM waiting w
      WHERE d.organisation_id = ${book.organisationId} AND d.event_id = w.event_id AND d.endpoint_id = w.endpoint_id
    ), queued AS (
      INSERT INTO outbox (organisation_id, environment, topic, message, available_at)
      SELECT organisation_id, environment, 'event',
             jsonb_build_object('eventId', event_id, 'endpointId', endpoint_id, 'redelivery', true), due
      FROM waiting
    )`;

/** Ends a pending delivery as failed, without another attempt. Does nothing when it has ended. */
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
  /** The latest attempts, newest first. */
  attempts: AttemptResult[];
}

/** Attempts returned per delivery: more than the whole schedule, so that redeliveries are included. */
const ATTEMPTS_LISTED_MAX = 25;

/**
 * Returns a page of an event's deliveries, or of those that failed at an endpoint, newest first, with their attempts;
 * one extra row when another page exists.
 */
export async function listDeliveries(
  sql: Sql,
  book: Book,
  of: { eventId: Uuid } | { failedAt: Uuid },
  filters: ListFilters,
  page: PageRequest,
): Promise<Delivery[]> {
  const isOfEvent = 'eventId' in of;
  const deliveries = await sql<Omit<Delivery, 'attempts'>[]>`
    SELECT event_id, endpoint_id, status, failure_reason, next_attempt_at, delivered_at, created_at
    FROM webhook_deliveries
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND ${isOfEvent ? sql`event_id = ${of.eventId}` : sql`endpoint_id = ${of.failedAt} AND status = 'failed'`}
    ${pageClause(sql, filters, page, { id: isOfEvent ? 'endpoint_id' : 'event_id' })}`;
  const attempts = await sql<(AttemptResult & Pick<Delivery, 'eventId' | 'endpointId'>)[]>`
    SELECT a.*
    FROM unnest(${deliveries.map(({ eventId }) => eventId)}::uuid[],
                ${deliveries.map(({ endpointId }) => endpointId)}::uuid[]) AS d (event_id, endpoint_id)
    CROSS JOIN LATERAL (
      SELECT event_id, endpoint_id, attempted_at, duration_ms, response_status, response_body, error
      FROM webhook_attempts
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
        AND event_id = d.event_id AND endpoint_id = d.endpoint_id
      ORDER BY attempted_at DESC, id DESC LIMIT ${ATTEMPTS_LISTED_MAX}
    ) a`;
  const keyOf = ({ eventId, endpointId }: Pick<Delivery, 'eventId' | 'endpointId'>) => `${eventId}/${endpointId}`;
  const byDelivery = Map.groupBy(attempts, keyOf);
  return deliveries.map((delivery) => ({ ...delivery, attempts: byDelivery.get(keyOf(delivery)) ?? [] }));
}
