// What the banks hold: each clearing account is checked against the balance that its rail last reported; and now, and
// at the end of each day of an open period that was neither proved nor waived, the banks of a book hold at least what
// is owed. The operator who proves a day or closes a period has seen its shortfall.
//
// The cut: reconciliation stores the balance with two things that it knew at that moment. `compared_at`: postings
// before it had been committed and were matched with the statement, so later ones do not count, however busy the day.
// And `in_flight`: what either side had recorded and the other, for no wrong, had not. A break is not in flight: it is
// found here too, until it is corrected.
import { clearingAccount } from '../ledger/chart.ts';
import { readSafeguarding } from '../ledger/safeguarding.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import type { Day } from '../times.ts';
import { pagedCheck } from './verify.ts';

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

/** What a rail reported last of a book. */
interface ReportedBalance {
  environment: Environment;
  rail: string;
  comparedAt: string;
  /** Of the clearing account then, in kobo, as text: it holds the money at the rail as a negative balance. */
  expected: string;
}

export const bankBalanceCheck = pagedCheck<ReportedBalance>('bank balances', async (context, after) => {
  const { sql, organisationId, add } = context;
  const behind = after === null ? sql`` : sql`AND (environment, rail) > (${after.environment}, ${after.rail})`;
  const [reported] = await sql<ReportedBalance[]>`
    SELECT environment, rail, compared_at::text, (-balance - in_flight)::text AS expected
    FROM bank_balances WHERE organisation_id = ${organisationId} ${behind}
    ORDER BY environment, rail, day DESC LIMIT 1`;
  if (reported === undefined) return null;
  const { environment, rail, comparedAt, expected } = reported;
  const code = clearingAccount(rail);
  const [row] = await sql<{ balance: string }[]>`
    SELECT balance::text
    FROM ledger.balances_before(${organisationId}, ${environment}, ${comparedAt}::text::timestamptz, ARRAY[${code}::text])`;
  const balance = row?.balance ?? '0';
  if (balance !== expected) add('BANK_BALANCE_MISMATCH', { environment, code }, expected, balance);
  return reported;
});

/** Days of a page: each is added up from the few accounts of the platform. */
const DAYS_MAX = 31;

interface DayEnd {
  environment: Environment;
  day: Day;
}

export const safeguardingCheck = pagedCheck<DayEnd>('safeguarding', async (context, after) => {
  const { sql, organisationId, add } = context;
  const behind = after === null ? sql`` : sql`AND (d.environment, d.day) > (${after.environment}, ${after.day}::date)`;
  const days = await sql<(DayEnd & { headroom: string })[]>`
    SELECT d.environment, d.day::text, coalesce(sum(c.balance), 0)::text AS headroom
    FROM (
      SELECT d.environment, d.day FROM ledger.closed_days d
      WHERE d.organisation_id = ${organisationId} AND d.completed_at IS NOT NULL ${behind}
        AND NOT EXISTS (
          SELECT FROM ledger.closed_periods p
          WHERE p.organisation_id = ${organisationId} AND p.environment = d.environment
            AND p.period = date_trunc('month', d.day)::date)
        AND NOT EXISTS (
          SELECT FROM day_proofs p
          WHERE p.organisation_id = ${organisationId} AND p.environment = d.environment AND p.day = d.day)
      ORDER BY d.environment, d.day LIMIT ${DAYS_MAX}
    ) d
    LEFT JOIN ledger.accounts a
      ON a.organisation_id = ${organisationId} AND a.environment = d.environment AND a.class <> 'customer'
        AND a.class IN ('own', 'receivable')
    LEFT JOIN LATERAL (
      SELECT b.balance FROM ledger.closing_balances b
      WHERE b.organisation_id = ${organisationId} AND b.account_id = a.id AND b.day <= d.day ORDER BY b.day DESC LIMIT 1
    ) c ON true
    GROUP BY d.environment, d.day ORDER BY d.environment, d.day`;
  for (const { environment, day, headroom } of days) {
    if (BigInt(headroom) < 0n) add('SHORTFALL', { environment }, `>= 0 at the end of ${day}`, headroom);
  }
  const last = days.at(-1);
  if (days.length === DAYS_MAX && last !== undefined) return { environment: last.environment, day: last.day };
  for (const environment of ENVIRONMENTS) {
    const { headroom } = await readSafeguarding(sql, { organisationId, environment });
    if (headroom < 0) add('SHORTFALL', { environment }, '>= 0', String(headroom));
  }
  return null;
});
