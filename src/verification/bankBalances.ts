// Checks each clearing account against the balance that its rail last told.
//
// The cut: reconciliation stores the balance with two things that it knew at that moment. `compared_at`: postings
// before it had been committed and were matched with the statement, so later ones do not count, however busy the day.
// And `in_flight`: what either side had recorded and the other, for no wrong, had not. A break is not in flight: it is
// found here too, until it is corrected.
import { clearingAccount } from '../ledger/chart.ts';
import { entryNumber } from '../ledger/entries.ts';
import { pagedCheck, type Scope } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';

/** A clearing account, and how far its postings were added up. Amounts and ids as text. */
interface Scan {
  environment: Environment;
  rail: string;
  accountId: string;
  comparedAt: string;
  expected: string;
  last: string;
  sum: string;
}

/** The clearing account holds the money at the rail as a negative balance. */
export const bankBalanceCheck = pagedCheck<Scan>('bank balances', async (scope, after) => {
  const { sql, organisationId, pageSize, add } = scope;
  const scan = after ?? (await nextScan(scope, null));
  if (scan === null) return null;
  // WITH TIES: entries of this account may share a number, and a page must not part them.
  const entries = (side: 'debit' | 'credit', sign: 1 | -1) => sql`
      (SELECT ${entryNumber(sql, side)} AS number, amount * ${sign}::integer AS change, created_at FROM ledger.postings
       WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = ${scan.accountId}::text::bigint
         AND ${entryNumber(sql, side)} > ${scan.last}::text::bigint
       ORDER BY ${entryNumber(sql, side)} FETCH FIRST ${pageSize} ROWS WITH TIES)`;
  const [read] = await sql<{ entries: number; last: string | null; sum: string }[]>`
      SELECT count(*) AS entries, max(number)::text AS last,
             coalesce(sum(change) FILTER (WHERE created_at < ${scan.comparedAt}::text::timestamptz), 0)::text AS sum
      FROM (
        ${entries('debit', -1)} UNION ALL ${entries('credit', 1)} ORDER BY number FETCH FIRST ${pageSize} ROWS WITH TIES
      ) e`;
  const sum = String(BigInt(scan.sum) + BigInt(read?.sum ?? 0));
  if (read !== undefined && read.entries >= pageSize) return { ...scan, sum, last: read.last ?? scan.last };
  const { environment, rail, expected } = scan;
  if (sum !== expected) add('BANK_BALANCE_MISMATCH', { environment, code: clearingAccount(rail) }, expected, sum);
  return await nextScan(scope, scan);
});

/** The balance after this one, with its clearing account; null after the last. */
async function nextScan({ sql, organisationId }: Scope, after: Scan | null): Promise<Scan | null> {
  const from = after === null ? sql`` : sql`AND (b.environment, b.rail) > (${after.environment}, ${after.rail})`;
  const [row] = await sql<Omit<Scan, 'last'>[]>`
    SELECT b.environment, b.rail, coalesce(a.id, 0)::text AS account_id, b.compared_at::text,
           (-b.balance - b.in_flight)::text AS expected, '0' AS sum
    FROM bank_balances b
    LEFT JOIN ledger.accounts a
      ON a.organisation_id = b.organisation_id AND a.environment = b.environment AND a.code = ${clearingAccount('')}::text || b.rail
    WHERE b.organisation_id = ${organisationId} ${from}
    ORDER BY b.environment, b.rail LIMIT 1`;
  return row === undefined ? null : { ...row, last: '0' };
}
