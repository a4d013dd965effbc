// The sum of the entries of an account with a derived balance, read a page at a time: it may have many.
import type postgres from 'postgres';
import { entryNumber, type Side } from '../ledger/entries.ts';
import type { CheckContext } from './verify.ts';

/** How far the entries of an account are added up: credits less debits. Amounts and ids are text. */
export interface EntrySum {
  accountId: string;
  /** The number of the last entry that was read. */
  last: string;
  sum: string;
}

/** Adds the next page of entries, of those that meet the condition. `isComplete`: there are no more. */
export async function addEntries(
  { sql, organisationId, pageSize }: CheckContext,
  { accountId, last, sum }: EntrySum,
  condition: postgres.Fragment,
): Promise<EntrySum & { isComplete: boolean }> {
  // WITH TIES: entries of this account may share a number, and a page must not part them.
  const entries = (side: Side, change: postgres.Fragment) => sql`
    (SELECT ${entryNumber(sql, side)} AS number, ${change} AS change, id, created_at FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = ${accountId}::text::bigint
       AND ${entryNumber(sql, side)} > ${last}::text::bigint
     ORDER BY ${entryNumber(sql, side)} FETCH FIRST ${pageSize} ROWS WITH TIES)`;
  const [page] = await sql<{ entries: number; last: string | null; sum: string }[]>`
    SELECT count(*) AS entries, max(number)::text AS last,
           coalesce(sum(change) FILTER (WHERE ${condition}), 0)::text AS sum
    FROM (
      ${entries('debit', sql`-amount`)} UNION ALL ${entries('credit', sql`amount`)}
      ORDER BY number FETCH FIRST ${pageSize} ROWS WITH TIES
    ) e`;
  return {
    accountId,
    last: page?.last ?? last,
    sum: String(BigInt(sum) + BigInt(page?.sum ?? 0)),
    isComplete: (page?.entries ?? 0) < pageSize,
  };
}
