// Checks what is in suspense: each suspense account holds the money of the open review cases and of the partly paid
// payment that name it. An account is read with them on one snapshot.
import type postgres from 'postgres';
import type { Snapshot } from '../database/snapshot.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import { type AccountCode, paymentSuspenseAccount } from '../ledger/chart.ts';
import { entryNumber, type Side } from '../ledger/entries.ts';
import type { Environment } from '../money.ts';
import { addEntries, type EntrySum } from './entrySums.ts';
import { type Check, pagedCheck, type Scope } from './verify.ts';

/** A suspense account; `sum` is of its entries up to the last one that is final, unless its balance is stored. */
interface SuspenseAccount extends EntrySum {
  environment: Environment;
  code: AccountCode;
  isStored: boolean;
}

/** `adding`: the account with a derived balance of which a page of entries was added up. */
interface Cursor {
  environment: Environment;
  code: AccountCode;
  adding: SuspenseAccount | null;
}

/** The suspense accounts, in the order of their books and codes: those with a derived balance one by one. */
const accountsCheck = pagedCheck<Cursor>('suspense accounts', async (scope, after) => {
  const { sql, lastPosting, pageSize } = scope;
  const page = after?.adding ? [after.adding] : await readAccounts(scope, after);
  const derived = page.findIndex(({ isStored }) => !isStored);
  if (derived === 0 && page[0] !== undefined) {
    const [account] = page;
    const { isComplete, ...added } = await addEntries(scope, account, sql`id <= ${lastPosting}::text::bigint`);
    const { environment, code } = account;
    if (!isComplete) return { environment, code, adding: { ...account, ...added } };
    await compare(scope, [{ ...account, ...added }]);
    return { environment, code, adding: null };
  }
  const stored = page.slice(0, derived === -1 ? pageSize : derived);
  await compare(scope, stored);
  const last = stored.at(-1);
  if (last === undefined || (derived === -1 && page.length < pageSize)) return null;
  return { environment: last.environment, code: last.code, adding: null };
});

async function readAccounts(
  { sql, organisationId, pageSize }: Scope,
  after: Cursor | null,
): Promise<SuspenseAccount[]> {
  // The range is that of the index of codes, under any collation of the colon; LIKE then selects exactly these.
  return await sql<SuspenseAccount[]>`
    SELECT environment, code, id::text AS account_id, balance IS NOT NULL AS is_stored, '0' AS last, '0' AS sum
    FROM ledger.accounts
    WHERE organisation_id = ${organisationId} AND code >= 'suspense' AND code < 'suspensf' AND code LIKE 'suspense:%'
      ${after === null ? sql`` : sql`AND (environment, code) > (${after.environment}, ${after.code})`}
    ORDER BY environment, code LIMIT ${pageSize}`;
}

async function compare(
  { snapshots, organisationId, lastPosting, add }: Scope,
  accounts: readonly SuspenseAccount[],
): Promise<void> {
  if (accounts.length === 0) return;
  const since = (snapshot: Snapshot, side: Side): postgres.Fragment => snapshot`
    (SELECT coalesce(sum(amount), 0) FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${snapshot(`${side}_account_id`)} = a.id
       AND ${entryNumber(snapshot, side)} > ${lastPosting}::text::bigint)`;
  const ids = accounts.map(({ accountId }) => accountId);
  const { balances, expected } = await snapshots.read(async (snapshot) => ({
    balances: await snapshot<{ balance: string }[]>`
      SELECT coalesce(x.balance, a.sum + ${since(snapshot, 'credit')} - ${since(snapshot, 'debit')})::text AS balance
      FROM unnest(${ids}::text[]::bigint[], ${accounts.map(({ sum }) => sum)}::text[]::numeric[])
        WITH ORDINALITY AS a (id, sum, position)
      LEFT JOIN ledger.accounts x ON x.organisation_id = ${organisationId} AND x.id = a.id ORDER BY a.position`,
    expected: await readExpected(snapshot, organisationId, accounts),
  }));
  for (const [position, { environment, code }] of accounts.entries()) {
    const [balance, waiting] = [balances[position]?.balance ?? '0', expected.get(`${environment} ${code}`) ?? '0'];
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
  const sums = new Map<string, string>();
  for (const { environment, code, paymentId, amount } of rows) {
    const name = `${environment} ${code ?? paymentSuspenseAccount(paymentId)}`;
    sums.set(name, String(BigInt(sums.get(name) ?? 0) + BigInt(amount)));
  }
  return sums;
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

export const suspenseChecks: readonly Check[] = [accountsCheck, casesCheck];
