// How often each reference was sent to a rail, when last, and whether the rail has ever known it: what the rule needs
// that returns the money of a transfer because the rail never received it. A send with a final answer is not counted.
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';

export interface Sends {
  count: number;
  /** Since the last one. */
  sinceMs: number;
  isKnown: boolean;
}

const columns = (sql: Sql) => sql`
  sends AS count, (extract(epoch FROM clock_timestamp() - sent_at) * 1000)::bigint AS since_ms, is_known`;

/** Counts a send. Called after it: a send that was not counted is made again, and pays nothing twice. */
export async function countSend(sql: Sql, book: Book, reference: string, isKnown: boolean): Promise<Sends> {
  const [row] = await sql<Sends[]>`
    INSERT INTO transfer_sends AS s (organisation_id, environment, reference, sends, sent_at, is_known)
    VALUES (${book.organisationId}, ${book.environment}, ${reference}, 1, clock_timestamp(), ${isKnown})
    ON CONFLICT (organisation_id, reference) DO UPDATE
    SET sends = s.sends + 1, sent_at = excluded.sent_at, is_known = s.is_known OR excluded.is_known
    RETURNING ${columns(sql)}`;
  return row as Sends;
}

/** Null: none was counted. */
export async function readSends(sql: Sql, { organisationId }: Book, reference: string): Promise<Sends | null> {
  const [row] = await sql<Sends[]>`
    SELECT ${columns(sql)} FROM transfer_sends WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
  return row ?? null;
}

/** The rail knows it: silence about it is never final. */
export async function markKnown(sql: Sql, book: Book, reference: string): Promise<void> {
  await sql`
    INSERT INTO transfer_sends AS s (organisation_id, environment, reference, sends, sent_at, is_known)
    VALUES (${book.organisationId}, ${book.environment}, ${reference}, 0, clock_timestamp(), true)
    ON CONFLICT (organisation_id, reference) DO UPDATE SET is_known = true WHERE NOT s.is_known`;
}
