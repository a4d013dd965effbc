// Queries for virtual accounts: the account numbers that a rail opened for payments and wallets.
import type { Sql } from '../../database/pool.ts';
import { publicId, type Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { BankRail } from '../../rail/port.ts';
import { holderName, type Wallet } from './queries.ts';

export interface VirtualAccountRow {
  rail: string;
  accountNumber: string;
  ownerKind: 'payment' | 'wallet';
  ownerId: Uuid;
  bankName: string;
  accountName: string;
  expiresAt: Date | null;
  createdAt: Date;
}

const columns = (sql: Sql) =>
  sql`rail, account_number, owner_kind, owner_id, bank_name, account_name, expires_at, created_at`;

/** The virtual account of a payment or wallet; null when it has none. */
export async function findAccountByOwner(sql: Sql, book: Book, ownerId: Uuid): Promise<VirtualAccountRow | null> {
  const [row] = await sql<VirtualAccountRow[]>`
    SELECT ${columns(sql)} FROM virtual_accounts
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND owner_id = ${ownerId}`;
  return row ?? null;
}

/** The virtual account with this number on a rail; null when this book has none. */
export async function findAccountByNumber(
  sql: Sql,
  book: Book,
  rail: string,
  accountNumber: string,
): Promise<VirtualAccountRow | null> {
  const [row] = await sql<VirtualAccountRow[]>`
    SELECT ${columns(sql)} FROM virtual_accounts
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND rail = ${rail}
      AND account_number = ${accountNumber}`;
  return row ?? null;
}

/**
 * Opens the permanent account number of a wallet, unless it has one. Idempotent: the wallet's id is the reference, and
 * the rail returns the same number for the same reference. Throws RailUnavailableError or RailRefusedError.
 */
export async function openDepositAccount(sql: Sql, rail: BankRail, book: Book, wallet: Wallet): Promise<void> {
  const account = await rail.openVirtualAccount({
    organisationId: book.organisationId,
    reference: publicId('wallet', wallet.id),
    accountName: holderName(wallet),
    expiresAt: null,
  });
  await sql`
    INSERT INTO virtual_accounts (organisation_id, environment, rail, account_number, owner_kind, owner_id, bank_name,
                                  account_name)
    VALUES (${book.organisationId}, ${book.environment}, ${rail.name}, ${account.accountNumber}, 'wallet', ${wallet.id},
            ${account.bankName}, ${account.accountName})
    ON CONFLICT DO NOTHING`;
}
