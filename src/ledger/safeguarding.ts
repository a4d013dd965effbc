// Whose money a book has, by the classes of its accounts. The law of safeguarding is that the banks hold at least what
// is owed: bank >= customer + statutory (docs/decisions/0031-own-money-and-debts.md).
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

/** The classes of a book before a time. It reads the accounts of the platform only, from the closed day before. */
export async function readSafeguarding(sql: Sql, book: Book, before: Date): Promise<Safeguarding> {
  const rows = await sql<{ class: AccountClass; balance: Kobo }[]>`
    SELECT class, sum(balance)::bigint AS balance
    FROM ledger.balances_before(${book.organisationId}, ${book.environment}, ${before}, NULL, true) GROUP BY class`;
  return safeguardingOf(Object.fromEntries(rows.map((row) => [row.class, row.balance])));
}
