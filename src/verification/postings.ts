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

/** The end of a page, which has all postings of its last transaction, or some. */
interface TransactionsCursor {
  transactionId: Uuid;
  /** The last posting that was read. */
  id: string;
}

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const LAST_ID = String(2n ** 63n - 1n);

/**
 * Each posting is in the book of its transaction and of its two accounts; each transaction has a posting, and resolves
 * or reverses a transaction of the same book. Both are read in the order of the transactions, up to where the first of
 * both pages ends, so that neither is looked up in the other.
 */
export const postingCheck = pagedCheck<TransactionsCursor>('transactions and postings', async (context, after) => {
  const { sql, lastPosting, organisationId, pageSize, add } = context;
  const afterPosting =
    after === null ? sql`` : sql`AND (transaction_id, id) > (${after.transactionId}, ${after.id}::text::bigint)`;
  // With that of the last posting that was read: more of its postings may follow.
  const fromTransaction = after === null ? sql`` : sql`AND id >= ${after.transactionId}`;
  const transactionsMax = after === null ? pageSize : pageSize + 1;
  // The last row of the page is read in any case: the next page begins after it.
  const rows = await sql<
    (Location & {
      transactionId: Uuid;
      postingId: string | null;
      isFirst: boolean;
      isEmpty: boolean;
      named: Uuid | null;
      until: Uuid | null;
      postings: number;
      finalCount: number;
      finalIds: string;
      transactions: number;
    } & Record<'debit' | 'credit', string | null> &
      Record<'ofDebit' | 'ofCredit' | 'ofTransaction' | 'ofNamed', Environment | null>)[]
  >`
    WITH p AS MATERIALIZED (
      SELECT environment, transaction_id, id, debit_account_id, credit_account_id FROM ledger.postings
      WHERE organisation_id = ${organisationId} ${afterPosting} ORDER BY transaction_id, id LIMIT ${pageSize}
    ), t AS MATERIALIZED (
      SELECT environment, id, coalesce(resolves, reverses) AS named,
             ${after === null ? sql`true` : sql`id > ${after.transactionId}`} AS is_new
      FROM ledger.transactions t
      WHERE organisation_id = ${organisationId} ${fromTransaction}
        AND id <= coalesce((SELECT transaction_id FROM p ORDER BY transaction_id OFFSET ${pageSize - 1}),
                           ${LAST_UUID}::uuid)
      ORDER BY id LIMIT ${transactionsMax}
    ), page AS MATERIALIZED (
      SELECT coalesce((SELECT id FROM t ORDER BY id OFFSET ${transactionsMax - 1}),
                      (SELECT transaction_id FROM p ORDER BY transaction_id OFFSET ${pageSize - 1})) AS until
    )
    SELECT environment, transaction_id, posting_id::text, debit_account_id::text AS debit,
           credit_account_id::text AS credit, of_debit, of_credit, of_transaction, of_named, named, is_first, is_empty,
           until, postings, final_count, final_ids::text, transactions
    FROM (
      SELECT j.*, d.environment AS of_debit, c.environment AS of_credit, r.environment AS of_named,
             count(posting_id) OVER () AS postings, count(*) FILTER (WHERE is_final) OVER () AS final_count,
             coalesce(sum(posting_id) FILTER (WHERE is_final) OVER (), 0) AS final_ids,
             count(*) FILTER (WHERE is_first) OVER () AS transactions,
             is_first AND posting_id IS NULL AS is_empty,
             row_number() OVER (ORDER BY transaction_id, posting_id) = count(*) OVER () AS is_last
      FROM (
        SELECT coalesce(p.environment, t.environment) AS environment,
               coalesce(p.transaction_id, t.id) AS transaction_id,
               p.id AS posting_id, p.debit_account_id, p.credit_account_id,
               p.id <= ${lastPosting}::text::bigint AS is_final, t.environment AS of_transaction, t.named, page.until,
               coalesce(t.is_new, false)
                 AND row_number() OVER (PARTITION BY coalesce(p.transaction_id, t.id) ORDER BY p.id) = 1 AS is_first
        FROM p FULL JOIN t ON t.id = p.transaction_id CROSS JOIN page
        WHERE page.until IS NULL OR coalesce(p.transaction_id, t.id) <= page.until
      ) j
      LEFT JOIN ${bookOf(context, 'accounts', sql`j.debit_account_id`)} d ON true
      LEFT JOIN ${bookOf(context, 'accounts', sql`j.credit_account_id`)} c ON true
      LEFT JOIN ${bookOf(context, 'transactions', sql`j.named`)} r ON true
    ) j
    WHERE is_last OR is_empty OR (is_first AND named IS NOT NULL AND of_named IS DISTINCT FROM of_transaction)
       OR (posting_id IS NOT NULL
           AND (of_debit = environment AND of_credit = environment AND of_transaction = environment) IS NOT TRUE)
    ORDER BY transaction_id, posting_id`;
  for (const { debit, credit, ofDebit, ofCredit, ofTransaction, ofNamed, environment, named, ...row } of rows) {
    const { transactionId, postingId } = row;
    const book = `the ${environment} book`;
    if (row.isEmpty) add('TRANSACTION_EMPTY', { environment, transactionId }, '1', '0');
    if (row.isFirst && named !== null && ofNamed !== ofTransaction) {
      const found = ofNamed === null ? 'no such transaction' : `one of the ${ofNamed} book`;
      const location = { environment: ofTransaction ?? environment, transactionId };
      add('REVERSAL_OUTSIDE_BOOK', location, `${publicId('transaction', named)} in the same book`, found);
    }
    if (postingId === null) continue;
    const location = { environment, transactionId, postingId };
    const account = (side: string, id: string | null, ofAccount: Environment | null): void => {
      if (ofAccount === environment) return;
      const found = ofAccount === null ? 'no such account' : `an account of the ${ofAccount} book`;
      add('ACCOUNT_OUTSIDE_BOOK', location, `${side} account ${id} in ${book}`, found);
    };
    account('debit', debit, ofDebit);
    account('credit', credit, ofCredit);
    if (ofTransaction !== environment) {
      const found = ofTransaction === null ? 'no such transaction' : `a transaction of the ${ofTransaction} book`;
      add('TRANSACTION_OUTSIDE_BOOK', location, `a transaction of ${book}`, found);
    }
  }
  const last = rows.at(-1);
  if (last === undefined) return null;
  const { postings, transactions } = last;
  context.count({ postings, transactions, unexplained: last.finalCount, unexplainedIds: last.finalIds });
  if (last.until === null) return null;
  return { transactionId: last.until, id: last.transactionId === last.until ? (last.postingId ?? LAST_ID) : LAST_ID };
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
