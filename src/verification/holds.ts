// The check of holds: what the account beside a wallet has is the sum of the wallet's open holds. Both are read in one
// statement, because they change together.
import type { Environment } from '../money.ts';
import { pagedCheck } from './verify.ts';

interface HeldAccount {
  id: string;
  environment: Environment;
  code: string;
  balance: string;
  holds: string;
}

export const holdCheck = pagedCheck<string>('holds', async ({ sql, organisationId, pageSize, add }, after) => {
  const accounts = await sql<HeldAccount[]>`
    SELECT a.id::text, a.environment, a.code, a.balance::text, (
      SELECT coalesce(sum(h.amount - h.amount_released - h.amount_cancelled), 0)::text
      FROM wallets w JOIN holds h ON h.organisation_id = w.organisation_id AND h.environment = w.environment
        AND h.wallet_id = w.id AND h.status = 'held'
      WHERE w.organisation_id = a.organisation_id AND w.environment = a.environment
        AND w.account_code = substr(a.code, length('held:_'))
    ) AS holds
    FROM ledger.accounts a
    WHERE a.organisation_id = ${organisationId} AND a.id > ${after ?? '0'}::text::bigint AND starts_with(a.code, 'held:')
    ORDER BY a.id LIMIT ${pageSize}`;
  for (const { environment, code, balance, holds } of accounts) {
    if (balance !== holds) add('HELD_MISMATCH', { environment, code }, holds, balance);
  }
  return accounts.length < pageSize ? null : (accounts.at(-1)?.id ?? null);
});
