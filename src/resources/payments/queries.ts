// Queries for payments. Only `ledger.post` writes them, in the same statement as the money and events of a change.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { ListFilters, PageRequest } from '../pages.ts';
import type { VirtualAccountRow } from '../wallets/virtualAccounts.ts';

export type PaymentStatus =
  | 'pending'
  | 'partial'
  | 'settled'
  | 'expired'
  | 'failed'
  | 'refunded'
  | 'partially_refunded';

export interface Payment {
  id: Uuid;
  /** Incremented by each change, for optimistic locking: a stale version is a conflict. */
  version: number;
  method: 'bank_transfer' | 'virtual_wallet';
  status: PaymentStatus;
  baseAmount: Kobo;
  fee: Kobo;
  amountReceived: Kobo;
  /** The amount credited to the target wallet: base amount plus surplus. */
  amountCredited: Kobo;
  /** The sum of refunds in progress; `amountRefunded` is the sum of completed refunds. */
  amountRefunding: Kobo;
  amountRefunded: Kobo;
  targetWalletId: Uuid;
  /** The wallet that paid a `virtual_wallet` payment. */
  payerWalletId: Uuid | null;
  description: string | null;
  expiresAt: Date;
  settledAt: Date | null;
  createdAt: Date;
}

/** A payment with its account number, if it has one. */
export interface PaymentWithAccount extends Payment {
  account: Pick<VirtualAccountRow, 'accountNumber' | 'bankName' | 'accountName' | 'expiresAt'> | null;
}

type PaymentQueryRow = Payment & {
  accountNumber: string | null;
  bankName: string | null;
  accountName: string | null;
};

const select = (sql: Sql) => sql`
  SELECT p.id, p.version, p.method, p.status, p.base_amount, p.fee, p.amount_received, p.amount_credited,
         p.amount_refunding, p.amount_refunded, p.target_wallet_id, p.payer_wallet_id, p.description, p.expires_at, p.settled_at, p.created_at,
         v.account_number, v.bank_name, v.account_name
  FROM payments p LEFT JOIN virtual_accounts v ON v.organisation_id = p.organisation_id AND v.owner_id = p.id`;

function withAccount({ accountNumber, bankName, accountName, ...payment }: PaymentQueryRow): PaymentWithAccount {
  const account =
    accountNumber === null || bankName === null || accountName === null
      ? null
      : { accountNumber, bankName, accountName, expiresAt: payment.expiresAt };
  return { ...payment, account };
}

/** The amount that the payer must transfer. */
export const payableAmount = (payment: Pick<Payment, 'baseAmount' | 'fee'>): Kobo => payment.baseAmount + payment.fee;

export async function findPayment(sql: Sql, book: Book, id: Uuid): Promise<PaymentWithAccount | null> {
  const [row] = await sql<PaymentQueryRow[]>`
    ${select(sql)}
    WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment} AND p.id = ${id}`;
  return row === undefined ? null : withAccount(row);
}

export interface PaymentFilters extends ListFilters {
  status?: PaymentStatus | undefined;
  method?: Payment['method'] | undefined;
  targetWalletId?: Uuid | undefined;
}

/** A page of payments, newest first, plus one row when another page exists. */
export async function listPayments(
  sql: Sql,
  book: Book,
  filters: PaymentFilters,
  page: PageRequest,
): Promise<PaymentWithAccount[]> {
  const rows = await sql<PaymentQueryRow[]>`
    ${select(sql)}
    WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment}
    ${page.after ? sql`AND (p.created_at, p.id) < (${page.after.createdAt}, ${page.after.id})` : sql``}
    ${filters.status ? sql`AND p.status = ${filters.status}` : sql``}
    ${filters.method ? sql`AND p.method = ${filters.method}` : sql``}
    ${filters.targetWalletId ? sql`AND p.target_wallet_id = ${filters.targetWalletId}` : sql``}
    ${filters.createdAtFrom ? sql`AND p.created_at >= ${filters.createdAtFrom}` : sql``}
    ${filters.createdAtTo ? sql`AND p.created_at <= ${filters.createdAtTo}` : sql``}
    ORDER BY p.created_at DESC, p.id DESC LIMIT ${page.limit + 1}`;
  return rows.map(withAccount);
}
