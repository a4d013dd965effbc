// What `ledger verify` finds in the books of a test that is about something else than own money.
import type { Sql } from '../../src/database/pool.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';

/**
 * What `ledger verify` finds, without shortfalls: in these tests banks take charges, and credits that they recall, from
 * books that have no own money. test/ledger/ownMoney.test.ts proves when there is a shortfall, and how much.
 */
export async function violationsOf(sql: Sql, options: Parameters<typeof verifyBooks>[1] = {}) {
  const { findings } = await verifyBooks(sql, options);
  return findings.filter(({ kind }) => kind !== 'SHORTFALL');
}
