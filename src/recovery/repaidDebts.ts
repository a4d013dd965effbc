// Ends the cases of debts that are repaid: by credits of the wallet, by an adjustment, or written off.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book } from '../money.ts';
import { endCase } from '../resources/reviewCases/movements.ts';
import { findReviewCase } from '../resources/reviewCases/queries.ts';

/** The next run ends further ones. */
const CASES_MAX = 1_000;

/** Debts are repaid in the order of their cases: what a wallet owes is at last that of its newest ones. */
export async function endRepaidCases(sql: Sql, journal: Journal): Promise<void> {
  const repaid = await sql<(Book & { id: Uuid })[]>`
    SELECT c.organisation_id, c.environment, c.id
    FROM (
      SELECT organisation_id, environment, id, wallet_id,
             sum(amount) OVER (PARTITION BY organisation_id, wallet_id ORDER BY created_at DESC, id DESC) - amount AS newer
      FROM review_cases
      WHERE status IN ('open', 'returning') AND reason = 'credit_recalled' AND wallet_id IS NOT NULL
    ) c
    JOIN wallets w ON w.organisation_id = c.organisation_id AND w.id = c.wallet_id
    JOIN ledger.accounts a
      ON a.organisation_id = w.organisation_id AND a.environment = w.environment AND a.code = w.account_code COLLATE "C"
    WHERE a.owed <= c.newer ORDER BY c.organisation_id, c.id LIMIT ${CASES_MAX}`;
  for (const { id, ...book } of repaid) {
    const row = await findReviewCase(sql, book, id);
    // An operator who has closed it meanwhile was first, as in a conflict.
    if (row?.status === 'open') await journal.post(endCase(book, row, 'repaid'));
  }
}
