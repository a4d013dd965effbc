// KYC details of a wallet: sealed, with a blind index of the BVN, by which the wallets of one BVN are counted without
// anyone who reads the table learning it. It differs by organisation and environment.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import type { Book } from '../../money.ts';

/** One index by each key of the keyring, the newest first: that of another wallet may be older. */
export const bvnIndexes = (keyring: Keyring, { organisationId, environment }: Book, bvn: string): string[] =>
  keyring
    .signAll('bvn-index', `${organisationId}/${environment}/${bvn}`)
    .map((signature) => signature.toString('base64url'));

export const sealKyc = (keyring: Keyring, book: Book, walletId: Uuid, details: { bvn: string }) => ({
  sealed: keyring.seal('kyc', walletId, JSON.stringify(details)),
  bvnIndexes: bvnIndexes(keyring, book, details.bvn),
});

/** The details of a wallet as they were submitted; null: there are none. */
export async function readKyc(
  { sql, keyring }: { sql: Sql; keyring: Keyring },
  { organisationId, environment }: Book,
  walletId: Uuid,
): Promise<({ bvn: string } & Record<string, unknown>) | null> {
  const [row] = await sql<{ sealed: string }[]>`
    SELECT sealed FROM wallet_kyc
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND wallet_id = ${walletId}`;
  return row === undefined ? null : JSON.parse(keyring.open('kyc', walletId, row.sealed));
}
