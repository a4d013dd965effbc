// How often each reference was sent to a rail, when last, and what is known of it: written before and after each send,
// so that after a crash it is known what may have been sent. By this, and not by what a flow remembers, a transfer is
// sent again or its money goes back.
import type { PendingQuery, Row } from 'postgres';
import type { Sql } from '../database/pool.ts';
import { timeOfId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { Sends } from '../workflows/bankTransfer/decide.ts';
import { TABLES, type TransferKind, transferOf } from './tables.ts';

/** `refusal`: why the rail refused the last send, in its words. */
export type TransferSends = Sends & { refusal: string | null };

const NEVER_SENT: TransferSends = { count: 0, sinceMs: 0, isKnown: false, isRefused: false, refusal: null };

export async function readSends(sql: Sql, { organisationId }: Book, reference: string): Promise<TransferSends> {
  const [row] = await sql<TransferSends[]>`
    SELECT sends AS count, (extract(epoch FROM clock_timestamp() - sent_at) * 1000)::bigint AS since_ms, is_known, refusal,
           refusal IS NOT NULL AS is_refused
    FROM transfer_sends WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
  return row ?? NEVER_SENT;
}

/** Called before a send. */
export async function recordSend(sql: Sql, book: Book, reference: string): Promise<void> {
  await sql`
    INSERT INTO transfer_sends AS s (organisation_id, environment, reference, sends, sent_at, is_known)
    VALUES (${book.organisationId}, ${book.environment}, ${reference}, 1, clock_timestamp(), false)
    ON CONFLICT (organisation_id, reference) DO UPDATE
    SET sends = s.sends + 1, sent_at = excluded.sent_at, refusal = NULL`;
}

const change = (sql: Sql, { organisationId }: Book, reference: string, assignments: PendingQuery<Row[]>) => sql`
  UPDATE transfer_sends SET ${assignments} WHERE organisation_id = ${organisationId} AND reference = ${reference}`;

/** Called after a send that was certainly not accepted, or not made: it is not counted. */
export const recordNotSent = async (sql: Sql, book: Book, reference: string) =>
  await change(sql, book, reference, sql`sends = sends - 1`);

/** Called after a send that the rail refused, in words that may not be final. */
export const recordRefusal = async (sql: Sql, book: Book, reference: string, words: string) =>
  await change(sql, book, reference, sql`refusal = ${words}`);

/** After its money went back: it may be sent again under the same reference. What the rail has refused was one send. */
export const restartSends = async (sql: Sql, book: Book, reference: string) =>
  await change(sql, book, reference, sql`sends = CASE WHEN refusal IS NULL THEN 0 ELSE sends END, refusal = NULL`);

/** The rail knows it: its silence and its refusals are never final. */
export async function recordKnown(sql: Sql, { organisationId, environment }: Book, reference: string): Promise<void> {
  await sql`
    INSERT INTO transfer_sends (organisation_id, environment, reference, sends, sent_at, is_known)
    VALUES (${organisationId}, ${environment}, ${reference}, 0, clock_timestamp(), true)
    ON CONFLICT (organisation_id, reference) DO UPDATE SET is_known = true`;
}

/** The states in which it may be sent, or sent again under the same reference. */
const OPEN: Record<TransferKind, string[]> = {
  withdrawal: ['processing'],
  refund: ['processing'],
  payoutItem: ['pending', 'processing'],
  reviewCase: ['open', 'returning', 'unclaimed'],
};

/** `next`: after which reference to continue; null: those that follow are younger. */
export interface DeletedSends {
  deleted: number;
  next: string | null;
}

/**
 * Deletes the sends of transfers that have ended, if the last send was before this time: one page of the references of
 * an organisation, which have the order of their times.
 */
export async function deleteSends(
  sql: Sql,
  organisationId: Uuid,
  { after, before, rowsMax }: { after: string; before: Date; rowsMax: number },
): Promise<DeletedSends> {
  const page = await sql<{ reference: string; isOld: boolean }[]>`
    SELECT reference, sent_at < ${before} AS is_old FROM transfer_sends
    WHERE organisation_id = ${organisationId} AND reference > ${after} ORDER BY reference LIMIT ${rowsMax}`;
  const old = page.filter(({ isOld }) => isOld).map(({ reference }) => reference);
  let deleted = 0;
  for (const references of await byTable(sql, organisationId, old, (open) => sql`status <> ALL (${open}::text[])`)) {
    const { count } = await sql`
      DELETE FROM transfer_sends
      WHERE organisation_id = ${organisationId} AND reference = ANY (${references}::text[]) AND sent_at < ${before}`;
    deleted += count;
  }
  const last = page[rowsMax - 1]?.reference;
  return { deleted, next: last !== undefined && (timeOfId(last) ?? before) < before ? last : null };
}

/**
 * The transfers in progress whose last send was certainly not accepted: also those that wait until the contract has
 * enough money. As references, which are the ids of their flows; those of review cases are not.
 */
export async function listNotSent(sql: Sql, { organisationId, environment }: Book): Promise<string[]> {
  const rows = await sql<{ reference: string }[]>`
    SELECT reference FROM transfer_sends
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND sends = 0 AND NOT is_known`;
  const references = rows.map(({ reference }) => reference);
  return (await byTable(sql, organisationId, references, (open) => sql`status = ANY (${open}::text[])`)).flat();
}

/** Those of these references whose transfer has such a status, by the table of the transfer. */
async function byTable(
  sql: Sql,
  organisationId: Uuid,
  references: readonly string[],
  hasStatus: (open: string[]) => PendingQuery<Row[]>,
): Promise<string[][]> {
  const named = references.flatMap((reference) => {
    const transfer = transferOf(reference);
    return transfer === null ? [] : [{ ...transfer, reference }];
  });
  const found: string[][] = [];
  for (const [kind, sent] of Map.groupBy(named, (one) => one.kind)) {
    const rows = await sql<{ id: Uuid }[]>`
      SELECT id FROM ${sql(TABLES[kind])}
      WHERE organisation_id = ${organisationId} AND id = ANY (${sent.map(({ id }) => id)}::uuid[]) AND ${hasStatus(OPEN[kind])}`;
    const ids = new Set(rows.map(({ id }) => id));
    found.push(sent.filter(({ id }) => ids.has(id)).map(({ reference }) => reference));
  }
  return found;
}
