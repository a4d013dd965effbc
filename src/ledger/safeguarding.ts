// Whose money a book has, by the classes of its accounts. The law of safeguarding is that the banks hold at least what
// is owed: bank >= customer + statutory (docs/decisions/0033-own-money.md).
import type { Sql } from '../database/pool.ts';
import type { Book, Kobo } from '../money.ts';
import type { AccountClass } from './chart.ts';

/**
 * The balances of a book by class, each positive on its usual side. `headroom`: what own money can spend; below zero it
 * is a shortfall. It is bank - customer - statutory, and own - receivable too, because a book sums to zero.
 */
export type Safeguarding = Record<AccountClass | 'headroom', Kobo>;

/** `balances`: credits less debits, of every class but `customer`, which has what is left. */
export function safeguardingOf(balances: Partial<Record<AccountClass, Kobo>>): Safeguarding {
  const { bank = 0, statutory = 0, own = 0, receivable = 0 } = balances;
  return {
    bank: 0 - bank,
    customer: 0 - (bank + statutory + own + receivable),
    statutory,
    own,
    receivable: 0 - receivable,
    headroom: own + receivable,
  };
}

/** The classes of a book before a time; null: now. Reads the accounts of the platform, from the closed day before. */
export async function readSafeguarding(sql: Sql, book: Book, before: Date | null = null): Promise<Safeguarding> {
  const { organisationId, environment } = book;
  const rows = await sql<{ class: AccountClass; balance: Kobo }[]>`
    SELECT class, sum(balance)::float8 AS balance -- exact up to 2^53, and no error above
    FROM ledger.balances_before(${organisationId}, ${environment}, coalesce(${before}, 'infinity'::timestamptz), NULL, true)
    GROUP BY class`;
  return safeguardingOf(Object.fromEntries(rows.map((row) => [row.class, row.balance])));
}

/** The books with a shortfall now, of those that had one when own money was last debited; or this one, if it has. */
export async function listShortfalls(sql: Sql, only: Book | null = null) {
  const isOne = sql`AND organisation_id = ${only?.organisationId ?? null} AND environment = ${only?.environment ?? null}`;
  const books = await sql<Book[]>`
    SELECT organisation_id, environment FROM ledger.own_funds WHERE shortfall > 0 ${only === null ? sql`` : isOne}
    ORDER BY organisation_id, environment`;
  // `amount`: how much less the banks hold than what is owed.
  const found: (Book & { amount: Kobo })[] = [];
  for (const book of books) {
    const { headroom } = await readSafeguarding(sql, book);
    if (headroom < 0) found.push({ ...book, amount: -headroom });
  }
  return found;
}
