// Keeps the outcome of an Idempotency-Key in a statement that moves no money, as `ledger.post` does in one that does.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';
import type { IdempotencyOutcome } from './movement.ts';

/** Violated by a statement whose key has the outcome of another attempt by now. It changes nothing. */
export const ONE_OUTCOME = 'idempotency_keys_pkey';

/**
 * SQL: a further CTE of a statement. It inserts the outcome for each row of `changed`, a CTE that has one row if the
 * statement took effect, and none otherwise. `response`: default that of the outcome.
 */
export function keepOutcome(
  sql: Sql,
  { organisationId, environment }: Book,
  outcome: IdempotencyOutcome | undefined,
  changed: postgres.Fragment,
  response?: postgres.Fragment,
): postgres.Fragment {
  if (outcome === undefined) return sql``;
  const { key, fingerprint, attempt, statusCode } = outcome;
  return sql`, outcome AS (
    INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
    SELECT ${organisationId}::uuid, ${environment}::text, ${key}::text, decode(${fingerprint}, 'base64'),
           ${attempt}::uuid, ${statusCode}::integer, ${response ?? sql`${outcome.response}::text`}
    FROM ${changed})`;
}
