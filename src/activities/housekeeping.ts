// Deletes rows whose retention period is over, and closes accounting days, in batches so small that no request waits
// for one.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { closeDays, listBooksToClose } from '../ledger/closing.ts';
import { ENVIRONMENTS } from '../money.ts';
import { listOrganisationIds } from '../resources/organisations.ts';
import { deleteRequestLogs } from '../resources/requestLogs.ts';
import type { DeletedRows, HousekeepingActivities } from '../workflows/housekeeping/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

const BATCH_SIZE = 1_000;

export function createHousekeepingActivities({
  sql,
  config: { maintenance },
}: Pick<ActivityDependencies, 'sql'> & { config: Pick<Config, 'maintenance'> }): HousekeepingActivities {
  async function inBatches(deleteBatch: (rowsMax: number) => Promise<number>): Promise<number> {
    let total = 0;
    for (;;) {
      requireTimeLeft(0);
      const deleted = await deleteBatch(BATCH_SIZE);
      total += deleted;
      heartbeat(total);
      if (deleted < BATCH_SIZE) return total;
    }
  }

  /** Book by book: the request log has no index across organisations. */
  async function deleteOldRequestLogs(): Promise<number> {
    let total = 0;
    for (const organisationId of await listOrganisationIds(sql)) {
      for (const environment of ENVIRONMENTS) {
        const book = { organisationId, environment };
        total += await inBatches((max) => deleteRequestLogs(sql, book, maintenance.requestLogsKeptDays, max));
      }
    }
    return total;
  }

  return {
    async deleteExpiredRows(): Promise<DeletedRows> {
      return {
        idempotencyKeys: await inBatches((max) => deleteIdempotencyKeys(sql, maintenance.idempotencyKeysKeptDays, max)),
        webhookAttempts: await inBatches((max) => deleteWebhookAttempts(sql, maintenance.webhookAttemptsKeptDays, max)),
        requestLogs: await deleteOldRequestLogs(),
      };
    },

    async closeAccountingDays(): Promise<number> {
      let total = 0;
      const advance = (): void => {
        requireTimeLeft(0);
        heartbeat(total);
      };
      for (const book of await listBooksToClose(sql)) total += await closeDays(sql, book, { advance });
      return total;
    },
  };
}

/** Once its key is deleted, a repeated request is executed as a new one. */
async function deleteIdempotencyKeys(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const { count } = await sql`
    WITH old AS MATERIALIZED (
      SELECT organisation_id, environment, key FROM idempotency_keys
      WHERE created_at < now() - make_interval(days => ${keptDays})
      ORDER BY created_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM idempotency_keys k USING old
    WHERE k.organisation_id = old.organisation_id AND k.environment = old.environment AND k.key = old.key`;
  return count;
}

/** The log of webhook attempts; the events and deliveries themselves stay. */
async function deleteWebhookAttempts(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const [row] = await sql<{ deleted: number }[]>`
    SELECT ledger.delete_webhook_attempts(now() - make_interval(days => ${keptDays}), ${rowsMax}) AS deleted`;
  return row?.deleted ?? 0;
}
