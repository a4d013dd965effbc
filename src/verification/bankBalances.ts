// Checks each clearing account against the balance that its rail last told.
//
// The cut: reconciliation stores the balance with two things that it knew at that moment. `compared_at`: postings before
// it had been committed and were matched with the statement, so later ones do not count, however busy the day. And
// `in_flight`: what either side had recorded and the other, for no wrong, had not. A break is not in flight: it is found
// here too, until it is corrected.
import type { Uuid } from '../ids.ts';
import { clearingAccount } from '../ledger/chart.ts';
import type { ResourceCheck, Snapshot } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';

/** Adds a finding for each clearing account that differs. It holds the money at the rail as a negative balance. */
export async function checkBankBalances(
  snapshot: Snapshot,
  organisationId: Uuid,
  add: Parameters<ResourceCheck>[0]['add'],
): Promise<void> {
  const rows = await snapshot<{ environment: Environment; rail: string; expected: string; found: string }[]>`
    SELECT b.environment, b.rail, (-b.balance - b.in_flight)::text AS expected, e.sum::text AS found
    FROM bank_balances b
    LEFT JOIN ledger.accounts a
      ON a.organisation_id = b.organisation_id AND a.environment = b.environment AND a.code = ${clearingAccount('')}::text || b.rail
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount), 0) AS sum FROM (
        SELECT amount FROM ledger.postings
        WHERE organisation_id = a.organisation_id AND credit_account_id = a.id AND created_at < b.compared_at
        UNION ALL
        SELECT -amount FROM ledger.postings
        WHERE organisation_id = a.organisation_id AND debit_account_id = a.id AND created_at < b.compared_at
      ) entries
    ) e
    WHERE b.organisation_id = ${organisationId} AND e.sum <> -b.balance - b.in_flight`;
  for (const { environment, rail, expected, found } of rows) {
    add('BANK_BALANCE_MISMATCH', { environment, code: clearingAccount(rail) }, expected, found);
  }
}
