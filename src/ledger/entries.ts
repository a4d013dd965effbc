// The entries of an account: the sides of postings that name it, in the order in which they were posted.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';

export type Side = 'debit' | 'credit';

/**
 * SQL: the number of an entry, which orders the entries of its account and is what the indexes `entries_by_debit` and
 * `entries_by_credit` have. 1, 2, 3 … where the account has a stored balance; where it has a derived one, the id
 * of the posting (docs/decisions/0005-entry-numbers.md).
 */
export const entryNumber = (sql: Sql, side: Side): postgres.Fragment =>
  side === 'debit' ? sql`coalesce(debit_number, id)` : sql`coalesce(credit_number, id)`;
