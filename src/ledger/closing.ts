// Closes accounting days: the balance of every account at the end of each day, by which a report on an old date costs
// the same as on a new one; and accounting periods, which are months
// (docs/decisions/0009-verification-seals-and-dates.md).
import { rowOf, type Sql } from '../database/pool.ts';
import type { Book, Kobo } from '../money.ts';
import { type Day, dayAfter, dayStart, type Month } from '../times.ts';

/** Accounts of a statement, and postings of each: few enough for a statement of at most about a second. */
const ACCOUNTS_MAX = 500;
const POSTINGS_MAX = 1_000;

/** Books with a day that has been over for two minutes and is not closed; also books that have no account yet. */
export const listBooksToClose = (sql: Sql): Promise<Book[]> => sql<Book[]>`
    SELECT o.organisation_id, e.environment FROM organisations o CROSS JOIN (VALUES ('test'), ('live')) AS e (environment)
    WHERE NOT EXISTS (
      SELECT FROM ledger.closed_days d
      WHERE d.organisation_id = o.organisation_id AND d.environment = e.environment
        AND d.day = ledger.accounting_day(now() - interval '2 minutes') - 1 AND d.completed_at IS NOT NULL)
    ORDER BY o.organisation_id, e.environment`;

/**
 * Closes each day of a book that has been over for two minutes; returns their number. `advance` is called after each
 * statement. It may run twice at once and be interrupted anywhere; the next call continues. Throws when a statement
 * that writes to the ledger does not end.
 */
export async function closeDays(
  sql: Sql,
  { organisationId, environment }: Book,
  { advance = () => {}, accountsMax = ACCOUNTS_MAX, postingsMax = POSTINGS_MAX } = {},
): Promise<number> {
  for (let closed = 0; ; closed += 1) {
    const { day } = await rowOf(sql<{ day: Day | null }[]>`
      SELECT day::text FROM ledger.begin_day_close(${organisationId}, ${environment}) AS day`);
    if (day === null) return closed;
    await storeVolumes(sql, { organisationId, environment }, day);
    for (let after: number | null = 0; after !== null; advance()) {
      ({ after } = await rowOf(sql<{ after: number | null }[]>`
        SELECT ledger.fill_closing_balances(${organisationId}, ${environment}, ${day}::date, ${after}, ${accountsMax},
                                            ${postingsMax}) AS after`));
    }
  }
}

/**
 * Stores what a book moved on a day by kind of charged movement, in kobo without fees and what has failed: the volumes
 * that tiers of fees count. A payment is settled within two days of its creation.
 */
async function storeVolumes(sql: Sql, { organisationId, environment }: Book, day: Day): Promise<void> {
  const [since, until] = [dayStart(day), dayStart(dayAfter(day))];
  const sums = await sql<{ movement: string; amount: Kobo }[]>`
    SELECT v.movement, sum(v.amount)::bigint AS amount FROM (
      SELECT organisation_id, environment, 'transfer' AS movement, amount, created_at, created_at AS at FROM transfers
      UNION ALL
      SELECT organisation_id, environment, 'withdrawal', amount, created_at, created_at FROM withdrawals
      WHERE status IN ('processing', 'completed')
      UNION ALL
      SELECT p.organisation_id, p.environment, CASE WHEN i.inside THEN 'transfer' ELSE 'payout_item' END, i.amount,
             p.created_at, p.created_at
      FROM payouts p JOIN payout_items i ON i.organisation_id = p.organisation_id AND i.payout_id = p.id
      WHERE i.status <> 'failed'
      UNION ALL
      SELECT organisation_id, environment, method || '_payment', base_amount, created_at, settled_at FROM payments
    ) v
    WHERE v.organisation_id = ${organisationId} AND v.environment = ${environment}
      AND v.created_at >= ${since}::timestamptz - interval '2 days' AND v.created_at < ${until}
      AND v.at >= ${since} AND v.at < ${until}
    GROUP BY v.movement`;
  await sql`
    UPDATE ledger.closed_days SET volumes = ${sql.json(Object.fromEntries(sums.map((sum) => [sum.movement, sum.amount])))}
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND day = ${day}`;
}

/** `not_next`: `nextPeriod` must be closed first; null when the book has no account. */
export interface PeriodClosing {
  outcome: 'closed' | 'unchanged' | 'not_over' | 'not_next' | 'days_open' | 'days_unproved' | 'unbalanced';
  nextPeriod: Month | null;
}

/** Closes a month and writes the audit entry, after the days that are over. Repeating it changes nothing. */
export async function closePeriod(sql: Sql, book: Book, month: Month, proof: string): Promise<PeriodClosing> {
  await closeDays(sql, book);
  return await rowOf(sql<PeriodClosing[]>`
    SELECT outcome, to_char(next_period, 'YYYY-MM') AS next_period
    FROM ledger.close_period(${book.organisationId}, ${book.environment}, ${`${month}-01`}::date, ${proof})`);
}
