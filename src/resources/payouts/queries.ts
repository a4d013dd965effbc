// Queries for payouts and their items. Only `ledger.post` writes them, in the same statement as the money of a change.
import { firstOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { BankRail } from '../../rail/port.ts';
import type { BankTransferRow } from '../bankTransfers/rows.ts';
import { bookTable, type FiltersOf, type Versioned } from '../bookTable.ts';
import { directionOf, type PageRequest } from '../pages.ts';
import type { Attached } from '../references.ts';
import { type Wallet, walletColumns, walletTables } from '../wallets/queries.ts';
import { contractOf } from '../wallets/virtualAccounts.ts';

export interface Payout extends Versioned, Attached {
  sourceWalletId: Uuid;
  totalAmount: Kobo;
  totalFee: Kobo;
  itemCount: number;
  status: 'processing' | 'completed' | 'partially_completed' | 'failed';
  createdAt: Date;
}

export interface PayoutItem extends BankTransferRow {
  payoutId: Uuid;
  /** The index in the batch, from 0. */
  position: number;
  fee: Kobo;
  status: 'pending' | 'processing' | 'completed' | 'failed';
  /** The wallet whose deposit account receives the money; null for any other bank account. */
  destinationWalletId: Uuid | null;
  accountNumber: string;
  /** The name given by the caller; from the hold on, the name that the bank has. */
  accountName: string | null;
  bankCode: string;
  /** The caller's own reference for the item. */
  reference: string | null;
  rail: string;
  /** When the bank returned the money; null if it did not. */
  returnedAt: Date | null;
  /** The bank returned it, or paid it after a failure, and no event of the payout has said so. */
  unreported: boolean;
  /** Posted within the book, to the destination wallet: nothing is sent to the rail. */
  inside: boolean;
}

export interface PayoutWithItems extends Payout {
  /** In batch order. */
  items: PayoutItem[];
}

export interface ItemWithWallet {
  item: PayoutItem;
  sourceWalletId: Uuid;
}

type Filter = 'status' | 'sourceWalletId' | 'reference';

const payoutTable = bookTable<Payout, Filter>(
  'payouts',
  (sql) => sql`
    id, version, source_wallet_id, total_amount, total_fee, item_count, status, reference, metadata, created_at`,
);

const itemColumns = (sql: Sql) => sql`
  i.id, i.version, i.payout_id, i.position, i.amount, i.fee, i.status, i.destination_wallet_id, i.account_number,
  i.account_name, i.bank_code, i.reference, i.failure_code, i.failure_reason, i.failure_detail, i.rail, i.session_id,
  i.returned_at, i.clawed_back, i.unreported, i.inside`;

/** Adds the items to each payout, with one query for all. */
async function withItems(sql: Sql, book: Book, payouts: Payout[]): Promise<PayoutWithItems[]> {
  const items = await sql<PayoutItem[]>`
    SELECT ${itemColumns(sql)} FROM payout_items i
    WHERE i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment}
      AND i.payout_id = ANY (${payouts.map(({ id }) => id)}::uuid[])
    ORDER BY i.payout_id, i.position`;
  const byPayout = Map.groupBy(items, (item) => item.payoutId);
  return payouts.map((payout) => ({ ...payout, items: byPayout.get(payout.id) ?? [] }));
}

export const findPayout = (sql: Sql, book: Book, id: Uuid): Promise<PayoutWithItems | null> =>
  firstOf(findPayouts(sql, book, [id]));

/** Those of these payouts that the book has. */
export const findPayouts = async (sql: Sql, book: Book, ids: readonly Uuid[]): Promise<PayoutWithItems[]> =>
  await withItems(sql, book, await payoutTable.findAll(sql, book, ids));

/** A payout without its items. */
export const findPayoutRow = payoutTable.find;

/** A page of a payout's items, in batch order, plus one row when another page exists. */
export async function listPayoutItems(
  sql: Sql,
  book: Book,
  payoutId: Uuid,
  filters: FiltersOf<PayoutItem, 'status' | 'reference'>,
  page: PageRequest,
): Promise<PayoutItem[]> {
  const [direction, isAfter] = directionOf(sql, { order: page.order ?? 'asc' });
  return await sql<PayoutItem[]>`
    SELECT ${itemColumns(sql)} FROM payout_items i
    WHERE i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment} AND i.payout_id = ${payoutId}
    ${page.after ? sql`AND i.position ${isAfter} ${Number(page.after.id)}` : sql``}
    ${filters.status ? sql`AND i.status = ${filters.status}` : sql``}
    ${filters.reference ? sql`AND i.reference = ${filters.reference}` : sql``}
    ORDER BY i.position ${direction} LIMIT ${page.limit + 1}`;
}

/** A page of payouts with their items, newest first, plus one when another page exists. */
export async function listPayouts(
  sql: Sql,
  book: Book,
  filters: FiltersOf<Payout, Filter>,
  page: PageRequest,
): Promise<PayoutWithItems[]> {
  return await withItems(sql, book, await payoutTable.list(sql, book, filters, page));
}

export async function findPayoutItem(sql: Sql, book: Book, id: Uuid): Promise<ItemWithWallet | null> {
  const [row] = await sql<(PayoutItem & { sourceWalletId: Uuid })[]>`
    SELECT ${itemColumns(sql)}, p.source_wallet_id
    FROM payout_items i JOIN payouts p ON p.organisation_id = i.organisation_id AND p.id = i.payout_id
    WHERE i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment} AND i.id = ${id}`;
  if (row === undefined) return null;
  const { sourceWalletId, ...item } = row;
  return { item, sourceWalletId };
}

export type ItemState = Pick<PayoutItem, 'id' | 'amount' | 'status'>;

/** The items of a payout with their states, from one snapshot, in batch order. */
export const listItemStates = (sql: Sql, book: Book, payoutId: Uuid): Promise<ItemState[]> => sql<ItemState[]>`
    SELECT id, amount, status FROM payout_items
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND payout_id = ${payoutId}
    ORDER BY position`;

/** A payout with the counts of its items by state, from one snapshot. */
export interface PayoutCount {
  payout: Payout;
  open: number;
  completed: number;
  failed: number;
  unreported: number;
}

export async function countPayout(sql: Sql, book: Book, id: Uuid): Promise<PayoutCount | null> {
  const [row] = await sql<(Payout & Omit<PayoutCount, 'payout'>)[]>`
    SELECT p.*, n.open, n.completed, n.failed, n.unreported
    FROM (${payoutTable.rowsOf(sql, book)} AND id = ${id}) p
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE i.status IN ('pending', 'processing'))::int AS open,
             count(*) FILTER (WHERE i.status = 'completed')::int AS completed,
             count(*) FILTER (WHERE i.status = 'failed')::int AS failed,
             count(*) FILTER (WHERE i.unreported)::int AS unreported
      FROM payout_items i
      WHERE i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment} AND i.payout_id = p.id
    ) n`;
  if (row === undefined) return null;
  const { open, completed, failed, unreported, ...payout } = row;
  return { payout, open, completed, failed, unreported };
}

export const listUnreportedItems = async (sql: Sql, book: Book, payoutId: Uuid): Promise<PayoutItem[]> =>
  await sql<PayoutItem[]>`
    SELECT ${itemColumns(sql)} FROM payout_items i
    WHERE i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment} AND i.payout_id = ${payoutId}
      AND i.unreported`;

/** A wallet of a payout request, with its deposit account; null while it has none. `hasPeriodLimits`: PERIOD_LIMITS. */
export interface PayoutWallet extends Wallet {
  depositAccount: { accountNumber: string; bankCode: string | null; accountName: string } | null;
  hasPeriodLimits: boolean;
}

/** The wallets with these ids, and the settlement wallet, with their deposit accounts at the rail, in one query. */
export async function findPayoutWallets(
  sql: Sql,
  book: Book,
  rail: BankRail,
  ids: readonly Uuid[],
): Promise<PayoutWallet[]> {
  return await sql<PayoutWallet[]>`
    SELECT ${walletColumns(sql)}, a.period_maxima IS NOT NULL AS has_period_limits,
           CASE WHEN v.owner_id IS NOT NULL THEN jsonb_build_object(
             'accountNumber', v.account_number, 'bankCode', v.bank_code, 'accountName', v.account_name
           ) END AS deposit_account
    FROM ${walletTables(sql)}
    LEFT JOIN virtual_accounts v ON v.organisation_id = w.organisation_id AND v.owner_id = w.id
      AND v.contract_id = ${contractOf(rail)}
    WHERE w.organisation_id = ${book.organisationId} AND w.environment = ${book.environment}
      AND (w.kind = 'settlement' OR w.id = ANY (${[...ids]}::uuid[]))`;
}
