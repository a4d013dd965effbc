// Queries of webhook endpoints: URL, subscribed event types and signing secrets.
import { firstOf, type Sql } from '../database/pool.ts';
import { newUuid, publicId, type Uuid } from '../ids.ts';
import { keepOutcome } from '../ledger/keepOutcome.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { bookTable } from '../resources/bookTable.ts';
import { type EventType, FAILING_EVENT_TYPE } from '../resources/events.ts';
import { viewOf } from '../resources/publicFields.ts';
import { webhookEndpoint } from '../resources/publicSchemas.ts';
import { hasFailedForDays, isUnreported } from './deliveries.ts';
import type { SealedSecrets } from './signature.ts';

/**
 * Endpoints per organisation and environment. Every event goes to each of them, so their number multiplies the traffic.
 */
export const WEBHOOK_ENDPOINTS_MAX = 20;

export interface WebhookEndpoint {
  id: Uuid;
  url: string;
  description: string | null;
  /** Null: all types. */
  eventTypes: EventType[] | null;
  status: 'enabled' | 'disabled';
  /** The first failed attempt since the last one that succeeded. */
  failingSince: Date | null;
  /** During a rotation: when the previous secret stops signing. */
  previousSecretUntil: Date | null;
  createdAt: Date;
}

/** `columns` are not for RETURNING, which names columns only (CONTRIBUTING.md, Statements). */
const table = bookTable<WebhookEndpoint>(
  'webhook_endpoints',
  (sql) => sql`
    id, url, description, event_types, status, failing_since, created_at,
    CASE WHEN previous_secret_until > now() THEN previous_secret_until END AS previous_secret_until`,
  (sql) => sql`deleted_at IS NULL`,
);
export const { find: findWebhookEndpoint, list: listWebhookEndpoints } = table;

const existing = (sql: Sql, book: Book) => sql`
  organisation_id = ${book.organisationId} AND environment = ${book.environment} AND deleted_at IS NULL`;

/** Registers an endpoint; false when the book has reached WEBHOOK_ENDPOINTS_MAX. */
export async function insertWebhookEndpoint(
  sql: Sql,
  book: Book,
  endpoint: Omit<WebhookEndpoint, 'previousSecretUntil' | 'failingSince'>,
  sealedSecret: string,
  outcome?: IdempotencyOutcome,
): Promise<boolean> {
  const inserted = await sql`
    WITH inserted AS (
      INSERT INTO webhook_endpoints (organisation_id, environment, id, url, description, event_types, status,
                                     sealed_secret, created_at)
      SELECT ${book.organisationId}::uuid, ${book.environment}::text, ${endpoint.id}::uuid, ${endpoint.url}::text,
             ${endpoint.description}::text, ${endpoint.eventTypes}::text[], ${endpoint.status}::text,
             ${sealedSecret}::text, ${endpoint.createdAt}::timestamptz
      WHERE (SELECT count(*) FROM webhook_endpoints WHERE ${existing(sql, book)}) < ${WEBHOOK_ENDPOINTS_MAX}
      RETURNING id
    )${keepOutcome(sql, book, outcome, sql`inserted`)}
    SELECT FROM inserted`;
  return inserted.count === 1;
}

export type WebhookEndpointChanges = {
  [Field in 'url' | 'description' | 'eventTypes' | 'status']?: WebhookEndpoint[Field] | undefined;
};

/**
 * Updates the given fields only. With a new URL, or enabled again, the endpoint starts afresh. Null when there is none.
 */
export const updateWebhookEndpoint = (
  sql: Sql,
  book: Book,
  id: Uuid,
  { url, description, eventTypes, status }: WebhookEndpointChanges,
): Promise<WebhookEndpoint | null> =>
  firstOf(sql<WebhookEndpoint[]>`
    WITH changed AS (
      UPDATE webhook_endpoints SET
        url = ${url === undefined ? sql`url` : url},
        description = ${description === undefined ? sql`description` : description},
        event_types = ${eventTypes === undefined ? sql`event_types` : eventTypes},
        status = ${status === undefined ? sql`status` : status},
        failing_since = ${status === 'enabled' || url !== undefined ? null : sql`failing_since`},
        recovered_at = ${status === 'enabled' || url !== undefined ? sql`now()` : sql`recovered_at`}
      WHERE ${existing(sql, book)} AND id = ${id}
      RETURNING *
    )
    SELECT ${table.columns(sql)} FROM changed`);

