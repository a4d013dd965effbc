// The check of debts: what the account of each wallet says that it owes is the balance of its receivable. Both are read
// in one statement, because they change together.
import type { Environment } from '../money.ts';
import { pagedCheck } from './verify.ts';

interface Debt {
  id: string;
  environment: Environment;
  code: string;
  owed: string;
  receivable: string;
}

export const debtCheck = pagedCheck<string>('debts', async ({ sql, organisationId, pageSize, add }, after) => {
  const sumOf = (side: 'debit' | 'credit') => sql`
    (SELECT coalesce(sum(amount), 0) FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = r.id)`;
  const debts = await sql<Debt[]>`
    SELECT w.id::text, w.environment, w.code, w.owed::text, (${sumOf('debit')} - ${sumOf('credit')})::text AS receivable
    FROM ledger.accounts w
    LEFT JOIN ledger.accounts r
      ON r.organisation_id = w.organisation_id AND r.environment = w.environment AND r.code = 'receivable:' || w.code
    WHERE w.organisation_id = ${organisationId} AND w.id > ${after ?? '0'}::text::bigint AND starts_with(w.code, 'wallet:')
      AND (w.owed <> 0 OR r.id IS NOT NULL)
    ORDER BY w.id LIMIT ${pageSize}`;
  for (const { environment, code, owed, receivable } of debts) {
    if (owed !== receivable) add('DEBT_MISMATCH', { environment, code }, receivable, owed);
  }
  return debts.length < pageSize ? null : (debts.at(-1)?.id ?? null);
});
