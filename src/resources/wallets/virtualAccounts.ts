// Queries for virtual accounts: the account numbers that a rail opened for payments and wallets.
import { firstOf, type Sql } from '../../database/pool.ts';
import { ALL_ORGANISATIONS, parseId, publicId, type Uuid } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import type { Book } from '../../money.ts';
import { RailNotReadyError } from '../../rail/errors.ts';
import type { AccountHolder, BankRail, InboundCreditReport, OpenedAccount, VirtualAccount } from '../../rail/port.ts';
import { bookTable } from '../bookTable.ts';
import { readKyc } from './kyc.ts';
import { holderName, type Wallet } from './queries.ts';

export interface VirtualAccountRow {
  rail: string;
  accountNumber: string;
  ownerKind: 'payment' | 'wallet';
  ownerId: Uuid;
  bankName: string;
  /** As in the list of banks of the rail; null: it is not among them. */
  bankCode: string | null;
  accountName: string;
  /** `exact`: the rail accepts only the amount that the account was opened for. */
  acceptsAmount: 'exact' | 'any';
  expiresAt: Date | null;
  createdAt: Date;
}

const { rowsOf } = bookTable<VirtualAccountRow>(
  'virtual_accounts',
  (sql) => sql`
    rail, account_number, owner_kind, owner_id, bank_name, bank_code, account_name, accepts_amount, expires_at,
    created_at`,
);

/** The contract of the numbers that the rail gives to wallets. No money is sent to those of an earlier contract. */
export const contractOf = ({ contractId = ALL_ORGANISATIONS }: BankRail): Uuid => contractId;

/** The account number of a wallet at this rail; null when it has none. */
export const findDepositAccount = (
  sql: Sql,
  book: Book,
  rail: BankRail,
  walletId: Uuid,
): Promise<VirtualAccountRow | null> =>
  firstOf(sql<VirtualAccountRow[]>`
    ${rowsOf(sql, book)} AND owner_id = ${walletId} AND contract_id = ${contractOf(rail)}`);

/** An account or contract can have received money from this long before it was opened, by the clock of its rail. */
export const CLOCKS_DIFFER_MAX_SECONDS = 300;

/**
 * The account that a credit came to: by our reference, if the rail reports it. Otherwise by its number: a rail may give
 * a number to another account once it is free, so the last one opened before the credit counts. Null: this book has
 * none.
 */
export async function findAccountOfCredit(
  sql: Sql,
  book: Book,
  rail: string,
  credit: Pick<InboundCreditReport, 'accountReference' | 'accountNumber' | 'receivedAt'>,
): Promise<VirtualAccountRow | null> {
  const reference = credit.accountReference ?? '';
  const ownerId = parseId('payment', reference) ?? parseId('wallet', reference);
  const ofOwner = sql<VirtualAccountRow[]>`
    ${rowsOf(sql, book)} AND rail = ${rail} AND owner_id = ${ownerId} ORDER BY created_at DESC LIMIT 1`;
  const ofReference = ownerId === null ? null : await firstOf(ofOwner);
  if (ofReference !== null) return ofReference;
  if (credit.accountNumber === null) return null;
  return await firstOf(sql<VirtualAccountRow[]>`
    ${rowsOf(sql, book)} AND rail = ${rail} AND account_number = ${credit.accountNumber}
      AND created_at <= ${credit.receivedAt} + make_interval(secs => ${CLOCKS_DIFFER_MAX_SECONDS})
    ORDER BY created_at DESC LIMIT 1`);
}

/** An account as the rail identifies it. */
export const openedAccount = (
  { organisationId }: Book,
  account: Pick<VirtualAccountRow, 'ownerKind' | 'ownerId' | 'accountNumber'>,
): OpenedAccount => ({
  organisationId,
  kind: account.ownerKind === 'payment' ? 'one_off' : 'permanent',
  reference: publicId(account.ownerKind, account.ownerId),
  accountNumber: account.accountNumber,
});

export const accountRow = (
  rail: BankRail,
  owner: Pick<VirtualAccountRow, 'ownerKind' | 'ownerId' | 'createdAt'>,
  account: VirtualAccount,
): VirtualAccountRow => ({
  ...account,
  ...owner,
  rail: rail.name,
  acceptsAmount: owner.ownerKind === 'payment' ? rail.capabilities.oneOff.amount : 'any',
});

/** The holder of a wallet's account numbers, without the BVN. */
export const holderOf = (wallet: Pick<Wallet, 'id' | 'fullName' | 'email'>): AccountHolder => ({
  name: holderName(wallet),
  email: wallet.email,
  bvn: null,
});

/** The holder with the BVN of the KYC details, which a settlement wallet lacks; null: they are not recorded. */
async function verifiedHolder(
  dependencies: { sql: Sql; keyring: Keyring },
  book: Book,
  wallet: Wallet,
): Promise<AccountHolder | null> {
  const kyc = await readKyc(dependencies, book, wallet.id);
  if (kyc === null) return wallet.kind === 'settlement' ? holderOf(wallet) : null;
  return { ...holderOf(wallet), bvn: kyc.bvn };
}

/**
 * Opens the permanent account number of a wallet, unless it has one. Idempotent: the wallet's id is the reference, and
 * the rail returns the same number for the same reference. The BVN is decrypted only for a rail that needs
 * it. Throws RailCallError; RailNotReadyError `feature_off` if the rail opens none for this wallet.
 */
export async function openDepositAccount(
  dependencies: { sql: Sql; keyring: Keyring },
  rail: BankRail,
  book: Book,
  wallet: Wallet,
): Promise<void> {
  const needsBvn = rail.capabilities.permanent.needs.includes('bvn');
  const holder = needsBvn ? await verifiedHolder(dependencies, book, wallet) : holderOf(wallet);
  if (holder === null) {
    throw new RailNotReadyError('feature_off', 'the rail opens no account number for this wallet');
  }
  const account = await rail.openVirtualAccount({
    organisationId: book.organisationId,
    reference: publicId('wallet', wallet.id),
    holder,
    kind: 'permanent',
  });
  const { sql } = dependencies;
  await sql`
    INSERT INTO virtual_accounts (organisation_id, environment, rail, account_number, owner_kind, owner_id, contract_id,
                                  bank_name, bank_code, account_name)
    VALUES (${book.organisationId}, ${book.environment}, ${rail.name}, ${account.accountNumber}, 'wallet', ${wallet.id},
            ${contractOf(rail)}, ${account.bankName}, ${account.bankCode}, ${account.accountName})
    ON CONFLICT DO NOTHING`;
}
