// What is in suspense: each suspense account holds the money of the open review cases and of the partly paid payment
// that name it. The balances are read by the check of accounts (src/ledger/bookChecks.ts).
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { Held } from '../ledger/bookChecks.ts';
import { type AccountCode, paymentSuspenseAccount } from '../ledger/chart.ts';
import { pagedCheck } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';

export const heldInSuspense: Held = async (snapshot, organisationId, accounts) => {
  const codes = accounts.map(({ code }) => code);
  const paymentIds = codes.flatMap((code) => parseId('payment', code.split(':').at(-1) ?? '') ?? []);
  const rows = await snapshot<
    { environment: Environment; code: AccountCode | null; paymentId: Uuid; amount: string }[]
  >`
    SELECT environment, account_code AS code, NULL::uuid AS payment_id, sum(amount)::text AS amount
    FROM review_cases
    WHERE organisation_id = ${organisationId} AND status = 'open' AND account_code = ANY (${codes}::text[])
    GROUP BY environment, account_code
    UNION ALL
    SELECT environment, NULL, id, amount_received::text FROM payments
    WHERE organisation_id = ${organisationId} AND status = 'partial' AND id = ANY (${paymentIds}::uuid[])`;
  const sums = new Map<string, bigint>();
  for (const { environment, code, paymentId, amount } of rows) {
    const name = `${environment} ${code ?? paymentSuspenseAccount(paymentId)}`;
    sums.set(name, (sums.get(name) ?? 0n) + BigInt(amount));
  }
  return accounts.map(({ environment, code }) => sums.get(`${environment} ${code}`) ?? 0n);
};

/** The suspense account of each open review case exists. The check of accounts compares those that do. */
export const suspenseCheck = pagedCheck<Uuid>('suspense', async ({ sql, organisationId, pageSize, add }, after) => {
  const rows = await sql<{ id: Uuid; environment: Environment; code: AccountCode; amount: string }[]>`
    SELECT r.id, r.environment, r.account_code AS code, r.amount::text FROM review_cases r
    WHERE r.organisation_id = ${organisationId} AND r.status = 'open' AND r.account_code IS NOT NULL
      ${after === null ? sql`` : sql`AND r.id > ${after}`}
      AND NOT EXISTS (
        SELECT FROM ledger.accounts a
        WHERE a.code = r.account_code AND a.organisation_id = r.organisation_id AND a.environment = r.environment
      )
    ORDER BY r.id LIMIT ${pageSize}`;
  for (const { id, environment, code, amount } of rows) {
    const location = { environment, code, resource: publicId('reviewCase', id) };
    add('SUSPENSE_MISMATCH', location, amount, 'no account');
  }
  return rows.length < pageSize ? null : (rows.at(-1)?.id ?? null);
});
