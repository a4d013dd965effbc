// Counterparty, description and reference of a statement's lines: read for a whole page with one query.
import type postgres from 'postgres';
import type { Sql } from '../../database/pool.ts';
import { type IdKind, parseId, publicId, type Uuid } from '../../ids.ts';
import { PAYOUT_RESERVE, type PostingComponent } from '../../ledger/components.ts';
import type { Book } from '../../money.ts';

/** The other side: a wallet of the same book, or an account at a bank, with what is known of it. */
export interface Counterparty {
  walletId: Uuid | null;
  name: string | null;
  accountNumber: string | null;
  bankCode: string | null;
}

export interface LineFacts {
  counterparty: Counterparty | null;
  description: string | null;
  reference: string | null;
  /** Of a payout: the item whose amount the line is. */
  payoutItemId: Uuid | null;
}

interface Line {
  resource: string;
  kind: string;
  place: number;
  component: PostingComponent;
}

/** What is known about a resource, or about one item of a payout. */
interface Facts extends Omit<Counterparty, 'walletId'>, Omit<LineFacts, 'counterparty'> {
  /** The wallets that it moves money between. */
  oneWalletId: Uuid | null;
  otherWalletId: Uuid | null;
}

const NO_ACCOUNT = { name: null, accountNumber: null, bankCode: null };

const NONE: LineFacts = { counterparty: null, description: null, reference: null, payoutItemId: null };

/** The place among the facts of a line: one item of a payout, or all of a resource. */
const placeOf = ({ kind, component, place }: Line): number =>
  (Object.values(PAYOUT_RESERVE) as string[]).includes(kind) && component === 'principal' ? place : 0;

/** Adds to each line of a wallet what is known about its resource. */
export async function readLineFacts<L extends Line>(
  sql: Sql,
  book: Book,
  walletId: Uuid,
  lines: readonly L[],
): Promise<(L & LineFacts)[]> {
  const rows = await readFacts(sql, book, walletId, lines);
  const byLine = new Map(rows.map((row) => [`${row.resource}/${row.place}`, row]));
  return lines.map((line) => {
    const row = byLine.get(`${line.resource}/${placeOf(line)}`);
    return row === undefined ? { ...line, ...NONE } : { ...line, ...factsOf(row, walletId) };
  });
}

function factsOf(row: Facts, walletId: Uuid): LineFacts {
  const { description, reference, payoutItemId } = row;
  // The payer first: a payment or refund has several wallets on the other side, of which the target is named.
  const other = [row.otherWalletId, row.oneWalletId].find((id) => id !== null && id !== walletId) ?? null;
  // The account of an item inside the book is that of its destination.
  const { name, accountNumber, bankCode } = other !== null && other === row.otherWalletId ? NO_ACCOUNT : row;
  const known = other !== null || name !== null || accountNumber !== null;
  const counterparty = known ? { walletId: other, name, accountNumber, bankCode } : null;
  return { counterparty, description, reference, payoutItemId };
}

async function readFacts(sql: Sql, book: Book, walletId: Uuid, lines: readonly Line[]) {
  const parts = (Object.entries(SELECTS) as [IdKind, Select][]).flatMap(([kind, select]) => {
    const ids = lines.map(({ resource }) => parseId(kind, resource)).filter((id) => id !== null);
    return ids.length === 0 ? [] : [select(sql, book, [...new Set(ids)], lines, walletId)];
  });
  const [first, ...others] = parts;
  if (first === undefined) return [];
  const union = others.reduce((all, part) => sql`${all} UNION ALL ${part}`, first);
  // `place`: of the item in its payout; 0: all of the resource.
  const rows = await sql<{ kind: IdKind; id: Uuid; place: number; facts: Partial<Facts> }[]>`${union}`;
  const none = { ...NO_ACCOUNT, ...NONE, oneWalletId: null, otherWalletId: null };
  return rows.map(({ kind, id, place, facts }) => ({ ...none, ...facts, place, resource: publicId(kind, id) }));
}

