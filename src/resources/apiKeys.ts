// Queries for API keys, for the commands that create, list, rotate and revoke them. Each change is one function of the
// database, which checks who makes it and writes the audit entry. src/api/admission/apiKeys.ts authenticates requests.
import { firstOf, hasRow, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { keepOutcome } from '../ledger/keepOutcome.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Environment } from '../money.ts';
import { bookTable } from './bookTable.ts';
import type { Proof } from './proofs.ts';

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
  /** The key that made it, with which it ends; null: an operator. */
  createdBy: Uuid | null;
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
    id, environment, name, hint, scopes, allowed_ips, rate_limit, created_by, expires_at, revoked_at, last_used_at, created_at`,
);
export const findKeyOfBook = find;
export const listKeysOfBook = list;

/** SQL: a key as a row of api_keys. */
const keyRow = (sql: Sql, { allowedIps, rateLimit, expiresAt, createdAt, organisationId, ...key }: NewApiKeyRow) => sql`
  json_populate_record(NULL::api_keys, ${JSON.stringify({
    ...key,
    hash: `\\x${key.hash.toString('hex')}`,
    organisation_id: organisationId,
    allowed_ips: allowedIps,
    rate_limit: rateLimit,
    expires_at: expiresAt,
    created_at: createdAt ?? new Date(),
  })}::text::json)`;

/** Stores a new key. `proof`: of an operator, or of a caller whose key has the scopes that it gives. */
export async function insertApiKey(
  sql: Sql,
  key: NewApiKeyRow,
  proof: Proof,
  outcome?: IdempotencyOutcome,
): Promise<void> {
  await sql`
    WITH created AS (
      SELECT ledger.create_api_key(${proof}, ${keyRow(sql, key)}, NULL, NULL)
    )${keepOutcome(sql, key, outcome, sql`created`)}
    SELECT FROM created`;
}

/** One API key of this organisation; null when it does not exist. */
export const findApiKey = (sql: Sql, organisationId: Uuid, id: Uuid): Promise<ApiKeyRow | null> =>
  firstOf(sql<ApiKeyRow[]>`
    SELECT ${columns(sql)} FROM api_keys WHERE organisation_id = ${organisationId} AND id = ${id}`);

/** All API keys of an organisation, oldest first, expired and revoked ones included. */
export const listApiKeys = (
  sql: Sql,
  organisationId: Uuid,
  environment: Environment | undefined,
): Promise<ApiKeyRow[]> => sql<ApiKeyRow[]>`
    SELECT ${columns(sql)} FROM api_keys
    WHERE organisation_id = ${organisationId} ${environment ? sql`AND environment = ${environment}` : sql``}
    ORDER BY created_at, id`;

/** Whether a key is in use. */
export function keyStatus(key: Pick<ApiKeyRow, 'revokedAt' | 'expiresAt'>): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= new Date() ? 'expired' : 'active';
}

/** Whether one key has made another one, or a key that did. */
export const hasMade = (sql: Sql, organisationId: Uuid, maker: Uuid, made: Uuid): Promise<boolean> =>
  hasRow(sql`
    WITH RECURSIVE makers AS (
      SELECT created_by FROM api_keys WHERE organisation_id = ${organisationId} AND id = ${made}
      UNION
      SELECT k.created_by FROM makers m JOIN api_keys k ON k.organisation_id = ${organisationId} AND k.id = m.created_by
    )
    SELECT FROM makers WHERE created_by = ${maker}`);

/**
 * Stores the successor of a key; the old key, and what it made, expires at `oldExpiresAt`. Returns false, without a
 * change, when the old key was revoked or its expiry changed since it was read.
 */
export async function replaceApiKey(
  sql: Sql,
  old: ApiKeyRow,
  oldExpiresAt: Date,
  successor: NewApiKeyRow,
  proof: Proof,
  outcome?: IdempotencyOutcome,
): Promise<boolean> {
  const [row] = await sql<{ isReplaced: boolean }[]>`
    WITH replaced AS (
      SELECT ledger.replace_api_key(${proof}, ${old.id}, ${old.expiresAt}, ${oldExpiresAt}, ${keyRow(sql, successor)})
        AS is_replaced
    )${keepOutcome(sql, successor, outcome, sql`replaced WHERE is_replaced`)}
    SELECT is_replaced FROM replaced`;
  return row?.isReplaced === true;
}

/** Revokes a key and what it made. Returns how many ended; 0 when it was already revoked or does not exist. */
export async function revokeApiKey(
  sql: Sql,
  organisationId: Uuid,
  id: Uuid,
  { proof, reason }: { proof: Proof; reason: string | null },
): Promise<number> {
  const [row] = await sql<{ revoked: number }[]>`
    SELECT ledger.end_api_key(${organisationId}, ${proof}, ${id}, ${reason}) AS revoked`;
  return row?.revoked ?? 0;
}
