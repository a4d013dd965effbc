// Rows that are kept for a time only. Each call forgets one batch, the oldest first, and answers how many rows it was.
import type { Sql } from '../database.ts';

/** After this a repeat of the request would be a new request. */
export async function forgetIdempotencyKeys(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const { count } = await sql`
    WITH old AS MATERIALIZED (
      SELECT organisation_id, environment, key FROM idempotency_keys
      WHERE created_at < now() - make_interval(days => ${keptDays}) AND claimed_until < now()
      ORDER BY created_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM idempotency_keys k USING old
    WHERE k.organisation_id = old.organisation_id AND k.environment = old.environment AND k.key = old.key`;
  return count;
}

/** The log of webhook attempts; the events and deliveries themselves stay. */
export async function forgetWebhookAttempts(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const [row] = await sql<{ forgotten: number }[]>`
    SELECT ledger.forget_webhook_attempts(now() - make_interval(days => ${keptDays}), ${rowsMax}) AS forgotten`;
  return row?.forgotten ?? 0;
}
