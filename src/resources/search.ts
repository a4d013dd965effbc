// Finds resources of a book by what callers attached to them: a reference of their own, the email of a wallet, or a
// value of metadata; each exactly, and by an index.
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';
import { type PageRequest, pageClause } from './pages.ts';
import { hasValue } from './references.ts';
import { type NamedResource, TABLES } from './tables.ts';

/** What can be found so. */
export const SEARCHABLE = ['wallet', 'payment', 'transfer', 'withdrawal', 'refund', 'payout'] as const;
export type Searchable = (typeof SEARCHABLE)[number];

/** A page of the resources of these kinds that have a text, in one statement. */
export async function findByText(
  sql: Sql,
  book: Book,
  kinds: readonly [Searchable, ...Searchable[]],
  text: string,
  page: PageRequest,
): Promise<NamedResource<Searchable>[]> {
  const parts = kinds.flatMap((kind) => {
    const isReference = kind === 'wallet' ? sql`external_reference = ${text}` : sql`reference = ${text}`;
    const isEmail = kind === 'wallet' ? [sql`lower(email) = lower(${text})`] : [];
    return [isReference, ...isEmail, hasValue(sql, book, text)].map(
      (condition) => sql`
        (SELECT ${kind}::text AS kind, id, created_at FROM ${sql(TABLES[kind])}
         WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND ${condition}
         ${pageClause(sql, book, {}, page, { few: true })})`,
    );
  });
  const found = parts.reduce((all, part) => sql`${all} UNION ${part}`);
  return await sql<NamedResource<Searchable>[]>`
    SELECT kind, id FROM (${found}) AS found WHERE true ${pageClause(sql, book, {}, page)}`;
}
