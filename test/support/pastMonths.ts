// A book whose movements so far happened months ago, in a month that is sealed and closed: what an archive needs.
import { connect } from '../../src/database/pool.ts';
import { closePeriod, dayStart, type Month } from '../../src/ledger/closing.ts';
import type { Book } from '../../src/money.ts';
import { sealNext } from '../../src/verification/seals.ts';
import { OPERATORS } from './operators.ts';
import { asSuperuser, ownerOf } from './stack.ts';

const HOUR_MS = 3_600_000;

/** The month this many months ago in Nigeria. */
export function monthAgo(months: number): Month {
  const now = new Date(Date.now() + HOUR_MS);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
}

/** The first moment of a month. */
export const startOfMonth = (month: Month): number => dayStart(`${month}-01`).getTime();

/**
 * Dates everything that is posted so far into a month, an hour apart in its order from its second day on, seals it and
 * closes the month of the book.
 */
export async function postedInMonth(databaseUrl: string, book: Book, month: Month): Promise<void> {
  const start = new Date(startOfMonth(month));
  await asSuperuser(databaseUrl, async (sql) => {
    await sql`
      UPDATE ledger.transactions t SET created_at = n.at
      FROM (
        SELECT organisation_id, transaction_id, ${start}::timestamptz + interval '1 day' + interval '1 hour' *
                 row_number() OVER (PARTITION BY organisation_id ORDER BY min(created_at), transaction_id) AS at
        FROM ledger.postings GROUP BY organisation_id, transaction_id OFFSET 0
      ) n
      WHERE t.organisation_id = n.organisation_id AND t.id = n.transaction_id`;
    await sql`
      UPDATE ledger.postings p SET created_at = t.created_at FROM ledger.transactions t
      WHERE t.organisation_id = p.organisation_id AND t.id = p.transaction_id`;
    await sql`UPDATE ledger.accounts SET created_at = ${start}`;
  });
  const sql = connect(ownerOf(databaseUrl), { connectionsMax: 1, role: 'owner' });
  try {
    await sealNext(sql, Date.now() - start.getTime() - 25 * 24 * HOUR_MS);
    const { id, name } = OPERATORS.ngozi;
    const { outcome } = await closePeriod(sql, book, month, { id, name });
    if (outcome !== 'closed') throw new Error(`the month ${month} was not closed: ${outcome}`);
  } finally {
    await sql.end();
  }
}
