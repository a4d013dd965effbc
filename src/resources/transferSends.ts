// How often each reference was sent to a rail, when last, and what is known of it: written before and after each send,
// so that after a crash it is known what may have been sent. By this, and not by what a flow remembers, a transfer is
// sent again or its money goes back.
import type { Sql } from '../database/pool.ts';
import { parseId, timeOfId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { Sends } from '../workflows/bankTransfer/decide.ts';
import { caseOfReference } from './reviewCases/queries.ts';

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

/** Called after a send that was certainly not accepted, or not made: it is not counted. */
export async function recordNotSent(sql: Sql, { organisationId }: Book, reference: string): Promise<void> {
  await sql`
    UPDATE transfer_sends SET sends = sends - 1
    WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
}

/** Called after a send that the rail refused, in words that may not be final. */
export async function recordRefusal(sql: Sql, { organisationId }: Book, reference: string, words: string) {
  await sql`
    UPDATE transfer_sends SET refusal = ${words}
    WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
}

/** Called after its money went back: it may be sent again under the same reference, if the rail never received it. */
export async function restartSends(sql: Sql, { organisationId }: Book, reference: string): Promise<void> {
  await sql`
    UPDATE transfer_sends SET sends = 0, refusal = NULL
    WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
}

/** The rail knows it: its silence and its refusals are never final. */
export async function recordKnown(sql: Sql, { organisationId, environment }: Book, reference: string): Promise<void> {
  await sql`
    INSERT INTO transfer_sends (organisation_id, environment, reference, sends, sent_at, is_known)
    VALUES (${organisationId}, ${environment}, ${reference}, 0, clock_timestamp(), true)
    ON CONFLICT (organisation_id, reference) DO UPDATE SET is_known = true`;
}

/** What is sent to a rail, and the states in which it may be sent, or sent again under the same reference. */
const SENT: readonly { table: string; parse: (reference: string) => Uuid | null; open: readonly string[] }[] = [
  { table: 'withdrawals', parse: (reference) => parseId('withdrawal', reference), open: ['processing'] },
  { table: 'refunds', parse: (reference) => parseId('refund', reference), open: ['processing'] },
  { table: 'payout_items', parse: (reference) => parseId('payoutItem', reference), open: ['pending', 'processing'] },
  { table: 'review_cases', parse: caseOfReference, open: ['open', 'returning', 'unclaimed'] },
];

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
  const old = page.filter(({ isOld }) => isOld);
  let deleted = 0;
  for (const { table, parse, open } of SENT) {
    const byId = Map.groupBy(old, ({ reference }) => parse(reference));
    byId.delete(null);
    if (byId.size === 0) continue;
    const ended = await sql<{ id: Uuid }[]>`
      SELECT id FROM ${sql(table)}
      WHERE organisation_id = ${organisationId} AND id = ANY (${[...byId.keys()] as Uuid[]}::uuid[])
        AND status <> ALL (${[...open]}::text[])`;
    const references = ended.flatMap(({ id }) => byId.get(id) ?? []).map(({ reference }) => reference);
    const { count } = await sql`
      DELETE FROM transfer_sends
      WHERE organisation_id = ${organisationId} AND reference = ANY (${references}::text[]) AND sent_at < ${before}`;
    deleted += count;
  }
  const last = page[rowsMax - 1]?.reference;
  return { deleted, next: last !== undefined && (timeOfId(last) ?? before) < before ? last : null };
}
