// What a rail last said about a transfer without telling its status, or about a rejected payment: for operators, not
// for decisions.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';

const WORDS_MAX = 300;

export async function saveRailWords(
  sql: Sql,
  { organisationId, environment }: Book,
  flowId: string,
  words: string,
): Promise<void> {
  await sql`
    INSERT INTO rail_words (organisation_id, environment, flow_id, words)
    VALUES (${organisationId}, ${environment}, ${flowId}, ${words.slice(0, WORDS_MAX).toWellFormed()})
    ON CONFLICT (organisation_id, flow_id) DO UPDATE SET words = excluded.words, said_at = excluded.said_at`;
}

export interface RailWords {
  words: string;
  saidAt: Date;
}

export async function findRailWords(sql: Sql, organisationId: Uuid, flowId: string): Promise<RailWords | null> {
  const [row] = await sql<RailWords[]>`
    SELECT words, said_at AS "saidAt" FROM rail_words
    WHERE organisation_id = ${organisationId} AND flow_id = ${flowId}`;
  return row ?? null;
}
