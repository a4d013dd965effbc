// Lists that are read from the entries of a wallet, where they reach what is archived.
import type { Sql } from '../../database/pool.ts';
import { ArchivedError, archivedUntil } from '../../ledger/archived.ts';
import type { Book } from '../../money.ts';
import type { ListFilters, PageRequest, RowsRead } from '../pages.ts';
import type { Wallet } from './queries.ts';

/**
 * The page, marked as one after which the list goes on, when archived entries of the wallet would come next. Throws an
 * ArchivedError when it has no other. Called after the page was read: what moves to an archive meanwhile is noticed.
 */
export async function cutAtArchive<Row>(
  sql: Sql,
  book: Book,
  { accountId }: Pick<Wallet, 'accountId'>,
  { createdAtFrom }: ListFilters,
  { limit }: PageRequest,
  rows: readonly Row[],
): Promise<RowsRead<Row>> {
  if (rows.length > limit) return rows;
  const until = await archivedUntil(sql, book, accountId);
  if (until === null || (createdAtFrom !== undefined && createdAtFrom > until)) return rows;
  if (rows.length === 0) throw new ArchivedError(until);
  return { rows, goesOn: true };
}