/** Soft-deletes an endpoint: its row stays, for the log of its deliveries. Null when there is none. */
export const deleteWebhookEndpoint = (sql: Sql, book: Book, id: Uuid): Promise<{ id: Uuid } | null> =>
  firstOf(sql<{ id: Uuid }[]>`
    UPDATE webhook_endpoints SET deleted_at = now() WHERE ${existing(sql, book)} AND id = ${id} RETURNING id`);

/** Stores a new current secret. The replaced one signs until `previousUntil`; an older one stops signing at once. */
export const rotateWebhookSecret = (
  sql: Sql,
  book: Book,
  id: Uuid,
  sealedSecret: string,
  previousUntil: Date,
  outcome?: IdempotencyOutcome,
): Promise<WebhookEndpoint | null> =>
  firstOf(sql<WebhookEndpoint[]>`
    WITH changed AS (
      UPDATE webhook_endpoints
      SET sealed_previous_secret = sealed_secret, previous_secret_until = ${previousUntil},
          sealed_secret = ${sealedSecret}
      WHERE ${existing(sql, book)} AND id = ${id}
      RETURNING *
    )${keepOutcome(sql, book, outcome, sql`changed`)}
    SELECT ${table.columns(sql)} FROM changed`);

/** The secrets of the enabled endpoints, oldest first. During a rotation an endpoint has two. */
export const listSigningSecrets = (sql: Sql, book: Book): Promise<SealedSecrets[]> => sql<SealedSecrets[]>`
    SELECT id AS endpoint_id, sealed_secret,
           CASE WHEN previous_secret_until > now() THEN sealed_previous_secret END AS sealed_previous_secret
    FROM webhook_endpoints WHERE ${existing(sql, book)} AND status = 'enabled'
    ORDER BY created_at, id`;

/** The public fields of an endpoint, which its events carry too. */
export const webhookEndpointView = viewOf(webhookEndpoint, (endpoint: WebhookEndpoint) => ({
  ...endpoint,
  previousSecretExpiresAt: endpoint.previousSecretUntil,
}));

/**
 * Notifies the other endpoints of one at which every attempt has failed: for some time, once until an attempt succeeds,
 * or for days, when it is also disabled. Does nothing if it has recovered or is disabled by now. One statement. Returns
 * whether this call did it.
 */
export async function giveNotice(sql: Sql, book: Book, id: Uuid, notice: 'failing' | 'disabled'): Promise<boolean> {
  const endpoint = await findWebhookEndpoint(sql, book, id);
  if (endpoint === null) return false;
  const isDisabled = notice === 'disabled';
  const type: EventType = isDisabled ? 'webhook_endpoint.disabled' : FAILING_EVENT_TYPE;
  const status = isDisabled ? 'disabled' : 'enabled';
  const data = JSON.stringify(webhookEndpointView({ ...endpoint, status }));
  const changed = await sql`
    WITH changed AS (
      UPDATE webhook_endpoints w SET ${isDisabled ? sql`status = 'disabled'` : sql`failing_event_at = now()`}
      WHERE ${existing(sql, book)} AND id = ${id} AND status = 'enabled'
        AND ${isDisabled ? hasFailedForDays(sql) : isUnreported(sql)}
      RETURNING id
    )
    SELECT ledger.insert_event(${book.organisationId}, ${book.environment}, ${newUuid()}, ${type},
                              ${publicId('webhookEndpoint', id)}, ${data}::text::json, now())
    FROM changed`;
  return changed.count === 1;
}
