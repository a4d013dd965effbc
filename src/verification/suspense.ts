// Checks what is in suspense: each suspense account holds the money of the open review cases and of the partly paid
// payment that name it. An account is read with them on one snapshot.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { AccountCode } from '../ledger/chart.ts';
import type { Environment } from '../money.ts';
import { type Check, type CheckContext, pagedCheck } from './verify.ts';

interface SuspenseAccount {
  environment: Environment;
  code: AccountCode;
}

/** SQL: the suspense accounts after this one, in the order of their books and codes. */
const accountsAfter = (sql: Sql, organisationId: Uuid, after: SuspenseAccount | null): postgres.Fragment =>
  // The range is that of the index of codes, under any collation of the colon; LIKE then selects exactly these.
  sql`
    FROM ledger.accounts
    WHERE organisation_id = ${organisationId} AND code >= 'suspense' AND code < 'suspensf' AND code LIKE 'suspense:%'
      ${after === null ? sql`` : sql`AND (environment, code) > (${after.environment}, ${after.code})`}`;

/** The suspense accounts with a stored balance, which are those of payments. */
const paymentsCheck = pagedCheck<SuspenseAccount>('suspense of payments', async (context, after) => {
  const { snapshots, organisationId, pageSize } = context;
  return await snapshots.read(async (snapshot) => {
    const accounts = await snapshot<(SuspenseAccount & { balance: string })[]>`
      SELECT environment, code, balance::text ${accountsAfter(snapshot, organisationId, after)} AND balance IS NOT NULL
      ORDER BY environment, code LIMIT ${pageSize}`;
    await compare(context, snapshot, accounts);
    return accounts.length < pageSize ? null : (accounts.at(-1) ?? null);
  });
});

/** The others one by one: what they had at the end of the last closed day, and their entries since. */
const accountsCheck = pagedCheck<SuspenseAccount>('suspense', async (context, after) => {
  const { snapshots, organisationId } = context;
  return await snapshots.read(async (snapshot) => {
    const [account] = await snapshot<SuspenseAccount[]>`
      SELECT environment, code ${accountsAfter(snapshot, organisationId, after)} AND balance IS NULL
      ORDER BY environment, code LIMIT 1`;
    if (account === undefined) return null;
    const { environment, code } = account;
    const [row] = await snapshot<{ balance: string }[]>`
      SELECT balance::text FROM ledger.balances_before(${organisationId}, ${environment}, 'infinity', ARRAY[${code}::text])`;
    await compare(context, snapshot, [{ ...account, balance: row?.balance ?? '0' }]);
    return account;
  });
});

async function compare(
  { organisationId, add }: CheckContext,
  snapshot: Snapshot,
  accounts: readonly (SuspenseAccount & { balance: string })[],
): Promise<void> {
  const expected = await readExpected(snapshot, organisationId, accounts);
  for (const { environment, code, balance } of accounts) {
    const waiting = expected.get(`${environment} ${code}`) ?? '0';
    if (balance !== waiting) add('SUSPENSE_MISMATCH', { environment, code }, waiting, balance);
  }
}

/** What review cases and payments say that these accounts hold, by environment and code; without those with nothing. */
async function readExpected(
  snapshot: Snapshot,
  organisationId: Uuid,
  accounts: readonly SuspenseAccount[],
): Promise<Map<string, string>> {
  const codes = accounts.map(({ code }) => code);
  const paymentIds = codes.flatMap((code) => parseId('payment', code.split(':').at(-1) ?? '') ?? []);
  const rows = await snapshot<(SuspenseAccount & { amount: string })[]>`
    SELECT environment, code, sum(amount)::text AS amount
    FROM (
      SELECT environment, account_code AS code, amount FROM review_cases
      WHERE organisation_id = ${organisationId} AND status = 'open' AND account_code = ANY (${codes}::text[])
      UNION ALL
      SELECT environment, 'suspense:payment:' || ledger.public_id(id, 'pay'), amount_received FROM payments
      WHERE organisation_id = ${organisationId} AND status = 'partial' AND id = ANY (${paymentIds}::uuid[])
    ) waiting
    GROUP BY environment, code`;
  return new Map(rows.map(({ environment, code, amount }) => [`${environment} ${code}`, amount]));
}

/** The suspense account of each open review case exists. */
const casesCheck = pagedCheck<Uuid>('review cases', async ({ sql, organisationId, pageSize, add }, after) => {
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

export const suspenseChecks: readonly Check[] = [paymentsCheck, accountsCheck, casesCheck];
