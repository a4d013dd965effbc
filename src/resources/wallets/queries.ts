// Queries for wallets: the reads, and the writes that move no money.
import { firstOf, type Sql } from '../../database/pool.ts';
import { publicId, type Uuid } from '../../ids.ts';
import { keepOutcome } from '../../ledger/keepOutcome.ts';
import { CONTRACT_TIER1, type Tier } from '../../ledger/limits.ts';
import type { IdempotencyOutcome } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import type { FiltersOf } from '../bookTable.ts';
import { literalOf, type PageRequest, pageClause } from '../pages.ts';
import type { Proof } from '../proofs.ts';
import type { Metadata } from '../references.ts';
import type { sealKyc } from './kyc.ts';

export interface Wallet {
  id: Uuid;
  accountId: number;
  kind: 'settlement' | 'end_user';
  email: string;
  fullName: string | null;
  phone: string | null;
  externalReference: string | null;
  /** Null: none. */
  metadata: Metadata | null;
  kycStatus: 'none' | Tier;
  /** `status` and `balance` are columns of the wallet's ledger account, whose row lock postings take. */
  status: 'active' | 'frozen' | 'closed';
  balance: Kobo;
  /** The sum of its open holds. */
  heldBalance: Kobo;
  /** What its owner owes because the bank took credits back that the wallet no longer had. */
  amountOwed: Kobo;
  /** The maximum amount of one posting, in kobo; null: no limit. */
  postingMax: Kobo | null;
  /** The maximum balance after a credit, in kobo; null: no limit. */
  balanceMax: Kobo | null;
  createdAt: Date;
}

/** The account name of a wallet's account numbers. Payers see it, so it never contains the customer's email. */
export const holderName = ({ id, fullName }: Pick<Wallet, 'id' | 'fullName'>): string =>
  fullName ?? `Wallet ${publicId('wallet', id).slice(-12, -4)}`;

/** SQL: the columns of a `Wallet`, from `walletTables`. */
export const walletColumns = (sql: Sql) => sql`
  w.id, a.id AS account_id, w.kind, w.email, w.full_name, w.phone, w.external_reference, w.metadata, w.kyc_status, w.created_at,
  a.status, a.balance, a.owed AS amount_owed, a.posting_max, a.balance_max,
  coalesce((
    SELECT h.balance FROM ledger.accounts h
    WHERE h.organisation_id = w.organisation_id AND h.environment = w.environment AND h.code = 'held:' || w.account_code
  ), 0) AS held_balance`;

/** SQL: wallets `w`, each with its ledger account `a`. */
export const walletTables = (sql: Sql) => sql`
  wallets w JOIN ledger.accounts a
    ON a.organisation_id = w.organisation_id AND a.environment = w.environment AND a.code = w.account_code`;

/** SQL: the wallets of a book. */
const walletsOf = (sql: Sql, { organisationId, environment }: Book) => sql`
  SELECT ${walletColumns(sql)} FROM ${walletTables(sql)}
  WHERE w.organisation_id = ${organisationId} AND w.environment = ${environment}`;

/** One wallet of this book; null when it does not exist. */
export const findWallet = (sql: Sql, book: Book, id: Uuid): Promise<Wallet | null> =>
  firstOf(sql<Wallet[]>`${walletsOf(sql, book)} AND w.id = ${id}`);

/** Those of these wallets that this book has. */
export const findWallets = async (sql: Sql, book: Book, ids: readonly Uuid[]): Promise<Wallet[]> =>
  await sql<Wallet[]>`${walletsOf(sql, book)} AND w.id = ANY (${[...ids]}::uuid[])`;

/** The wallet with this `externalReference`; null when there is none. */
export const findWalletByReference = (sql: Sql, book: Book, reference: string): Promise<Wallet | null> =>
  firstOf(sql<Wallet[]>`${walletsOf(sql, book)} AND w.external_reference = ${reference}`);

