// Queries of webhook deliveries (one event to one endpoint) and of the log of their attempts.
import { firstOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { FAILING_EVENT_TYPE, TEST_EVENT_TYPE } from '../resources/events.ts';
import { type ListFilters, type PageRequest, pageClause } from '../resources/pages.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export const DELIVERY_FAILURES = ['retries_exhausted', 'endpoint_disabled', 'endpoint_deleted'] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];
/** Why an attempt got no response. */
export const ATTEMPT_ERRORS = [
  'timeout',
  'url_forbidden',
  'address_forbidden',
  'name_not_resolved',
  'connection_failed',
  'connection_lost',
  'tls_failed',
  'answer_unreadable',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

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
  status: (typeof DELIVERY_STATUSES)[number];
  /** Attempts of the schedule made so far; also the row version for optimistic concurrency. */
  attempts: number;
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
  coalesce(d.status, 'pending') AS status, coalesce(d.attempts, 0) AS attempts,
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
 * How long a process has an attempt to itself: longer than one takes. When it dies, the delivery is due again after it.
 */
const LEASE_SECONDS = 60;

/**
 * Creates the deliveries of a new event, to every endpoint subscribed to its type or only to `endpointId` (a test of
 * it), and returns those that the caller attempts now. To an endpoint with an outage only a test is attempted now; all
 * else is due with its retries, which are limited. One that exists already is not returned: it is attempted when it is
 * due.
 */
export async function openDeliveries(
  sql: Sql,
  book: Book,
  eventId: Uuid,
  endpointId?: Uuid,
): Promise<PendingDelivery[]> {
  const receiver = endpointId === undefined ? isSubscribed(sql) : sql`w.id = ${endpointId}`;
  const isAttempted = endpointId === undefined ? sql`NOT ${hasOutage(sql)}` : sql`true`;
  return await sql<PendingDelivery[]>`
    WITH opened AS (
      INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at)
      SELECT e.organisation_id, e.environment, e.id, w.id, 'pending',
             now() + make_interval(secs => CASE WHEN ${isAttempted} THEN ${LEASE_SECONDS}::int ELSE 0 END)
      FROM events e JOIN ${joinEndpoint(sql)} WHERE ${isEvent(sql, book, eventId)} AND ${receiver}
      ON CONFLICT DO NOTHING
      RETURNING endpoint_id
    )
    SELECT ${pendingDeliveryColumns(sql)}
    FROM opened o JOIN events e ON ${isEvent(sql, book, eventId)} JOIN ${joinEndpoint(sql)} AND w.id = o.endpoint_id
    LEFT JOIN ${joinDelivery(sql)} WHERE ${isAttempted}`;
}

/** Makes new deliveries due that the process which opened them has not attempted. */
export async function leaveDue(sql: Sql, book: Book, eventId: Uuid, endpointIds: readonly Uuid[]): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET next_attempt_at = now()
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND event_id = ${eventId}
      AND endpoint_id = ANY (${[...endpointIds]}::uuid[]) AND status = 'pending' AND attempted_at IS NULL`;
}

/** A delivery that this process has claimed, and attempts. */
export type ClaimedDelivery = Book & Pick<PendingDelivery, 'eventId' | 'endpointId'>;

/** Claims at most `max` due deliveries, in turns of the endpoints from the one behind `after` on. */
export const claimDeliveries = (
  sql: Sql,
  { after, max, atOnce }: { after: Uuid | null; max: number; atOnce: number },
): Promise<ClaimedDelivery[]> => sql<ClaimedDelivery[]>`
    SELECT organisation_id, environment, event_id, endpoint_id
    FROM ledger.claim_deliveries(${after}, ${max}, ${atOnce}, ${LEASE_SECONDS})`;

export const findDelivery = (sql: Sql, book: Book, eventId: Uuid, endpointId: Uuid): Promise<PendingDelivery | null> =>
  firstOf(sql<PendingDelivery[]>`
    SELECT ${pendingDeliveryColumns(sql)}
    FROM events e JOIN ${joinEndpoint(sql)} JOIN ${joinDelivery(sql)}
    WHERE ${isEvent(sql, book, eventId)} AND w.id = ${endpointId}`);

/**
 * SQL: what reopens a delivery `r` that exists: it is due now, and one that has ended has the whole schedule again. One
 * that waits gets an extra attempt, and the same gap after it.
 */
export const reopened = (sql: Sql) => sql`
  status = 'pending', failure_reason = NULL, next_attempt_at = now(), claimed_until = NULL,
  attempts = CASE WHEN r.status = 'pending' THEN greatest(0, r.attempts - 1) ELSE 0 END`;

/**
 * Makes deliveries of an event due now. To `endpointId`, or to all endpoints that have a delivery of the event or are
 * subscribed to its type now; enabled ones only. Returns the endpoints.
 */
export async function requestRedelivery(sql: Sql, book: Book, eventId: Uuid, endpointId?: Uuid): Promise<Uuid[]> {
  const receiver =
    endpointId === undefined ? sql`(d.endpoint_id IS NOT NULL OR (${isSubscribed(sql)}))` : sql`w.id = ${endpointId}`;
  const opened = await sql<{ endpointId: Uuid }[]>`
    INSERT INTO webhook_deliveries AS r (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at)
    SELECT e.organisation_id, e.environment, e.id, w.id, 'pending', now()
    FROM events e JOIN ${joinEndpoint(sql)} LEFT JOIN ${joinDelivery(sql)}
    WHERE ${isEvent(sql, book, eventId)} AND ${isEnabled(sql)} AND ${receiver}
    ORDER BY w.id -- two requests at once lock the rows in the same order
    ON CONFLICT (organisation_id, event_id, endpoint_id) DO UPDATE SET ${reopened(sql)}
    RETURNING endpoint_id`;
  return opened.map((row) => row.endpointId).toSorted();
}

/** The state of a delivery after an attempt. `answer` describes the endpoint's response in two words. */
export type AttemptOutcome =
  | { status: 'delivered'; answer: string }
  | { status: 'pending'; answer: string; waitMs: number }
  | { status: 'failed'; reason: DeliveryFailure; answer: string | null };

/**
 * Logs an attempt and applies its outcome to the delivery, in one statement. A failure is ignored when another attempt
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
  const nextAt = status === 'pending' ? sql`now() + make_interval(secs => ${outcome.waitMs / 1000})` : null;
  await sql`
    WITH logged AS (
      INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms,
                                    response_status, response_body, error)
      VALUES (${book.organisationId}, ${book.environment}, ${eventId}, ${endpointId}, ${result.attemptedAt},
              ${result.durationMs}, ${result.responseStatus}, ${result.responseBody}, ${result.error})
    )${delivered === delivery.endpointIsFailing ? changeHealth(sql, book, endpointId, delivered) : sql``}
    UPDATE webhook_deliveries
    SET status = ${status}, attempts = attempts + 1, attempted_at = now(), claimed_until = NULL,
        failure_reason = ${status === 'failed' ? outcome.reason : null}, next_attempt_at = ${nextAt},
        delivered_at = ${delivered ? sql`now()` : sql`delivered_at`}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId}
      ${delivered ? sql`` : sql`AND status = 'pending' AND attempts = ${delivery.attempts}`}`;
}

/** A single event that an endpoint refuses is no outage. */
const OUTAGE_SECONDS = 60;

/** SQL: whether all attempts at the endpoint `w` have failed for a minute. */
const hasOutage = (sql: Sql) => sql`
  coalesce(w.failing_since <= now() - make_interval(secs => ${OUTAGE_SECONDS}), false)`;

/**
 * SQL: since when the attempts at an endpoint fail. Written only when that changes. The first success after an outage
 * is a recovery: what waits is due at once. Once a day, so that events which it refuses, beside others that it takes,
 * keep attempts.
 */
const changeHealth = (sql: Sql, book: Book, endpointId: Uuid, delivered: boolean) => sql`, health AS (
      UPDATE webhook_endpoints w SET failing_since = ${delivered ? null : sql`now()`}${
        delivered
          ? sql`,
        recovered_at = CASE WHEN ${hasOutage(sql)}
          AND coalesce(recovered_at < now() - interval '1 day', true) THEN now() ELSE recovered_at END`
          : sql``
      }
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${endpointId}
        AND failing_since ${delivered ? sql`IS NOT NULL` : sql`IS NULL`}
    )`;

/** Ends a pending delivery as failed, without another attempt. Does nothing when it has ended. */
export async function endDelivery(
  sql: Sql,
  book: Book,
  { eventId, endpointId }: Pick<PendingDelivery, 'eventId' | 'endpointId'>,
  reason: DeliveryFailure,
): Promise<void> {
  await sql`
    UPDATE webhook_deliveries SET status = 'failed', failure_reason = ${reason}, next_attempt_at = NULL, claimed_until = NULL
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND event_id = ${eventId} AND endpoint_id = ${endpointId} AND status = 'pending'`;
}

export interface Delivery extends Pick<PendingDelivery, 'eventId' | 'endpointId' | 'status'> {
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
    SELECT event_id, endpoint_id, status, failure_reason, delivered_at, created_at,
           CASE WHEN next_attempt_at > now() AND attempted_at IS NOT NULL THEN next_attempt_at END AS next_attempt_at
    FROM webhook_deliveries
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND ${isOfEvent ? sql`event_id = ${of.eventId}` : sql`endpoint_id = ${of.failedAt} AND status = 'failed'`}
    ${pageClause(sql, book, filters, page, { id: isOfEvent ? 'endpoint_id' : 'event_id' })}`;
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