type Select = (sql: Sql, book: Book, ids: readonly Uuid[], lines: readonly Line[], walletId: Uuid) => postgres.Fragment;

const of = (sql: Sql, book: Book, ids: readonly Uuid[], alias: postgres.Fragment) => sql`
  ${alias}.organisation_id = ${book.organisationId} AND ${alias}.environment = ${book.environment}
  AND ${alias}.id = ANY (${[...ids]}::uuid[])`;

/** SQL: `c`, who sent the last of the credits that a payment `p` accepted. */
const lastSender = (sql: Sql, condition = sql``) => sql`
  LEFT JOIN LATERAL (
    SELECT sender_name, sender_account_number, sender_bank_code FROM inbound_credits
    WHERE organisation_id = p.organisation_id AND environment = p.environment AND owner_id = p.id
      AND owner_kind = 'payment' AND status = 'posted' ${condition}
    ORDER BY created_at DESC, id DESC LIMIT 1
  ) c ON true`;

/** SQL: what a payment `p` is for this wallet: the description of its split, where it has one. */
const descriptionFor = (sql: Sql, walletId: Uuid) => sql`
  coalesce((
    SELECT s.description FROM jsonb_to_recordset(p.splits) AS s ("walletId" uuid, description text)
    WHERE s."walletId" = ${walletId}), p.description)`;

/**
 * The kinds of resources that have more to tell than their id: each with its facts as JSON, without those that it never
 * has.
 */
