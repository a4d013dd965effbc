// Checks each clearing account against the balance that its rail last reported.
//
// The cut: reconciliation stores the balance with two things that it knew at that moment. `compared_at`: postings
// before it had been committed and were matched with the statement, so later ones do not count, however busy the day.
// And `in_flight`: what either side had recorded and the other, for no wrong, had not. A break is not in flight: it is
// found here too, until it is corrected.
import { clearingAccount } from '../ledger/chart.ts';
import type { Environment } from '../money.ts';
import { addEntries, type EntrySum } from './entrySums.ts';
import { type CheckContext, pagedCheck } from './verify.ts';

/** What the last reconciliation found: an account whose balance at the rail the books do not explain. */
export const balanceBreakCheck = pagedCheck<null>('balance breaks', async ({ sql, organisationId, add }) => {
  const rows = await sql<{ environment: Environment; account: string; expected: string; found: string | null }[]>`
    SELECT environment, reference AS account, ledger_amount::text AS expected, statement_amount::text AS found
    FROM reconciliation_breaks
    WHERE organisation_id = ${organisationId} AND kind = 'balance' AND cleared_at IS NULL ORDER BY id`;
  for (const { environment, account, expected, found } of rows) {
    const location = { environment, code: account };
    if (found === null) add('BANK_BALANCE_MISMATCH', location, '>= 0', expected);
    else add('BANK_BALANCE_MISMATCH', location, expected, found);
  }
  return null;
});

/** A clearing account, and how far its entries are added up. */
interface ComparedAccount extends EntrySum {
  environment: Environment;
  rail: string;
  comparedAt: string;
  /** Kobo, as text. */
  expected: string;
}

/** The clearing account holds the money at the rail as a negative balance. */
export const bankBalanceCheck = pagedCheck<ComparedAccount>('bank balances', async (context, after) => {
  const account = after ?? (await nextAccount(context, null));
  if (account === null) return null;
  const { environment, rail, comparedAt, expected } = account;
  const condition = context.sql`created_at < ${comparedAt}::text::timestamptz`;
  const { isComplete, ...added } = await addEntries(context, account, condition);
  if (!isComplete) return { ...account, ...added };
  if (added.sum !== expected) {
    context.add('BANK_BALANCE_MISMATCH', { environment, code: clearingAccount(rail) }, expected, added.sum);
  }
  return await nextAccount(context, account);
});

/** The clearing account of the next balance; null after the last. */
async function nextAccount(
  { sql, organisationId }: CheckContext,
  after: ComparedAccount | null,
): Promise<ComparedAccount | null> {
  const from = after === null ? sql`` : sql`AND (b.environment, b.rail) > (${after.environment}, ${after.rail})`;
  const [row] = await sql<ComparedAccount[]>`
    SELECT b.environment, b.rail, b.compared_at::text, (-b.balance - b.in_flight)::text AS expected,
           coalesce(a.id, 0)::text AS account_id, '0' AS last, '0' AS sum
    FROM (SELECT DISTINCT ON (environment, rail) * FROM bank_balances WHERE organisation_id = ${organisationId}
          ORDER BY environment, rail, day DESC) b
    LEFT JOIN ledger.accounts a
      ON a.organisation_id = b.organisation_id AND a.environment = b.environment
        AND a.code = ${clearingAccount('')}::text || b.rail
    WHERE b.organisation_id = ${organisationId} ${from}
    ORDER BY b.environment, b.rail LIMIT 1`;
  return row ?? null;
}
