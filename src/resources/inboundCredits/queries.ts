// Queries for inbound credits: money whose arrival a rail has reported.
import { firstOf, rowOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import type { Book, Kobo } from '../../money.ts';
import { bookTable, type Versioned } from '../bookTable.ts';
import { type ListFilters, type PageRequest, pageClause } from '../pages.ts';
import type { ReviewCase, ReviewReason } from '../reviewCases/queries.ts';

export interface InboundCredit extends Versioned {
  rail: string;
  sessionId: string;
  /** Account, amount, sender, owner and time: until it is posted, as they were reported first. Null: not reported. */
  accountNumber: string | null;
  accountReference: string | null;
  amount: Kobo;
  senderName: string | null;
  senderAccountNumber: string | null;
  senderBankCode: string | null;
  senderSessionId: string | null;
  /** The owner of the credited account number; null when it is unknown. */
  ownerKind: 'payment' | 'wallet' | null;
  ownerId: Uuid | null;
  /**
   * `received`: stored, not posted yet. `posted`: posted to its payment or wallet. `suspense`: posted to suspense, with
   * a review case for an operator. `set_aside`: not confirmed by the rail, so not posted, with a review case
   * `credit_unconfirmed`. `recalled`: taken back by the bank before anything was posted.
   */
  status: 'received' | 'posted' | 'suspense' | 'set_aside' | 'recalled';
  receivedAt: Date;
  createdAt: Date;
  /** Whether the bank has taken it back: so it says, it was posted, or it was not confirmed and set aside. */
  recall: 'received' | 'posted' | 'set_aside' | null;
  /** The account that a posted recall took money from, and how much; null: the money was no longer here. */
  recalledFrom: AccountCode | null;
  recalledTaken: Kobo | null;
  /** What it took, before that, of what is held beside that account. */
  recalledHeld: Kobo;
}

const table = bookTable<InboundCredit>(
  'inbound_credits',
  (sql) => sql`
    id, version, rail, session_id, account_number, account_reference, amount, sender_name, sender_account_number,
    sender_bank_code, sender_session_id, owner_kind, owner_id, status, received_at, created_at, recall, recalled_from, recalled_taken,
    recalled_held`,
);
export const findInboundCredit = table.find;

/** SQL: the ids of a payment's credits that are not applied yet. */
const receivedOf = (sql: Sql, { organisationId, environment }: Book, paymentId: Uuid) => sql`
  SELECT id FROM inbound_credits
  WHERE organisation_id = ${organisationId} AND environment = ${environment} AND status = 'received'
    AND owner_kind = 'payment' AND owner_id = ${paymentId}`;

/** Returns the ids of a payment's credits that are not applied yet, oldest first. */
export async function listReceivedCredits(
  sql: Sql,
  book: Book,
  paymentId: Uuid,
  { after, limit }: { after: Uuid | null; limit: number },
): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    ${receivedOf(sql, book, paymentId)} ${after === null ? sql`` : sql`AND id > ${after}`} ORDER BY id LIMIT ${limit}`;
  return rows.map(({ id }) => id);
}

/** The time of the database, and at most `limit` ids of a payment's credits that are not applied yet. */
export const findAtExpiry = (sql: Sql, book: Book, paymentId: Uuid, limit: number) =>
  rowOf(sql<{ now: Date; received: Uuid[] }[]>`
    SELECT now()::timestamptz(3) AS now, ARRAY(${receivedOf(sql, book, paymentId)} LIMIT ${limit}) AS received`);

/** The credit with this session id of a rail; null when it was not reported. */
export const findCreditOfSession = (
  sql: Sql,
  book: Book,
  rail: string,
  sessionId: string,
): Promise<InboundCredit | null> =>
  firstOf(sql<InboundCredit[]>`
    ${table.rowsOf(sql, book)} AND rail = ${rail} AND session_id = ${sessionId}`);

/** A credit with the review case for all or part of it, if any. */
export interface ListedCredit extends InboundCredit {
  reviewCaseId: Uuid | null;
  reviewReason: ReviewReason | null;
  reviewStatus: ReviewCase['status'] | null;
}

/** A page of the credits to an owner's account number, newest first, plus one row when another page exists. */
export async function listCredits(
  sql: Sql,
  book: Book,
  owner: { kind: 'payment' | 'wallet'; id: Uuid },
  filters: ListFilters,
  page: PageRequest,
): Promise<ListedCredit[]> {
  // `own`: the review case of the credit itself; that of an unconfirmed credit counts only while the credit is set
  // aside, and that of a recall only where a wallet owes it. `held`: the case of an expired payment, one for all
  // credits that it held.
  return await sql<ListedCredit[]>`
    SELECT c.*, coalesce(own.id, held.id) AS review_case_id, coalesce(own.reason, held.reason) AS review_reason,
           coalesce(own.status, held.status) AS review_status
    FROM (${table.rowsOf(sql, book)} AND owner_id = ${owner.id} AND owner_kind = ${owner.kind}) c
    LEFT JOIN LATERAL (
      SELECT r.id, r.reason, r.status FROM review_cases r
      WHERE r.organisation_id = ${book.organisationId} AND r.inbound_credit_id = c.id
        AND (r.reason <> 'credit_unconfirmed' OR c.status = 'set_aside')
        AND (r.reason <> 'credit_recalled' OR r.wallet_id IS NOT NULL)
      ORDER BY r.created_at, r.id LIMIT 1
    ) own ON true
    LEFT JOIN LATERAL (
      SELECT r.id, r.reason, r.status FROM review_cases r
      WHERE r.organisation_id = ${book.organisationId} AND r.payment_id = c.owner_id AND r.reason = 'partial_expired'
        AND c.status = 'posted' AND c.owner_kind = 'payment'
      LIMIT 1
    ) held ON true
    WHERE true ${pageClause(sql, book, filters, page, { table: 'c' })}`;
}

/** What one bank account paid towards a payment. Number and bank: null where the rail named no sender. */
export interface Payer {
  accountNumber: string | null;
  bankCode: string | null;
  /** The sender name of its latest credit. */
  accountName: string | null;
  amount: Kobo;
}

/** The accounts whose money reached the wallet and stayed, the largest sum first; at most `max`. */
export const findPayers = (
  sql: Sql,
  book: Book,
  paymentId: Uuid,
  { max, only }: { max: number; only?: { accountNumber: string; bankCode: string } | undefined },
): Promise<Payer[]> => sql<Payer[]>`
    SELECT sender_account_number AS account_number, sender_bank_code AS bank_code, sum(amount)::bigint AS amount,
           (array_agg(sender_name ORDER BY received_at DESC, id DESC))[1] AS account_name
    FROM inbound_credits c
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND owner_id = ${paymentId} AND owner_kind = 'payment' AND recall IS DISTINCT FROM 'posted' AND (
        status = 'posted' AND NOT EXISTS (
          SELECT FROM review_cases r
          WHERE r.organisation_id = ${book.organisationId} AND r.payment_id = ${paymentId}
            AND r.reason = 'partial_expired' AND (r.status <> 'credited' OR r.wallet_id <> (
              SELECT p.target_wallet_id FROM payments p WHERE p.organisation_id = r.organisation_id AND p.id = r.payment_id))
        ) OR EXISTS (
          SELECT FROM review_cases r JOIN payments p ON p.organisation_id = r.organisation_id AND p.id = ${paymentId}
          WHERE r.organisation_id = ${book.organisationId} AND r.inbound_credit_id = c.id AND r.status = 'credited'
            AND r.wallet_id = p.target_wallet_id
        )) ${only ? sql`AND sender_account_number = ${only.accountNumber} AND sender_bank_code = ${only.bankCode}` : sql``}
    GROUP BY sender_account_number, sender_bank_code
    ORDER BY amount DESC, account_number, bank_code LIMIT ${max}`;

/** The credits of a case that the bank took back, or is taking back, when their money or its surplus has left it. */
export async function findRecalledAway(
  sql: Sql,
  book: Book,
  { inboundCreditId, paymentId, reason }: Pick<ReviewCase, 'inboundCreditId' | 'paymentId' | 'reason'>,
): Promise<InboundCredit[]> {
  const isOfCase =
    reason === 'partial_expired'
      ? sql`owner_id = ${paymentId} AND owner_kind = 'payment' AND status = 'posted'`
      : sql`id = ${inboundCreditId}`;
  return await sql<InboundCredit[]>`
    ${table.rowsOf(sql, book)} AND ${isOfCase} AND (recall = 'received' OR recall = 'posted'
      AND (${reason === 'surplus_over_limit'} OR recalled_from IS NULL AND recalled_taken = 0))`;
}

/** Those of these session ids that no credit of ours has, but for one that was set aside. */
export async function findUnknownSessions(
  sql: Sql,
  book: Book,
  rail: string,
  sessions: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ sessionId: string }[]>`
    SELECT session_id FROM inbound_credits
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND rail = ${rail}
      AND session_id = ANY (${[...sessions]}::text[]) AND status <> 'set_aside'`;
  const known = new Set(rows.map(({ sessionId }) => sessionId));
  return new Set(sessions.filter((one) => !known.has(one)));
}