const SELECTS: Partial<Record<IdKind, Select>> = {
  transfer: (sql, book, ids) => sql`
    SELECT 'transfer' AS kind, t.id, 0 AS place, jsonb_build_object(
      'oneWalletId', t.source_wallet_id, 'otherWalletId', t.destination_wallet_id, 'description', t.description,
      'reference', t.reference) AS facts
    FROM transfers t WHERE ${of(sql, book, ids, sql`t`)}`,
  hold: (sql, book, ids, _lines, walletId) => sql`
    SELECT 'hold' AS kind, h.id, 0 AS place, jsonb_build_object(
      'oneWalletId', h.source_wallet_id, 'otherWalletId', h.wallet_id, 'reference', coalesce(t.reference, p.reference),
      'description', coalesce(t.description, ${descriptionFor(sql, walletId)})) AS facts
    FROM holds h LEFT JOIN transfers t ON t.organisation_id = h.organisation_id AND t.id = h.transfer_id
    LEFT JOIN payments p ON p.organisation_id = h.organisation_id AND p.id = h.payment_id
    WHERE ${of(sql, book, ids, sql`h`)}`,
  withdrawal: (sql, book, ids) => sql`
    SELECT 'withdrawal' AS kind, w.id, 0 AS place, jsonb_build_object(
      'name', w.account_name, 'accountNumber', w.account_number, 'bankCode', w.bank_code, 'description', w.narration,
      'reference', w.reference) AS facts
    FROM withdrawals w WHERE ${of(sql, book, ids, sql`w`)}`,
  refund: (sql, book, ids) => sql`
    SELECT 'refund' AS kind, r.id, 0 AS place, jsonb_build_object(
      'oneWalletId', CASE r.destination WHEN 'wallet' THEN p.target_wallet_id END,
      'otherWalletId', CASE r.destination WHEN 'wallet' THEN p.payer_wallet_id END, 'name', r.account_name,
      'accountNumber', r.account_number, 'bankCode', r.bank_code, 'description', r.reason, 'reference', r.reference) AS facts
    FROM refunds r JOIN payments p ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
    WHERE ${of(sql, book, ids, sql`r`)}`,
  payment: (sql, book, ids, _lines, walletId) => sql`
    SELECT 'payment' AS kind, p.id, 0 AS place, jsonb_build_object(
      'oneWalletId', CASE WHEN p.payer_wallet_id IS NOT NULL THEN p.target_wallet_id END,
      'otherWalletId', p.payer_wallet_id, 'name', c.sender_name, 'accountNumber', c.sender_account_number,
      'bankCode', c.sender_bank_code, 'description', ${descriptionFor(sql, walletId)}, 'reference', p.reference) AS facts
    FROM payments p ${lastSender(sql)}
    WHERE ${of(sql, book, ids, sql`p`)}`,
  payout: (sql, book, ids, lines) => {
    const items = lines.flatMap((line) => {
      const payoutId = parseId('payout', line.resource);
      return payoutId === null || placeOf(line) === 0 ? [] : [{ payoutId, position: placeOf(line) - 1 }];
    });
    return sql`
      SELECT 'payout' AS kind, p.id, 0 AS place, jsonb_build_object('reference', p.reference) AS facts
      FROM payouts p WHERE ${of(sql, book, ids, sql`p`)}
      UNION ALL
      SELECT 'payout', i.payout_id, i.position + 1, jsonb_build_object(
        'oneWalletId', i.destination_wallet_id, 'name', i.account_name, 'accountNumber', i.account_number,
        'bankCode', i.bank_code, 'reference', i.reference, 'payoutItemId', i.id)
      FROM unnest(${items.map(({ payoutId }) => payoutId)}::uuid[], ${items.map(({ position }) => position)}::integer[])
        AS k (payout_id, position)
      JOIN payout_items i ON i.organisation_id = ${book.organisationId} AND i.environment = ${book.environment}
        AND i.payout_id = k.payout_id AND i.position = k.position`;
  },
  payoutItem: (sql, book, ids) => sql`
    SELECT 'payoutItem' AS kind, i.id, 0 AS place, jsonb_build_object(
      'oneWalletId', i.destination_wallet_id, 'otherWalletId', CASE WHEN i.inside THEN p.source_wallet_id END,
      'name', i.account_name, 'accountNumber', i.account_number, 'bankCode', i.bank_code, 'reference', i.reference,
      'payoutItemId', i.id) AS facts
    FROM payout_items i JOIN payouts p ON p.organisation_id = i.organisation_id AND p.id = i.payout_id
    WHERE ${of(sql, book, ids, sql`i`)}`,
  inboundCredit: (sql, book, ids) => sql`
    SELECT 'inboundCredit' AS kind, c.id, 0 AS place, jsonb_build_object(
      'name', c.sender_name, 'accountNumber', c.sender_account_number, 'bankCode', c.sender_bank_code) AS facts
    FROM inbound_credits c WHERE ${of(sql, book, ids, sql`c`)}`,
  adjustment: (sql, book, ids) => sql`
    SELECT 'adjustment' AS kind, a.id, 0 AS place, jsonb_build_object(
      'description', coalesce(a.description, 'Correction' || coalesce(' of ' || a.corrects, ''))) AS facts
    FROM adjustments a WHERE ${of(sql, book, ids, sql`a`)}`,
  // What its money was received for; the sender of its own credit, or of one that its expired payment held.
  reviewCase: (sql, book, ids, _lines, walletId) => sql`
    SELECT 'reviewCase' AS kind, r.id, 0 AS place, jsonb_build_object(
      'name', coalesce(i.sender_name, c.sender_name), 'bankCode', coalesce(i.sender_bank_code, c.sender_bank_code),
      'accountNumber', coalesce(i.sender_account_number, c.sender_account_number),
      'description', ${descriptionFor(sql, walletId)}, 'reference', p.reference) AS facts
    FROM review_cases r
    LEFT JOIN inbound_credits i ON i.organisation_id = r.organisation_id AND i.id = r.inbound_credit_id
    LEFT JOIN payments p ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
    ${lastSender(sql, sql`AND r.inbound_credit_id IS NULL`)}
    WHERE ${of(sql, book, ids, sql`r`)}`,
};