type WalletFilters = FiltersOf<Wallet, 'externalReference' | 'email' | 'kind' | 'status' | 'kycStatus'>;

/** A page of wallets, newest first, plus one row when another page exists. */
export async function listWallets(
  sql: Sql,
  book: Book,
  { status, kind, email, ...filters }: WalletFilters,
  page: PageRequest,
): Promise<Wallet[]> {
  const isFew = status === 'frozen' || status === 'closed'; // by their accounts
  return await sql<Wallet[]>`
    ${walletsOf(sql, book)}
    ${status ? sql`AND a.status = ${literalOf(sql, status)}` : sql``}
    ${kind ? sql`AND w.kind = ${literalOf(sql, kind)}` : sql``}
    ${email ? sql`AND lower(w.email) = lower(${email})` : sql``}
    ${pageClause(sql, book, filters, page, { table: 'w', ...(isFew && { createdAt: 'a.created_at' }) })}`;
}

export type NewWallet = Pick<
  Wallet,
  'id' | 'kind' | 'email' | 'fullName' | 'phone' | 'externalReference' | 'createdAt'
> & { metadata?: Metadata | null };

/**
 * Creates a wallet and its ledger account, in one statement. A settlement wallet belongs to the platform: it needs no
 * KYC and has no limits. Violates `wallet_external_reference_unique` when the reference is taken.
 */
export async function insertWallet(
  sql: Sql,
  book: Book,
  wallet: NewWallet,
  outcome?: IdempotencyOutcome,
): Promise<void> {
  await sql`
    WITH created AS (
      SELECT FROM ledger.create_wallet(
        ${book.organisationId}, ${book.environment}, ${wallet.id}, ${wallet.kind}, ${wallet.email}, ${wallet.fullName},
        ${wallet.phone}, ${wallet.externalReference}, ${wallet.createdAt},
        ${wallet.metadata ? JSON.stringify(wallet.metadata) : null}::text::jsonb)
    )${keepOutcome(sql, book, outcome, sql`created`)}
    SELECT FROM created`;
}

/**
 * Stores encrypted KYC details (replacing earlier ones), sets the tier of the wallet and the limits of that tier on its
 * account, in one statement: those of the policy of the book, else the contract's. `proof`: of the caller whose key has
 * the scope `wallet`. Violates `wallets_per_bvn` when `walletsPerBvnMax` other wallets have the BVN; null: no limit.
 */
export async function recordKyc(
  sql: Sql,
  book: Book,
  wallet: Pick<Wallet, 'id'>,
  tier: Tier,
  { sealed, bvnIndexes, walletsPerBvnMax }: ReturnType<typeof sealKyc> & { walletsPerBvnMax: number | null },
  proof: Proof,
  outcome?: IdempotencyOutcome,
): Promise<void> {
  await sql`
    WITH recorded AS (
      SELECT FROM ledger.record_kyc(
        ${book.organisationId}, ${book.environment}, ${proof}, ${wallet.id}, ${sealed}, ${[...bvnIndexes]}::text[],
        ${walletsPerBvnMax}, ${tier}, ${CONTRACT_TIER1.balance}, ${CONTRACT_TIER1.transaction})
    )${keepOutcome(sql, book, outcome, sql`recorded`)}
    SELECT FROM recorded`;
}

/** Sets the tier of a wallet that has KYC details, by the decision of an operator, and the limits of that tier. */
export async function setTier(
  sql: Sql,
  book: Book,
  walletId: Uuid,
  tier: Tier,
  { proof, reason }: { proof: Proof; reason: string },
): Promise<void> {
  await sql`
    SELECT ledger.record_kyc(
      ${book.organisationId}, ${book.environment}, ${proof}, ${walletId}, NULL, NULL, NULL, ${tier},
      ${CONTRACT_TIER1.balance}, ${CONTRACT_TIER1.transaction}, ${reason})`;
}
