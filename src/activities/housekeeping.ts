// Forgetting rows that nobody needs any more, in batches so small that no request waits behind one.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { DeletedRows, HousekeepingActivities } from '../workflows/housekeeping/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

const BATCH_SIZE = 1_000;

export function createHousekeepingActivities({
  sql,
  config: { maintenance },
}: Pick<ActivityDependencies, 'sql'> & { config: Pick<Config, 'maintenance'> }): HousekeepingActivities {
  async function inBatches(forget: (rowsMax: number) => Promise<number>): Promise<number> {
    let all = 0;
    for (;;) {
      requireTimeLeft(0);
      const forgotten = await forget(BATCH_SIZE);
      all += forgotten;
      heartbeat(all);
      if (forgotten < BATCH_SIZE) return all;
    }
  }

  return {
    async deleteExpiredRows(): Promise<DeletedRows> {
      return {
        idempotencyKeys: await inBatches((max) => deleteIdempotencyKeys(sql, maintenance.idempotencyKeysKeptDays, max)),
        webhookAttempts: await inBatches((max) => deleteWebhookAttempts(sql, maintenance.webhookAttemptsKeptDays, max)),
      };
    },
  };
}

/** After this a repeat of the request would be a new request. */
async function deleteIdempotencyKeys(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
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
async function deleteWebhookAttempts(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const [row] = await sql<{ forgotten: number }[]>`
    SELECT ledger.forget_webhook_attempts(now() - make_interval(days => ${keptDays}), ${rowsMax}) AS forgotten`;
  return row?.forgotten ?? 0;
}
