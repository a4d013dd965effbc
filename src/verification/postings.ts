// The checks of postings and transactions in themselves: each is in one book, none is empty, none is reversed twice.
import type postgres from 'postgres';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { type CheckContext, type Location, pagedCheck } from './verify.ts';

/**
 * SQL: the environment of the row with this id. LATERAL with LIMIT is planned as one index look-up per row; a plain
 * join may scan the other table for every page.
 */
const bookOf = (
  { sql, organisationId }: CheckContext,
  table: 'accounts' | 'transactions',
  id: postgres.Fragment,
): postgres.Fragment => sql`
  LATERAL (SELECT environment FROM ${sql(`ledger.${table}`)}
           WHERE organisation_id = ${organisationId} AND id = ${id} LIMIT 1)`;

type PostingPosition = Required<Pick<Location, 'transactionId' | 'postingId'>>;

/** Each posting is in the book of its transaction and of its two accounts. */
export const postingCheck = pagedCheck<PostingPosition>('postings', async (context, after) => {
  const { sql, lastPosting, organisationId, pageSize, add } = context;
  const from =
    after === null ? sql`` : sql`AND (transaction_id, id) > (${after.transactionId}, ${after.postingId}::text::bigint)`;
  const isFinal = sql`p.id <= ${lastPosting}::text::bigint`;
  // The last row of the page is read in any case: the next page begins after it.
  const rows = await sql<
    (PostingPosition & { environment: Environment; postings: number; finalCount: number; finalIds: string } & Record<
        'debit' | 'credit',
        string
      > &
      Record<'ofDebit' | 'ofCredit' | 'ofTransaction', Environment | null>)[]
  >`
    SELECT * FROM (
      SELECT p.environment, p.transaction_id, p.id::text AS posting_id, p.debit_account_id::text AS debit,
             p.credit_account_id::text AS credit, d.environment AS of_debit, c.environment AS of_credit,
             t.environment AS of_transaction, count(*) OVER () AS postings,
             count(*) FILTER (WHERE ${isFinal}) OVER () AS final_count,
             coalesce(sum(p.id) FILTER (WHERE ${isFinal}) OVER (), 0)::text AS final_ids,
             row_number() OVER (ORDER BY p.transaction_id, p.id) AS place
      FROM (
        SELECT environment, transaction_id, id, debit_account_id, credit_account_id FROM ledger.postings
        WHERE organisation_id = ${organisationId} ${from} ORDER BY transaction_id, id LIMIT ${pageSize}
      ) p
      LEFT JOIN ${bookOf(context, 'accounts', sql`p.debit_account_id`)} d ON true
      LEFT JOIN ${bookOf(context, 'accounts', sql`p.credit_account_id`)} c ON true
      LEFT JOIN ${bookOf(context, 'transactions', sql`p.transaction_id`)} t ON true
    ) page
    WHERE place = postings
       OR (of_debit = environment AND of_credit = environment AND of_transaction = environment) IS NOT TRUE
    ORDER BY place`;
  for (const { environment, transactionId, postingId, debit, credit, ofDebit, ofCredit, ofTransaction } of rows) {
    const location = { environment, transactionId, postingId };
    const account = (side: string, id: string, ofAccount: Environment | null): void => {
      if (ofAccount === environment) return;
      const found = ofAccount === null ? 'no such account' : `an account of the ${ofAccount} book`;
      add('ACCOUNT_OUTSIDE_BOOK', location, `${side} account ${id} in the ${environment} book`, found);
    };
    account('debit', debit, ofDebit);
    account('credit', credit, ofCredit);
    if (ofTransaction !== environment) {
      const found = ofTransaction === null ? 'no such transaction' : `a transaction of the ${ofTransaction} book`;
      add('TRANSACTION_OUTSIDE_BOOK', location, `a transaction of the ${environment} book`, found);
    }
  }
  const last = rows.at(-1);
  if (last === undefined) return null;
  const { transactionId, postingId, postings, finalCount, finalIds } = last;
  context.count({ postings, unexplained: finalCount, unexplainedIds: finalIds });
  return postings < pageSize ? null : { transactionId, postingId };
});

/** Each transaction has a posting, and resolves or reverses a transaction of the same book. */
export const linkCheck = pagedCheck<Uuid>('transactions', async (context, after) => {
  const { sql, organisationId, pageSize, add } = context;
  const from = after === null ? sql`` : sql`AND id > ${after}`;
  const rows = await sql<
    {
      environment: Environment;
      transactionId: Uuid;
      named: Uuid | null;
      ofNamed: Environment | null;
      isEmpty: boolean;
      transactions: number;
    }[]
  >`
    SELECT * FROM (
      SELECT t.environment, t.id AS transaction_id, t.named, r.environment AS of_named,
             p.id IS NULL AS is_empty, count(*) OVER () AS transactions,
             row_number() OVER (ORDER BY t.id) AS place
      FROM (
        SELECT environment, id, coalesce(resolves, reverses) AS named FROM ledger.transactions
        WHERE organisation_id = ${organisationId} ${from} ORDER BY id LIMIT ${pageSize}
      ) t
      LEFT JOIN ${bookOf(context, 'transactions', sql`t.named`)} r ON true
      LEFT JOIN LATERAL (
        SELECT id FROM ledger.postings WHERE organisation_id = ${organisationId} AND transaction_id = t.id LIMIT 1
      ) p ON true
    ) page
    WHERE place = transactions OR is_empty OR (named IS NOT NULL AND of_named IS DISTINCT FROM environment)
    ORDER BY place`;
  for (const { environment, transactionId, named, ofNamed, isEmpty } of rows) {
    if (isEmpty) add('TRANSACTION_EMPTY', { environment, transactionId }, '1', '0');
    if (named === null || ofNamed === environment) continue;
    const found = ofNamed === null ? 'no such transaction' : `one of the ${ofNamed} book`;
    const expected = `${publicId('transaction', named)} in the same book`;
    add('REVERSAL_OUTSIDE_BOOK', { environment, transactionId }, expected, found);
  }
  const { transactions = 0, transactionId = null } = rows.at(-1) ?? {};
  context.count({ transactions });
  return transactions < pageSize ? null : transactionId;
});

/** Resolved or reversed at most once. A unique index enforces it too; this finds what bypassed it. */
export const reversalCheck = pagedCheck<Uuid>('reversals', async ({ sql, organisationId, pageSize, add }, after) => {
  const named = sql`coalesce(resolves, reverses)`;
  const from = after === null ? sql`` : sql`AND ${named} > ${after}`;
  const rows = await sql<{ number: number; environment: Environment; transactionId: Uuid; times: number }[]>`
    SELECT number, environment, transaction_id, times
    FROM (
      SELECT *, row_number() OVER (ORDER BY transaction_id) AS number, count(*) OVER () AS last
      FROM (
        SELECT min(environment) AS environment, ${named} AS transaction_id, count(*) AS times
        FROM ledger.transactions WHERE organisation_id = ${organisationId} AND ${named} IS NOT NULL ${from}
        GROUP BY ${named} ORDER BY ${named} LIMIT ${pageSize}
      ) page
    ) t
    WHERE times > 1 OR number = last ORDER BY number`;
  for (const { times, environment, transactionId } of rows) {
    if (times > 1) add('REVERSED_TWICE', { environment, transactionId }, '1', String(times));
  }
  const last = rows.at(-1);
  return last?.number === pageSize ? last.transactionId : null;
});
