// What a reader does when the entries that it asks for are archived: it fails, and says up to when. A list or a balance
// that leaves them out would be wrong and look right.
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';

/** The entries that were asked for are in an archive. */
export class ArchivedError extends Error {
  override readonly name = 'ArchivedError';
  /** They are dated up to this time. */
  readonly until: Date;

  constructor(until: Date) {
    super(
      `Entries up to ${until.toISOString()} are archived. Ask for a later time, or restore them: npm run cli -- ledger restore`,
    );
    this.until = until;
  }
}

/** Up to when the postings of a book are archived; null: none are. */
export async function bookArchivedUntil(sql: Sql, { organisationId, environment }: Book): Promise<Date | null> {
  const [row] = await sql<{ until: Date | null }[]>`
    SELECT max(archived_until) AS until FROM ledger.archives
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND moved_postings > 0`;
  return row?.until ?? null;
}

/** SQL: up to when entries of an account are archived, by the snapshot of the statement; null: none are. */
export const archivedUntilOf = (sql: Sql, { organisationId, environment }: Book, accountId: number) => sql`
  (SELECT max(archive.archived_until)
   FROM ledger.archived_balances archived
   JOIN ledger.archives archive ON archive.organisation_id = archived.organisation_id AND archive.environment = archived.environment
   WHERE archived.organisation_id = ${organisationId} AND archived.environment = ${environment} AND archived.account_id = ${accountId})`;

/** Up to when entries of an account are archived; null: none are. */
export async function archivedUntil(sql: Sql, book: Book, accountId: number): Promise<Date | null> {
  const [row] = await sql<{ until: Date | null }[]>`SELECT ${archivedUntilOf(sql, book, accountId)} AS until`;
  return row?.until ?? null;
}

/** Throws an ArchivedError when the account has archived entries from `from` on, or from the beginning. */
export async function requireUnarchived(
  sql: Sql,
  book: Book,
  accountId: number,
  from: Date | undefined,
): Promise<void> {
  const until = await archivedUntil(sql, book, accountId);
  if (until !== null && (from === undefined || from <= until)) throw new ArchivedError(until);
}
