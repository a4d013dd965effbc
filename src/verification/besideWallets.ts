// The checks of the accounts beside wallets: what the account of a wallet says that it owes is the balance of its
// receivable, and what is held for it is the sum of its open holds. Both sides are read in one statement, because they
// change together.
import type postgres from 'postgres';
import type { Environment } from '../money.ts';
import { type Check, type CheckContext, type FindingKind, pagedCheck } from './verify.ts';

/** An account, with what it has and what it should have: kobo, as text. */
interface Compared {
  id: string;
  environment: Environment;
  code: string;
  expected: string;
  found: string;
}

/** `accounts`: SQL, those `a` behind the one with this id. */
const comparing = (
  name: string,
  kind: FindingKind,
  accounts: (context: CheckContext, after: string) => postgres.Fragment,
): Check =>
  pagedCheck<string>(name, async (context, after) => {
    const { sql, pageSize, add } = context;
    const page = await sql<Compared[]>`${accounts(context, after ?? '0')} ORDER BY a.id LIMIT ${pageSize}`;
    for (const { environment, code, expected, found } of page) {
      if (found !== expected) add(kind, { environment, code }, expected, found);
    }
    return page.length < pageSize ? null : (page.at(-1)?.id ?? null);
  });

export const debtCheck = comparing('debts', 'DEBT_MISMATCH', ({ sql, organisationId }, after) => {
  const sumOf = (side: 'debit' | 'credit') => sql`
    (SELECT coalesce(sum(amount), 0) FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = r.id)`;
  return sql`
    SELECT a.id::text, a.environment, a.code, a.owed::text AS found, (${sumOf('debit')} - ${sumOf('credit')})::text AS expected
    FROM ledger.accounts a
    LEFT JOIN ledger.accounts r
      ON r.organisation_id = a.organisation_id AND r.environment = a.environment AND r.code = 'receivable:' || a.code
    WHERE a.organisation_id = ${organisationId} AND a.id > ${after}::text::bigint AND starts_with(a.code, 'wallet:')
      AND (a.owed <> 0 OR r.id IS NOT NULL)`;
});

export const holdCheck = comparing(
  'holds',
  'HELD_MISMATCH',
  ({ sql, organisationId }, after) => sql`
    SELECT a.id::text, a.environment, a.code, a.balance::text AS found, (
      SELECT coalesce(sum(h.amount - h.amount_released - h.amount_cancelled), 0)::text
      FROM wallets w JOIN holds h ON h.organisation_id = w.organisation_id AND h.environment = w.environment
        AND h.wallet_id = w.id AND h.status = 'held'
      WHERE w.organisation_id = a.organisation_id AND w.environment = a.environment
        AND w.account_code = substr(a.code, length('held:_'))
    ) AS expected
    FROM ledger.accounts a
    WHERE a.organisation_id = ${organisationId} AND a.id > ${after}::text::bigint AND starts_with(a.code, 'held:')`,
);
