// Deletes rows after their retention, and closes accounting days, in batches for which no request waits.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { closeDays, listBooksToClose } from '../ledger/closing.ts';
import { type Book, ENVIRONMENTS } from '../money.ts';
import { listOrganisationIds } from '../resources/organisations.ts';
import { deleteRequestLogs } from '../resources/requestLogs.ts';
import { type DeletedSends, deleteSends } from '../resources/transferSends.ts';
import { DAY_MS } from '../times.ts';
import type { MaintenanceActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

const BATCH_SIZE = 1_000;

export function createRetentionActivities({
  sql,
  config: { maintenance },
}: Pick<ActivityDependencies, 'sql'> & { config: Pick<Config, 'maintenance'> }): Pick<
  MaintenanceActivities,
  'deleteExpiredRows' | 'closeAccountingDays'
> {
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

  async function deleteOldSends(): Promise<number> {
    const before = new Date(Date.now() - maintenance.sendsKeptDays * DAY_MS);
    let total = 0;
    for (const organisationId of await listOrganisationIds(sql)) {
      for (let after: string | null = ''; after !== null; ) {
        requireTimeLeft(0);
        const step: DeletedSends = await deleteSends(sql, organisationId, { after, before, rowsMax: BATCH_SIZE });
        total += step.deleted;
        heartbeat(total);
        after = step.next;
      }
    }
    return total;
  }

  return {
    async deleteExpiredRows() {
      return {
        idempotencyKeys: await inBatches((max) => deleteIdempotencyKeys(sql, maintenance.idempotencyKeysKeptDays, max)),
        webhookAttempts: await inBatches((max) => deleteWebhookAttempts(sql, maintenance.webhookAttemptsKeptDays, max)),
        requestLogs: await deleteOldRequestLogs(),
        transferSends: await deleteOldSends(),
      };
    },

    async closeAccountingDays() {
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

/**
 * Once its key is deleted, a repeated request is executed as a new one. The oldest are found in all organisations, and
 * deleted by organisation. One may have been used anew meanwhile.
 */
async function deleteIdempotencyKeys(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const isOld = sql`created_at < now() - make_interval(days => ${keptDays})`;
  const old = await sql<(Book & { keys: string[] })[]>`
    SELECT organisation_id, environment, array_agg(key) AS keys
    FROM (
      SELECT organisation_id, environment, key FROM idempotency_keys
      WHERE ${isOld} ORDER BY created_at LIMIT ${rowsMax}
    ) page
    GROUP BY organisation_id, environment`;
  let deleted = 0;
  for (const { organisationId, environment, keys } of old) {
    const { count } = await sql`
      DELETE FROM idempotency_keys
      WHERE organisation_id = ${organisationId} AND environment = ${environment} AND key = ANY (${keys}::text[])
        AND ${isOld}`;
    deleted += count;
  }
  return deleted;
}

/** The log of webhook attempts; the events and deliveries themselves stay. */
async function deleteWebhookAttempts(sql: Sql, keptDays: number, rowsMax: number): Promise<number> {
  const [row] = await sql<{ deleted: number }[]>`
    SELECT ledger.delete_webhook_attempts(now() - make_interval(days => ${keptDays}), ${rowsMax}) AS deleted`;
  return row?.deleted ?? 0;
}
