// KYC details of a wallet: sealed, with a blind index of the BVN, by which the wallets of one BVN are counted without
// anyone who reads the table learning it. It differs by organisation and environment.
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

/** The details as they were sealed. */
export const openKyc = (keyring: Keyring, walletId: Uuid, sealed: string) =>
  JSON.parse(keyring.open('kyc', walletId, sealed)) as { bvn: string };
