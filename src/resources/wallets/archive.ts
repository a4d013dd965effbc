// Lists that are read from the entries of a wallet, where they reach what is archived.
import type { Sql } from '../../database/pool.ts';
import { ArchivedError, archivedUntil } from '../../ledger/archived.ts';
import type { Book } from '../../money.ts';
import type { ListFilters, PageRequest, RowsRead } from '../pages.ts';
import type { Wallet } from './queries.ts';

/** A row that was read together with the time up to which entries of its wallet are archived. */
export interface ReadWithArchive {
  archivedUntil: Date | null;
}

/**
 * The page, marked as one after which the list goes on, when archived entries of the wallet would come next. Throws an
 * ArchivedError when it has no other.
 */
export async function cutAtArchive<Row extends ReadWithArchive>(
  sql: Sql,
  book: Book,
  { accountId }: Pick<Wallet, 'accountId'>,
  { createdAtFrom }: ListFilters,
  { limit }: PageRequest,
  rows: readonly Row[],
): Promise<RowsRead<Row>> {
  if (rows.length > limit) return rows;
  // Without a row it is asked afterwards: what has moved to an archive meanwhile is noticed.
  const until = rows[0] === undefined ? await archivedUntil(sql, book, accountId) : rows[0].archivedUntil;
  if (until === null || (createdAtFrom !== undefined && createdAtFrom > until)) return rows;
  if (rows.length === 0) throw new ArchivedError(until);
  return { rows, goesOn: true };
}
