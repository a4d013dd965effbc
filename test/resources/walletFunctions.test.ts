// What is written of a wallet and an organisation together with accounts of the ledger: by functions, and by the
// statements of the version before, whose processes run beside the new ones during a deployment.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Sql } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { insertWallet, recordKyc } from '../../src/resources/wallets/queries.ts';
import { type Books, openBooks } from '../ledger/books.ts';

let books: Books;
let sql: Sql;

beforeAll(async () => {
  books = await openBooks();
  sql = books.sql;
});

afterAll(() => books.close());

const readAccount = async (id: string) =>
  await sql`
    SELECT a.verified, a.balance, a.balance_max, a.posting_max, w.kyc_status
    FROM wallets w JOIN ledger.accounts a ON a.organisation_id = w.organisation_id AND a.code = w.account_code
    WHERE w.organisation_id = ${books.book.organisationId} AND w.id = ${id}`;

const UNVERIFIED = { verified: false, balance: 0, balanceMax: null, postingMax: null, kycStatus: 'none' };

test('an earlier process creates a wallet and records its KYC', async () => {
  const { organisationId, environment } = books.book;
  const id = newUuid();
  await sql`
    WITH wallet AS (
      INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at)
      VALUES (${organisationId}, ${environment}, ${id}, 'end_user', 'ada@example.com', now())
      RETURNING *
    )
    SELECT ledger.open_account(organisation_id, environment, account_code, kind = 'settlement') FROM wallet`;
  expect(await readAccount(id)).toEqual([UNVERIFIED]);
  const [account] = await sql<{ id: number }[]>`
    SELECT a.id FROM ledger.accounts a JOIN wallets w ON w.account_code = a.code WHERE w.id = ${id}`;
  await sql`
    WITH details AS (
      INSERT INTO wallet_kyc (organisation_id, environment, wallet_id, sealed)
      VALUES (${organisationId}, ${environment}, ${id}, 'sealed')
      ON CONFLICT (organisation_id, wallet_id) DO UPDATE SET sealed = excluded.sealed, submitted_at = now()
    ), verified AS (
      SELECT ledger.verify_account(${organisationId}, ${account?.id ?? 0}, 300, 50)
    )
    UPDATE wallets SET kyc_status = 'tier1' FROM verified
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ${id}`;
  expect(await readAccount(id)).toEqual([
    { verified: true, balance: 0, balanceMax: 300, postingMax: 50, kycStatus: 'tier1' },
  ]);
});

test('an earlier process creates an organisation with its audit entry', async () => {
  const organisationId = newUuid();
  await sql`
    WITH organisation AS (
      INSERT INTO organisations (organisation_id, name) VALUES (${organisationId}, 'Ada') RETURNING organisation_id
    ), settlement AS (
      INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at)
      SELECT organisation_id, 'test', ${newUuid()}::uuid, 'settlement', 'ada@example.com', now() FROM organisation
      RETURNING *
    ), audited AS (
      INSERT INTO audit_log (organisation_id, operator, action, subject)
      SELECT organisation_id, 'root', 'organisation.create', organisation_id::text FROM organisation
    )
    SELECT ledger.open_account(organisation_id, environment, account_code, true) FROM settlement`;
  expect(
    await sql`SELECT verified FROM ledger.accounts WHERE organisation_id = ${organisationId} AND code LIKE 'wallet:%'`,
  ).toEqual([{ verified: true }]);
});

test('a wallet that does not exist in the book has no KYC recorded, and no account verified', async () => {
  const wallet = {
    id: newUuid(),
    kind: 'end_user',
    email: 'ada@example.com',
    fullName: null,
    phone: null,
    externalReference: null,
    createdAt: new Date(),
  } as const;
  await insertWallet(sql, books.book, wallet);
  const elsewhere = { ...books.book, environment: 'live' } as const;
  const row = { ...wallet, accountId: 1, kycStatus: 'none', status: 'active', balance: 0, postingMax: null } as const;
  await expect(recordKyc(sql, elsewhere, row, 'sealed')).rejects.toMatchObject({ code: 'P0002' });
  expect(await readAccount(wallet.id)).toEqual([UNVERIFIED]);
  expect(await sql`SELECT FROM wallet_kyc WHERE wallet_id = ${wallet.id}`).toHaveLength(0);
});
