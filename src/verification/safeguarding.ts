// The check of safeguarding: now, and at the end of each day of an open period that was neither proved nor waived, the
// banks of a book hold at least what is owed. The operator who proves a day or closes a period has seen its shortfall.
import { readSafeguarding } from '../ledger/safeguarding.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import type { Day } from '../times.ts';
import { pagedCheck } from './verify.ts';

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
