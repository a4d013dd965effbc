// Deletes rows after their retention, and closes accounting days, in batches for which no request waits.
import { heartbeat } from '@temporalio/activity';
import type postgres from 'postgres';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { closeDays, listBooksToClose } from '../ledger/closing.ts';
import { type Book, ENVIRONMENTS } from '../money.ts';
import { changeOf } from '../rail/sandbox/bank.ts';
import { listOrganisations } from '../resources/organisations.ts';
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
  /** Deletes of each table, or of each book for tables without an index across organisations, until nothing is left. */
  async function inBatches<Part>(
    parts: readonly Part[],
    deleteBatch: (part: Part, rowsMax: number) => Promise<number>,
  ): Promise<number> {
    let total = 0;
    for (const part of parts) {
      for (let deleted = BATCH_SIZE; deleted === BATCH_SIZE; ) {
        requireTimeLeft(0);
        deleted = await deleteBatch(part, BATCH_SIZE);
        total += deleted;
        heartbeat(total);
      }
    }
    return total;
  }

  async function deleteOldSends(): Promise<number> {
    const before = new Date(Date.now() - maintenance.sendsKeptDays * DAY_MS);
    let total = 0;
    for (const { organisationId } of await listOrganisations(sql)) {
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
      const organisations = await listOrganisations(sql);
      const books = organisations.flatMap(({ organisationId }) =>
        ENVIRONMENTS.map((environment): Book => ({ organisationId, environment })),
      );
      const { idempotencyKeysKeptDays, webhookAttemptsKeptDays, requestLogsKeptDays, eventsKeptDays } = maintenance;
      return {
        idempotencyKeys: await inBatches([IDEMPOTENCY_KEYS], (table, max) =>
          deleteOld(sql, table, idempotencyKeysKeptDays, max),
        ),
        webhookAttempts: await inBatches([WEBHOOK_ATTEMPTS], (table, max) =>
          deleteOld(sql, table, webhookAttemptsKeptDays, max),
        ),
        requestLogs: await inBatches(books, (book, max) => deleteRequestLogs(sql, book, requestLogsKeptDays, max)),
        transferSends: await deleteOldSends(),
        events: await inBatches(books, (book, max) => deleteEvents(sql, book, eventsKeptDays, max)),
        sandboxBank: await inBatches(Object.keys(BANK_TABLES) as BankTable[], (table, max) =>
          deleteBankRows(sql, table, maintenance.sandboxBankKeptDays, max),
        ),
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

interface AgingTable {
  table: string;
  /** The column that finds a row in its book. */
  id: string;
  /** The column of its age, which has an index. */
  since: string;
}

/** Once its key is deleted, a repeated request is executed as a new one. The key may have been reused meanwhile. */
const IDEMPOTENCY_KEYS: AgingTable = { table: 'idempotency_keys', id: 'key', since: 'created_at' };

/** The log, which is kept shorter than the events. */
const WEBHOOK_ATTEMPTS: AgingTable = { table: 'webhook_attempts', id: 'id', since: 'attempted_at' };

/** Deletes the oldest rows of a table: found in all organisations, deleted by book. Returns their number. */
async function deleteOld(sql: Sql, { table, id, since }: AgingTable, keptDays: number, rowsMax: number) {
  const isOld = sql`${sql(since)} < now() - make_interval(days => ${keptDays})`;
  const old = await sql<(Book & { ids: string[] | number[] })[]>`
    SELECT organisation_id, environment, array_agg(id) AS ids
    FROM (
      SELECT organisation_id, environment, ${sql(id)} AS id FROM ${sql(table)}
      WHERE ${isOld} ORDER BY ${sql(since)} LIMIT ${rowsMax}
    ) page
    GROUP BY organisation_id, environment`;
  let deleted = 0;
  for (const { organisationId, environment, ids } of old) {
    const { count } = await sql`
      DELETE FROM ${sql(table)}
      WHERE organisation_id = ${organisationId} AND environment = ${environment} AND ${sql(id)} IN ${sql(ids)} AND ${isOld}`;
    deleted += count;
  }
  return deleted;
}

/**
 * With their deliveries and attempts. One that was attempted lately stays with its attempts, and so do the later ones
 * of its resource, as the next event follows the sequence of the newest one. An event of a transfer is its only one.
 */
async function deleteEvents(sql: Sql, { organisationId, environment }: Book, keptDays: number, rowsMax: number) {
  const old = await sql<{ id: Uuid }[]>`
    SELECT id FROM events e
    WHERE organisation_id = ${organisationId} AND environment = ${environment}
      AND created_at < now() - make_interval(days => ${keptDays})
      AND NOT EXISTS (
        SELECT FROM webhook_attempts
        WHERE organisation_id = ${organisationId} AND event_id = e.id AND attempted_at > now() - interval '30 days')
      AND NOT EXISTS (
        SELECT FROM events o JOIN webhook_attempts a ON a.organisation_id = ${organisationId} AND a.event_id = o.id
        WHERE o.organisation_id = ${organisationId} AND o.environment = ${environment} AND o.resource = e.resource
          AND o.type <> 'transfer.completed' AND o.sequence < e.sequence
          AND a.attempted_at > now() - interval '30 days')
    ORDER BY created_at, id LIMIT ${rowsMax}`;
  const ids = sql`${old.map(({ id }) => id)}::uuid[]`;
  await sql`DELETE FROM webhook_attempts WHERE organisation_id = ${organisationId} AND event_id = ANY (${ids})`;
  await sql`DELETE FROM webhook_deliveries WHERE organisation_id = ${organisationId} AND event_id = ANY (${ids})`;
  await sql`DELETE FROM events WHERE organisation_id = ${organisationId} AND id = ANY (${ids})`;
  return old.length;
}

/** The tables of the sandbox bank with what dates their rows, as in their indexes; permanent accounts never end. */
const BANK_TABLES = {
  accounts: (sql: Sql) => sql`expires_at`,
  credits: (sql: Sql) => sql`received_at`,
  requests: (sql: Sql) => sql`
    NOT EXISTS (SELECT FROM sandbox_bank.transfers t WHERE t.organisation_id = requests.organisation_id
                AND t.reference = requests.reference AND t.status = 'processing') AND requested_at`,
  transfers: (sql: Sql) => sql`status <> 'processing' AND accepted_at`,
  statement_lines: (sql: Sql) => sql`kind <> 'opening' AND created_at`,
};
type BankTable = keyof typeof BANK_TABLES;

/** What rows of the statement add to the balance of the bank. */
const BANK_NETS: { [Table in BankTable]?: (sql: Sql) => postgres.Fragment } = {
  credits: (sql) => sql`CASE WHEN recalled_at IS NULL THEN amount ELSE 0 END`,
  statement_lines: changeOf,
};

/** What it forgets, callers can create again. Of its statement the sum stays, as a line `opening` before all others. */
async function deleteBankRows(sql: Sql, table: BankTable, keptDays: number, rowsMax: number) {
  const name = sql(`sandbox_bank.${table}`);
  const net = BANK_NETS[table]?.(sql) ?? sql`0`;
  const [row] = await sql<{ count: number }[]>`
    WITH gone AS (
      DELETE FROM ${name} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${name} WHERE ${BANK_TABLES[table](sql)} < now() - make_interval(days => ${keptDays})
        LIMIT ${rowsMax}))
      RETURNING organisation_id, ${net} AS net
    ), carried AS (
      INSERT INTO sandbox_bank.statement_lines AS l (organisation_id, kind, reference, amount, created_at)
      SELECT organisation_id, 'opening', 'opening', sum(net), '-infinity' FROM gone
      GROUP BY organisation_id HAVING sum(net) <> 0
      ON CONFLICT (organisation_id, reference) WHERE kind IN ('charge', 'settlement', 'interest', 'opening')
      DO UPDATE SET amount = l.amount + excluded.amount
    )
    SELECT count(*)::int AS count FROM gone`;
  return row?.count ?? 0;
}
