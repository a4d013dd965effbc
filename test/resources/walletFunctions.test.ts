// What functions write of a wallet together with its account of the ledger.
import { afterAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { insertWallet, recordKyc } from '../../src/resources/wallets/queries.ts';
import { openBooks } from '../ledger/books.ts';

const books = await openBooks();
const sql = books.sql;

afterAll(() => books.close());

const readAccount = async (id: string) =>
  await sql`
    SELECT a.verified, a.balance, a.balance_max, a.posting_max, w.kyc_status
    FROM wallets w JOIN ledger.accounts a ON a.organisation_id = w.organisation_id AND a.code = w.account_code
    WHERE w.organisation_id = ${books.book.organisationId} AND w.id = ${id}`;

const UNVERIFIED = { verified: false, balance: 0, balanceMax: null, postingMax: null, kycStatus: 'none' };

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
  await expect(
    recordKyc(
      books.owner,
      elsewhere,
      wallet,
      'tier1',
      { sealed: 'sealed', bvnIndexes: ['index'], walletsPerBvnMax: null },
      OWNER_PROOF,
    ),
  ).rejects.toMatchObject({ code: 'P0002' });
  expect(await readAccount(wallet.id)).toEqual([UNVERIFIED]);
  expect(await sql`SELECT FROM wallet_kyc WHERE wallet_id = ${wallet.id}`).toHaveLength(0);
});
