// What happens to a break and its review case when a later run no longer finds it, or finds it again.
import type { Sql } from '../database/pool.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book } from '../money.ts';
import { findReviewCase } from '../resources/reviewCases/queries.ts';
import { clearBreak, closeCleared, updateBreak } from './movements.ts';
import type { BreakWithCase, StoredBreak } from './queries.ts';

interface Dependencies {
  sql: Sql;
  journal: Journal;
}

/** Records that the break has cleared, then closes its case: the database allows that only for one that has cleared. */
export async function clearStored(
  { sql, journal }: Dependencies,
  book: Book,
  stored: BreakWithCase,
  now: Date,
): Promise<void> {
  if (stored.clearedAt === null) await journal.post(clearBreak(book, stored, now));
  const row = stored.status === 'open' ? await findReviewCase(sql, book, stored.id) : null;
  if (row?.status === 'open') await journal.post(closeCleared(book, row, stored.clearedAt ?? now));
}

/** Records that it is found again, and opens its case again unless operators have closed it. */
export async function findAgain(
  { sql, journal }: Dependencies,
  book: Book,
  stored: BreakWithCase,
  amounts: Partial<Pick<StoredBreak, 'ledgerAmount' | 'statementAmount'>> = {},
): Promise<void> {
  const row = await findReviewCase(sql, book, stored.id);
  if (row !== null) await journal.post(updateBreak(book, stored, row, amounts));
}
