// Queries for review cases: money in suspense, breaks or unconfirmed credits for an operator to resolve.
import { firstOf, type Sql } from '../../database/pool.ts';
import { publicId, type Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import type { Book, Environment, Kobo } from '../../money.ts';
import type { WalletAmount } from '../../workflows/payment/splits.ts';
import { bookTable, type Versioned } from '../bookTable.ts';
import type { FailureCode } from '../failureCodes.ts';
import { findPayment, type PaymentWithAccount } from '../payments/queries.ts';
import type { PayerAccount } from '../refunds/queries.ts';

/** Why a review case was opened. The last four hold no money. */
export const REVIEW_REASONS = [
  'late_credit',
  'credit_after_settlement',
  'unknown_account',
  'partial_expired',
  'surplus_over_limit',
  'split_refused',
  'over_limit',
  'wallet_frozen',
  'wallet_closed',
  'wallet_unverified',
  'reconciliation_break',
  'credit_unconfirmed',
  'paid_after_failure',
  'credit_recalled',
] as const;

export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** `refused` or `returned` as reported by the rail, `never_received` by it, or `decided` by operators. */
export const RETURN_FAILURES = ['refused', 'returned', 'never_received', 'decided'] as const;
export type ReturnFailure = (typeof RETURN_FAILURES)[number];

/**
 * `returning`: on its way to the sender. `closed`: without money. `recalled`: taken back by the bank. `repaid`: what
 * was owed was repaid, or written off.
 */
export const REVIEW_STATUSES = [
  'open',
  'returning',
  'credited',
  'returned_to_sender',
  'unclaimed',
  'closed',
  'recalled',
  'repaid',
] as const;

/**
 * Cases between us and the bank, which the caller does not see, in events either: they hold no money of anyone. A
 * recall that left a debt is between the caller and the owner of the wallet.
 */
const INTERNAL_REASONS: readonly ReviewReason[] = ['reconciliation_break', 'paid_after_failure', 'credit_recalled'];
export const isInternal = ({ reason, walletId }: Pick<ReviewCase, 'reason' | 'walletId'>): boolean =>
  INTERNAL_REASONS.includes(reason) && (reason !== 'credit_recalled' || walletId === null);

export interface ReviewCase extends Versioned {
  reason: ReviewReason;
  status: (typeof REVIEW_STATUSES)[number];
  /** The amount in suspense; for a break or an unconfirmed credit, the amount in question. */
  amount: Kobo;
  /** The suspense account that holds the money while the case is open; null where the case holds none. */
  accountCode: AccountCode | null;
  inboundCreditId: Uuid | null;
  paymentId: Uuid | null;
  /** The caller's own reference of the payment. */
  reference: string | null;
  /** The wallet that the money was for, or that it was credited to. */
  walletId: Uuid | null;
  /** The rail that returns the money. */
  rail: string | null;
  /** The number of references used to return the money. */
  attempts: number;
  /** How the latest attempt failed, and why. */
  failure: ReturnFailure | null;
  failureCode: FailureCode | null;
  failureReason: string | null;
  createdAt: Date;
  resolvedAt: Date | null;
  /** Public id of the transfer that the bank paid after reporting it as failed; null for other cases. */
  transfer: string | null;
  /** What a credit to the wallet of its payment is charged; once credited, what was charged. */
  fee: Kobo;
  /** What its payment held before, if the credit settled it: credited together. */
  withHeld: Kobo;
  /** What the splits of its payment were credited of that and of its amount. */
  splits: readonly WalletAmount[];
  /**
   * Of a late credit: how long after its payment's `expiresAt` the bank received it; 0: before, and it was reported
   * after the payment had ended.
   */
  lateBySeconds: number | null;
  /** What the bank took back of several credits that it holds, while it was unclaimed. `amount` is without it. */
  recalledUnclaimed: Kobo;
}

/** Whether a payer sent its money. The money of a failed transfer or of a repaid debt belongs to the wallet. */
export const hasSender = ({ inboundCreditId, reason }: ReviewCase): boolean =>
  inboundCreditId !== null || reason === 'partial_expired';

/** Whether it holds money that was received for its payment, and not, for example, a refund that came back. */
export const isOfPayment = (row: ReviewCase): boolean =>
  row.paymentId !== null && row.accountCode !== null && (hasSender(row) || row.reason === 'split_refused');

/** SQL: the same, of a case with a payment. */
export const caseOfPayment = (sql: Sql) => sql`
  (account_code IS NOT NULL AND (inbound_credit_id IS NOT NULL OR reason IN ('partial_expired', 'split_refused')))`;

/** SQL: whether a case of a payment `p` was credited to one of its wallets, as money of the payment. */
export const creditedToPayment = (sql: Sql) => sql`
  (status = 'credited' AND ${caseOfPayment(sql)} AND (wallet_id = p.target_wallet_id OR (
     reason = 'split_refused' AND p.splits @> jsonb_build_array(jsonb_build_object('walletId', wallet_id)))))`;

/** The payment that the money of a case was received for; null: none. */
export async function findPaymentOfCase(sql: Sql, book: Book, row: ReviewCase): Promise<PaymentWithAccount | null> {
  return isOfPayment(row) && row.paymentId !== null ? await findPayment(sql, book, row.paymentId) : null;
}

/**
 * The rail's reference of the latest attempt to return the money: the case's id, from the second attempt on with its
 * number. At most 40 characters of `[a-z0-9_]`, as rails require.
 */
export const returnReference = ({ id, attempts }: Pick<ReviewCase, 'id' | 'attempts'>): string =>
  attempts > 1 ? `${publicId('reviewCase', id)}_${attempts}` : publicId('reviewCase', id);

const { columns, rowsOf, find } = bookTable<ReviewCase>(
  'review_cases',
  (sql) => sql`
    id, version, reason, status, amount, account_code, inbound_credit_id, payment_id, wallet_id, rail, attempts, failure,
    failure_code, failure_reason, created_at, resolved_at, transfer, reference, fee, with_held, splits, recalled_unclaimed, late_by_seconds`,
);
export const findReviewCase = find;

interface ReviewCaseFilter {
  /** Default: cases that are not resolved. */
  status?: ReviewCase['status'] | undefined;
  reason?: ReviewReason | undefined;
  environment?: Environment | undefined;
}

type CaseFilter = 'status' | 'reason' | 'paymentId' | 'walletId';

/** The cases that the caller sees. */
export const {
  find: findVisibleCase,
  findAll: findVisibleCases,
  list: listVisibleCases,
} = bookTable<ReviewCase, CaseFilter>(
  'review_cases',
  columns,
  (sql) => sql`
    (reason <> ALL (${[...INTERNAL_REASONS]}::text[]) OR (reason = 'credit_recalled' AND wallet_id IS NOT NULL))`,
);

/** The cases of one organisation, oldest first, at most `max`, and their total number. */
export async function listReviewCases(
  sql: Sql,
  organisationId: Uuid,
  { status, reason, environment }: ReviewCaseFilter,
  max: number,
): Promise<{ cases: (ReviewCase & { environment: Environment })[]; total: number }> {
  const cases = await sql<(ReviewCase & { environment: Environment; total: number })[]>`
    SELECT environment, ${columns(sql)}, count(*) OVER ()::int AS total FROM review_cases
    WHERE organisation_id = ${organisationId}
      AND ${status === undefined ? sql`status IN ('open', 'returning')` : sql`status = ${status}`}
      ${reason === undefined ? sql`` : sql`AND reason = ${reason}`}
      ${environment === undefined ? sql`` : sql`AND environment = ${environment}`}
    ORDER BY created_at, id LIMIT ${max}`;
  return { cases, total: cases[0]?.total ?? 0 };
}

/** The cases of a credit: `whole`, its own or that of the expired payment; `surplus`, of a part of it. */
export async function findCasesOfCredit(
  sql: Sql,
  book: Book,
  { id, status, ownerId }: { id: Uuid; status: string; ownerId: Uuid | null },
): Promise<{ whole: ReviewCase | null; surplus: ReviewCase | null }> {
  const rows = await sql<ReviewCase[]>`
    ${rowsOf(sql, book)} AND account_code IS NOT NULL
      AND (inbound_credit_id = ${id} OR (payment_id = ${ownerId} AND reason = 'partial_expired'))
    ORDER BY created_at, id`;
  const isWhole = ({ reason, inboundCreditId }: ReviewCase) =>
    status === 'suspense' ? inboundCreditId === id : reason === 'partial_expired';
  return {
    whole: rows.find(isWhole) ?? null,
    surplus: rows.find(({ reason }) => reason === 'surplus_over_limit') ?? null,
  };
}

/** The open case of a credit that was set aside; null: there is none, or an operator has closed it. */
export const findUnconfirmedCase = (sql: Sql, book: Book, creditId: Uuid): Promise<ReviewCase | null> =>
  firstOf(sql<ReviewCase[]>`
    ${rowsOf(sql, book)} AND inbound_credit_id = ${creditId} AND reason = 'credit_unconfirmed' AND status = 'open'`);

/** One case of an organisation, in either environment. */
export const findCaseOf = (
  sql: Sql,
  organisationId: Uuid,
  id: Uuid,
): Promise<(ReviewCase & { environment: Environment }) | null> =>
  firstOf(sql<(ReviewCase & { environment: Environment })[]>`
    SELECT environment, ${columns(sql)} FROM review_cases WHERE organisation_id = ${organisationId} AND id = ${id}`);

type SenderAccount = PayerAccount & { rail: string };

/** SQL: whether the bank has not taken a credit back while its money was in suspense or unclaimed. */
export const isNotTakenBack = (sql: Sql) =>
  sql`NOT coalesce(recall = 'posted' AND recalled_from ~ '^(suspense|unclaimed):', false)`;

/**
 * The sender accounts of a case's money: of its credit, or the expired part of its payment. None: one is not known, or
 * the contract of its rail is disconnected.
 */
export async function findSenders(sql: Sql, book: Book, row: ReviewCase): Promise<SenderAccount[]> {
  if (!hasSender(row)) return [];
  const ofExpired = sql`owner_id = ${row.paymentId} AND status = 'posted' AND ${isNotTakenBack(sql)}`;
  const senders = await sql<(SenderAccount & { isDisconnected: boolean | null })[]>`
    SELECT rail, sender_account_number AS account_number, sender_bank_code AS bank_code,
           (array_agg(sender_name ORDER BY received_at DESC, id DESC))[1] AS account_name,
           (SELECT bool_and(c.disconnected_at IS NOT NULL) FROM rail_contracts c
            WHERE c.organisation_id = ${book.organisationId} AND c.environment = ${book.environment}
              AND c.rail = inbound_credits.rail) AS is_disconnected
    FROM inbound_credits
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND ${row.inboundCreditId === null ? ofExpired : sql`id = ${row.inboundCreditId}`}
    GROUP BY 1, 2, 3`;
  const isKnown = senders.every(
    ({ accountNumber, bankCode, isDisconnected }) => accountNumber !== null && bankCode !== null && !isDisconnected,
  );
  return isKnown ? senders : [];
}
