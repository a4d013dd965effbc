// Look-up of ledger transactions: to recognise a posting of one's own, and to show one to the caller.
import { firstOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Kobo } from '../money.ts';
import type { AccountCode } from './chart.ts';

/** The id of the transaction with this business key; null if none was posted. */
export async function findTransactionId(sql: Sql, book: Book, key: string): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    SELECT id FROM ledger.transactions
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
  return row?.id ?? null;
}

export interface PostedTransaction {
  id: Uuid;
  kind: string;
  /** Public id of the resource that caused it. */
  resource: string;
  reverses: Uuid | null;
  effectiveAt: Date;
  createdAt: Date;
  /** In their order. */
  postings: { debit: AccountCode; credit: AccountCode; amount: Kobo }[];
}

/** A transaction with its postings; null when this book has none with this id. */
export const findTransaction = (sql: Sql, book: Book, id: Uuid): Promise<PostedTransaction | null> =>
  firstOf(sql<PostedTransaction[]>`
    SELECT t.id, t.kind, t.resource, t.reverses, t.effective_at, t.moved_at AS created_at, p.postings
    FROM ledger.transactions t
    CROSS JOIN LATERAL (
      SELECT jsonb_agg(jsonb_build_object('debit', d.code, 'credit', c.code, 'amount', p.amount) ORDER BY p.id) AS postings
      FROM ledger.postings p
      JOIN ledger.accounts d ON d.organisation_id = p.organisation_id AND d.id = p.debit_account_id
      JOIN ledger.accounts c ON c.organisation_id = p.organisation_id AND c.id = p.credit_account_id
      WHERE p.organisation_id = t.organisation_id AND p.transaction_id = t.id
    ) p
    WHERE t.organisation_id = ${book.organisationId} AND t.environment = ${book.environment} AND t.id = ${id}`);
