// Queries for API keys, for the commands that create, list, rotate and revoke them. Each change is one statement that
// also writes the audit entry. Only the hash of a key is stored; src/api/admission/apiKeys.ts authenticates requests.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { bookTable } from './bookTable.ts';
import type { Operator } from './operators.ts';

export interface ApiKeyRow {
  id: Uuid;
  environment: Environment;
  name: string | null;
  /** The last four characters of the key. */
  hint: string;
  scopes: string[];
  /** Null: any address. */
  allowedIps: string[] | null;
  /** Requests a minute; null: the default. */
  rateLimit: number | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  createdAt: Date;
}

export type NewApiKeyRow = Pick<
  ApiKeyRow,
  'id' | 'environment' | 'name' | 'hint' | 'scopes' | 'allowedIps' | 'rateLimit' | 'expiresAt'
> & {
  organisationId: Uuid;
  hash: Buffer;
  /** Default: now. */
  createdAt?: Date;
};

const { columns, find, list } = bookTable<ApiKeyRow>(
  'api_keys',
  (sql) => sql`
    id, environment, name, hint, scopes, allowed_ips, rate_limit, expires_at, revoked_at, last_used_at, created_at`,
);
export const findKeyOfBook = find;
export const listKeysOfBook = list;

/** Stores a new key. */
export async function insertApiKey(sql: Sql, key: NewApiKeyRow, operator: Operator): Promise<void> {
  await sql`
    WITH created AS (${insertion(sql, key)})
    INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject)
    SELECT organisation_id, environment, ${operator.id}, ${operator.name}, 'api_key.create', id::text FROM created`;
}

/** One API key of this organisation; null when it does not exist. */
export async function findApiKey(sql: Sql, organisationId: Uuid, id: Uuid): Promise<ApiKeyRow | null> {
  const [row] = await sql<ApiKeyRow[]>`
    SELECT ${columns(sql)} FROM api_keys WHERE organisation_id = ${organisationId} AND id = ${id}`;
  return row ?? null;
}

/** All API keys of an organisation, oldest first, expired and revoked ones included. */
export async function listApiKeys(
  sql: Sql,
  organisationId: Uuid,
  environment: Environment | undefined,
): Promise<ApiKeyRow[]> {
  return await sql<ApiKeyRow[]>`
    SELECT ${columns(sql)} FROM api_keys
    WHERE organisation_id = ${organisationId} ${environment ? sql`AND environment = ${environment}` : sql``}
    ORDER BY created_at, id`;
}

/** Whether a key is in use. */
export function keyStatus(key: Pick<ApiKeyRow, 'revokedAt' | 'expiresAt'>): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= new Date() ? 'expired' : 'active';
}

/**
 * Stores the successor of a key; the old key expires at `oldExpiresAt`. Returns false, without a change, when the old
 * key was revoked or its expiry changed since it was read.
 */
export async function replaceApiKey(
  sql: Sql,
  old: ApiKeyRow,
  oldExpiresAt: Date,
  successor: NewApiKeyRow,
  operator: Operator,
): Promise<boolean> {
  const rows = await sql`
    WITH replaced AS (
      UPDATE api_keys SET expires_at = ${oldExpiresAt}
      WHERE organisation_id = ${successor.organisationId} AND id = ${old.id} AND revoked_at IS NULL
        AND expires_at IS NOT DISTINCT FROM ${old.expiresAt}
      RETURNING id
    ), created AS (${insertion(sql, successor, sql`FROM replaced`)})
    INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject, reason)
    SELECT c.organisation_id, c.environment, ${operator.id}::uuid, ${operator.name}, a.action, a.subject, a.reason
    FROM created c, replaced r, LATERAL (
      VALUES ('api_key.rotate', r.id::text, 'replaced by ' || c.id), ('api_key.create', c.id::text, 'replaces ' || r.id)
    ) AS a (action, subject, reason)
    RETURNING id`;
  return rows.length > 0;
}

/** Revokes a key. Returns false when it was already revoked or does not exist. */
export async function revokeApiKey(
  sql: Sql,
  organisationId: Uuid,
  id: Uuid,
  act: { operator: Operator; reason: string | null },
): Promise<boolean> {
  const rows = await sql`
    WITH revoked AS (
      UPDATE api_keys SET revoked_at = now()
      WHERE organisation_id = ${organisationId} AND id = ${id} AND revoked_at IS NULL
      RETURNING organisation_id, environment, id
    )
    INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject, reason)
    SELECT organisation_id, environment, ${act.operator.id}, ${act.operator.name}, 'api_key.revoke', id::text, ${act.reason} FROM revoked
    RETURNING id`;
  return rows.length > 0;
}

/** SQL: inserts a key, for use in a CTE. `from`: a FROM clause that makes the insert depend on a row of another CTE. */
const insertion = (sql: Sql, key: NewApiKeyRow, from = sql``) => sql`
  INSERT INTO api_keys (organisation_id, environment, id, name, hash, hint, scopes, expires_at, allowed_ips, rate_limit,
                        created_at)
  SELECT ${key.organisationId}::uuid, ${key.environment}::text, ${key.id}::uuid, ${key.name}::text, ${key.hash}::bytea,
         ${key.hint}::text, ${key.scopes}::text[], ${key.expiresAt}::timestamptz, ${key.allowedIps}::text[],
         ${key.rateLimit}::integer, coalesce(${key.createdAt ?? null}::timestamptz, now()) ${from}
  RETURNING organisation_id, environment, id`;
