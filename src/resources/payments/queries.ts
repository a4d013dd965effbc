// Queries for payments. Only `ledger.post` writes them, in the same statement as the money and events of a change.
import { arrayLiteral } from '../../database/arrayLiterals.ts';
import { firstOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import { PROVIDERS } from '../../rail/providers.ts';
import { SANDBOX_RAIL } from '../../rail/sandbox/capabilities.ts';
import type { FeeBearer, PaymentState } from '../../workflows/payment/decide.ts';
import type { HoldTerms, Split } from '../../workflows/payment/splits.ts';
import type { FiltersOf, Versioned } from '../bookTable.ts';
import { literalOf, type PageRequest, pageClause } from '../pages.ts';
import type { Attached } from '../references.ts';
import type { VirtualAccountRow } from '../wallets/virtualAccounts.ts';

/** What happens to money that a payment does not take: an operator decides, or it is returned to its sender. */
export const ON_MISMATCH = ['hold', 'refund'] as const;
export type OnMismatch = (typeof ON_MISMATCH)[number];

export interface Payment extends Versioned, Attached {
  method: 'bank_transfer' | 'virtual_wallet';
  status: PaymentState['status'];
  baseAmount: Kobo;
  fee: Kobo;
  feeBearer: FeeBearer;
  amountReceived: Kobo;
  /** The amount credited to the target wallet and those of splits: net amount plus surplus. */
  amountCredited: Kobo;
  /** The sum of refunds in progress; `amountRefunded` is the sum of completed refunds. */
  amountRefunding: Kobo;
  amountRefunded: Kobo;
  /** What its review cases hold until they are decided, or until it is back at its sender. */
  amountInReview: Kobo;
  /** What the bank has taken back of the credits that reached the wallets: the target bears it. */
  amountRecalled: Kobo;
  /** What was charged of the fee. */
  feeCharged: Kobo;
  targetWalletId: Uuid;
  /** The parts of the base amount that other wallets get; of the rest and the surplus, all is the target's. */
  splits: readonly Split[];
  /** Until when what the target gets is held; null: it is not. */
  hold: HoldTerms | null;
  /** The wallet that paid a `virtual_wallet` payment. */
  payerWalletId: Uuid | null;
  description: string | null;
  onMismatch: OnMismatch;
  /** It ended unpaid: another payment may have its reference. */
  referenceIsFree: boolean;
  /** Where the payment page leads back to, of the caller's own; null: nowhere. */
  returnUrl: string | null;
  expiresAt: Date;
  settledAt: Date | null;
  createdAt: Date;
}

/** A payment with its account number, if it has one. */
export interface PaymentWithAccount extends Payment {
  account: PaymentAccount | null;
}

type PaymentAccount = Omit<VirtualAccountRow, 'ownerKind' | 'ownerId' | 'bankCode' | 'createdAt'>;

/** The account as JSON, which has its times as texts. */
type PaymentQueryRow = Payment & { account: (Omit<PaymentAccount, 'expiresAt'> & { expiresAt: string | null }) | null };

const select = (sql: Sql) => sql`
  SELECT p.id, p.version, p.method, p.status, p.base_amount, p.fee, p.fee_bearer, p.amount_received,
         p.amount_credited, p.amount_refunding, p.amount_refunded, p.amount_in_review, p.amount_recalled, p.fee_charged, p.target_wallet_id,
         p.splits, p.hold, p.payer_wallet_id, p.description, p.on_mismatch, p.return_url, p.reference, p.reference_is_free, p.metadata, p.expires_at, p.settled_at, p.created_at,
         CASE WHEN v.owner_id IS NOT NULL THEN jsonb_build_object(
           'rail', v.rail, 'accountNumber', v.account_number, 'bankName', v.bank_name, 'accountName', v.account_name,
           'acceptsAmount', v.accepts_amount, 'expiresAt', v.expires_at) END AS account
  FROM payments p LEFT JOIN virtual_accounts v ON v.organisation_id = p.organisation_id AND v.owner_id = p.id`;

function withAccount({ account, ...payment }: PaymentQueryRow): PaymentWithAccount {
  if (account === null) return { ...payment, account };
  const expiresAt = account.expiresAt === null ? null : new Date(account.expiresAt);
  return { ...payment, account: { ...account, expiresAt } };
}

export const findPayment = (sql: Sql, book: Book, id: Uuid): Promise<PaymentWithAccount | null> =>
  firstOf(findPayments(sql, book, [id]));

/** Those of these payments that the book has. */
export async function findPayments(sql: Sql, book: Book, ids: readonly Uuid[]): Promise<PaymentWithAccount[]> {
  const rows = await sql<PaymentQueryRow[]>`
    ${select(sql)}
    WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment}
      AND p.id = ANY (${[...ids]}::uuid[])`;
  return rows.map(withAccount);
}

/** A payment as its payer sees it: with the name of the organisation that asks for it, and the time of the database. */
export interface PaymentWithPayee {
  payment: PaymentWithAccount & {
    /** What was sent back to its senders, in time or not. */
    amountReturned: Kobo;
  };
  payee: string;
  now: Date;
}

export async function findPaymentWithPayee(sql: Sql, book: Book, id: Uuid): Promise<PaymentWithPayee | null> {
  const [found] = await sql<(PaymentQueryRow & Omit<PaymentWithPayee, 'payment'> & { amountReturned: Kobo })[]>`
    SELECT found.*, o.name AS payee, now()::timestamptz(3) AS now,
           (SELECT coalesce(sum(amount), 0) FROM review_cases
            WHERE organisation_id = ${book.organisationId} AND payment_id = ${id}
              AND status = 'returned_to_sender')::bigint AS amount_returned
    FROM (
      ${select(sql)}
      WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment} AND p.id = ${id}
    ) found
    JOIN organisations o ON o.organisation_id = ${book.organisationId}`;
  if (found === undefined) return null;
  const { payee, now, amountReturned, ...row } = found;
  return { payment: { ...withAccount(row), amountReturned }, payee, now };
}

type PaymentFilters = FiltersOf<Payment, 'status' | 'method' | 'targetWalletId' | 'reference'> & {
  /** Its own, or one that another payment had before. */
  accountNumber?: string | undefined;
};

/** The names of all rails: the index of account numbers begins with the rail. */
const RAILS = [SANDBOX_RAIL, ...PROVIDERS.map(({ name }) => name)];

/** SQL: payments that have, or had, this account number. */
const hasAccount = (sql: Sql, book: Book, accountNumber: string) => sql`
  AND p.id IN (
    SELECT owner_id FROM virtual_accounts
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND rail = ANY (${RAILS}::text[]) AND account_number = ${accountNumber}
  )`;

/** A page of payments, newest first, plus one row when another page exists. */
export async function listPayments(
  sql: Sql,
  book: Book,
  { accountNumber, method, ...filters }: PaymentFilters,
  page: PageRequest,
): Promise<PaymentWithAccount[]> {
  const rows = await sql<PaymentQueryRow[]>`
    ${select(sql)}
    WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment}
    ${accountNumber ? hasAccount(sql, book, accountNumber) : sql``}
    ${method ? sql`AND p.method = ${literalOf(sql, method)}` : sql``}
    ${pageClause(sql, book, filters, page, { table: 'p' })}`;
  return rows.map(withAccount);
}

/** A payment, and the version of it that a payment page has shown. */
export interface SeenPayment {
  book: Book;
  paymentId: Uuid;
  version: number;
}

/** The current versions of those payments that are newer than seen. One statement for any number of a book. */
export async function readChangedPayments(
  sql: Sql,
  seen: readonly SeenPayment[],
): Promise<{ paymentId: Uuid; version: number }[]> {
  const byBook = Map.groupBy(seen, ({ book }) => `${book.organisationId} ${book.environment}`);
  const changed = Array.from(byBook.values(), async (ofBook) => {
    const [{ book }] = ofBook as [SeenPayment];
    // OFFSET 0: each payment is one look-up in the primary key.
    return await sql<{ paymentId: Uuid; version: number }[]>`
      SELECT s.id AS payment_id, changed.version
      FROM unnest(${arrayLiteral(ofBook, ({ paymentId }) => paymentId)}::text::uuid[],
                  ${arrayLiteral(ofBook, ({ version }) => version)}::text::integer[]) AS s (id, version)
      CROSS JOIN LATERAL (
        SELECT p.version FROM payments p
        WHERE p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment} AND p.id = s.id
          AND p.version > s.version OFFSET 0
      ) changed`;
  });
  return (await Promise.all(changed)).flat();
}
