// The checks of the ledger in itself: postings, accounts and transactions. Why each is exact beside concurrent
// postings: verify.ts.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { type AccountCode, isSuspense, mayBeNegative } from './chart.ts';
import { entryNumber, type Side } from './entries.ts';
import {
  type Check,
  type Location,
  pagedCheck,
  type Scope,
  type Verification,
  type VerificationOptions,
  verify,
} from './verify.ts';

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Verifies the ledger of all books in itself, without the resources. */
export const verifyLedger = (sql: Sql, options: VerificationOptions = {}): Promise<Verification> =>
  verify(sql, bookChecks(), options);

/** What the resources say that these suspense accounts hold, in the same order. */
export type Held = (
  snapshot: Snapshot,
  organisationId: Uuid,
  accounts: readonly { environment: Environment; code: AccountCode }[],
) => Promise<bigint[]>;

/** `held`: compares the suspense accounts too. */
export const bookChecks = (held?: Held): Check[] => [
  transactions,
  pagedCheck<AccountsPlace>('entries', (scope, place) => checkAccounts(scope, place, held)),
  reversals,
];

/**
 * SQL: the environment of the row with this id. LATERAL with LIMIT is planned as one index look-up per row; a plain
 * join may scan the other table for every page.
 */
const bookOf = ({ sql, organisationId }: Scope, table: 'accounts' | 'transactions', id: Fragment): Fragment => sql`
  LATERAL (SELECT environment FROM ${sql(`ledger.${table}`)}
           WHERE organisation_id = ${organisationId} AND id = ${id} LIMIT 1)`;

/** A page ends with all postings of a transaction, or with some. */
interface TransactionsPlace {
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
const transactions = pagedCheck<TransactionsPlace>('transactions and postings', async (scope, after) => {
  const { sql, books, organisationId, pageSize, add } = scope;
  const afterPosting =
    after === null ? sql`` : sql`AND (transaction_id, id) > (${after.transactionId}, ${after.id}::text::bigint)`;
  // With that of the last posting that was read: more of its postings may follow.
  const fromTransaction = after === null ? sql`` : sql`AND id >= ${after.transactionId}`;
  const transactionsMax = after === null ? pageSize : pageSize + 1;
  // The last row of the page is read in any case: it tells where the next page begins.
  const rows = await sql<
    (Location & {
      transactionId: Uuid;
      postingId: string | null;
      isFirst: boolean;
      isEmpty: boolean;
      named: Uuid | null;
      until: Uuid | null;
      postings: number;
      finalCount: string;
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
        AND id <= coalesce((SELECT transaction_id FROM p ORDER BY transaction_id OFFSET ${pageSize - 1}), ${LAST_UUID}::uuid)
      ORDER BY id LIMIT ${transactionsMax}
    ), page AS MATERIALIZED (
      SELECT coalesce((SELECT id FROM t ORDER BY id OFFSET ${transactionsMax - 1}),
                      (SELECT transaction_id FROM p ORDER BY transaction_id OFFSET ${pageSize - 1})) AS until
    )
    SELECT environment, transaction_id, posting_id::text, debit_account_id::text AS debit, credit_account_id::text AS credit,
           of_debit, of_credit, of_transaction, of_named, named, is_first, is_empty, until,
           postings, final_count::text, final_ids::text, transactions
    FROM (
      SELECT j.*, d.environment AS of_debit, c.environment AS of_credit, r.environment AS of_named,
             count(posting_id) OVER () AS postings, count(*) FILTER (WHERE is_final) OVER () AS final_count,
             coalesce(sum(posting_id) FILTER (WHERE is_final) OVER (), 0) AS final_ids,
             count(*) FILTER (WHERE is_first) OVER () AS transactions,
             is_first AND posting_id IS NULL AS is_empty,
             row_number() OVER (ORDER BY transaction_id, posting_id) = count(*) OVER () AS is_last
      FROM (
        SELECT coalesce(p.environment, t.environment) AS environment, coalesce(p.transaction_id, t.id) AS transaction_id,
               p.id AS posting_id, p.debit_account_id, p.credit_account_id, p.id <= ${books.lastPosting}::text::bigint AS is_final,
               t.environment AS of_transaction, t.named, page.until,
               coalesce(t.is_new, false) AND row_number() OVER (PARTITION BY coalesce(p.transaction_id, t.id) ORDER BY p.id) = 1 AS is_first
        FROM p FULL JOIN t ON t.id = p.transaction_id CROSS JOIN page
        WHERE page.until IS NULL OR coalesce(p.transaction_id, t.id) <= page.until
      ) j
      LEFT JOIN ${bookOf(scope, 'accounts', sql`j.debit_account_id`)} d ON true
      LEFT JOIN ${bookOf(scope, 'accounts', sql`j.credit_account_id`)} c ON true
      LEFT JOIN ${bookOf(scope, 'transactions', sql`j.named`)} r ON true
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
    const place = { environment, transactionId, postingId };
    const account = (side: string, id: string | null, ofAccount: Environment | null): void => {
      if (ofAccount === environment) return;
      const found = ofAccount === null ? 'no such account' : `an account of the ${ofAccount} book`;
      add('ACCOUNT_OUTSIDE_BOOK', place, `${side} account ${id} in ${book}`, found);
    };
    account('debit', debit, ofDebit);
    account('credit', credit, ofCredit);
    if (ofTransaction !== environment) {
      const found = ofTransaction === null ? 'no such transaction' : `a transaction of the ${ofTransaction} book`;
      add('TRANSACTION_OUTSIDE_BOOK', place, `a transaction of ${book}`, found);
    }
  }
  const last = rows.at(-1);
  if (last === undefined) return null;
  scope.addUnexplained(1, { postings: last.finalCount, ids: last.finalIds });
  scope.count('postings', last.postings);
  scope.count('transactions', last.transactions);
  if (last.until === null) return null;
  return { transactionId: last.until, id: last.transactionId === last.until ? (last.postingId ?? LAST_ID) : LAST_ID };
});

/**
 * A transaction is resolved or reversed at most once. A unique index enforces this too; the check finds what bypassed
 * it.
 */
const reversals = pagedCheck<Uuid>('reversals', async ({ sql, organisationId, pageSize, add }, after) => {
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

/** Where a page of accounts begins, or goes on: amounts and ids as text. */
interface AccountsPlace {
  /** The sum of the balances of each book. */
  sums: Partial<Record<Environment, string>>;
  /** The last account of the page. */
  lastAccount: string;
  /** The accounts of the page, unless they are all checked. */
  scans: AccountScan[];
}

/** The state of a scan over the entries of an account, in the order of their numbers. */
interface AccountScan {
  id: string;
  environment: Environment;
  code: AccountCode;
  /** Stored balance; null for an account with a derived balance. */
  balance: string | null;
  /** The last number of the account; null for a derived balance. */
  lastNumber: string | null;
  /** The entry up to which they are read: the last one of a stored balance, else the last one that is final. */
  until: string;
  /** Number of the last entry that was read. */
  last: string;
  /** The balance after that entry. */
  before: string;
  sum: string;
  /** The sum of those whose posting is final. */
  finalSum: string;
  isRead: boolean;
}

/**
 * Each stored balance is the sum of the account's entries, which are numbered without a gap up to the last number of
 * the account; the balance after each entry is the previous one less or plus its amount; and the balances of a book add
 * up to zero.
 */
async function checkAccounts(scope: Scope, after: AccountsPlace | null, held?: Held): Promise<AccountsPlace | null> {
  const { add, count } = scope;
  let place = after ?? { sums: {}, lastAccount: '0', scans: [] };
  if (place.scans.length === 0) {
    const scans = await readAccounts(scope, place);
    place = { ...place, scans, lastAccount: scans.at(-1)?.id ?? place.lastAccount };
  }
  const scans = await readEntries(scope, place);
  if (scans.some(({ isRead }) => !isRead)) return { ...place, scans };

  const sums = { ...place.sums };
  for (const { environment, code, balance, sum, finalSum, until, lastNumber } of scans) {
    if (lastNumber !== null && until !== lastNumber) {
      add('ENTRY_MISSING', { environment, code }, `${lastNumber} as the last number`, until);
    }
    const actual = BigInt(balance ?? sum);
    if (actual !== BigInt(sum)) add('BALANCE_MISMATCH', { environment, code }, sum, String(actual));
    if (actual < 0n && !mayBeNegative(code)) {
      add('NEGATIVE_BALANCE', { environment, code }, '>= 0', String(actual));
    }
    const final = actual - (BigInt(sum) - BigInt(finalSum));
    sums[environment] = String(BigInt(sums[environment] ?? 0) + final);
  }
  if (held !== undefined) await checkSuspense(scope, scans, held);
  count('accounts', scans.length);
  if (scans.length === accountsPerPage(scope)) return { ...place, sums, scans: [] };

  for (const [environment, sum] of Object.entries(sums) as [Environment, string][]) {
    if (sum !== '0') add('BOOK_UNBALANCED', { environment }, '0', sum);
  }
  count('books', Object.keys(sums).length);
  return null;
}

/**
 * The size of a page is limited by the entries of the accounts, and most accounts have many: so fewer accounts per
 * page.
 */
const accountsPerPage = ({ pageSize }: Scope): number => Math.ceil(Math.sqrt(pageSize));

/**
 * The next accounts, each with the last of its entries that the balance in the same snapshot includes.
 */
async function readAccounts(scope: Scope, { lastAccount }: AccountsPlace): Promise<AccountScan[]> {
  const { sql, books, organisationId } = scope;
  const lastOf = (side: Side): Fragment => sql`
    (SELECT ${entryNumber(sql, side)} FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = a.id
     ORDER BY ${entryNumber(sql, side)} DESC LIMIT 1)`;
  type Row = Omit<AccountScan, 'before' | 'finalSum' | 'isRead'>;
  const accounts = await sql<Row[]>`
    SELECT a.id::text, a.environment, a.code, a.balance::text,
           CASE WHEN a.balance IS NOT NULL THEN a.last_number::text END AS last_number,
           '0' AS last, '0' AS sum,
           (CASE WHEN a.balance IS NULL THEN ${books.lastPosting}::text::bigint
                 ELSE coalesce(greatest(${lastOf('debit')}, ${lastOf('credit')}), 0) END)::text AS until
    FROM (
      SELECT * FROM ledger.accounts WHERE organisation_id = ${organisationId} AND id > ${lastAccount}::text::bigint
      ORDER BY id LIMIT ${accountsPerPage(scope)}
    ) a
    ORDER BY a.id`;
  return accounts.map((account) => ({
    ...account,
    before: account.sum,
    finalSum: account.sum,
    isRead: account.until === account.last,
  }));
}

/** Reads the next entries of the accounts, one page in total. */
async function readEntries(scope: Scope, { scans }: AccountsPlace): Promise<AccountScan[]> {
  const { sql, books, organisationId, pageSize, add, count } = scope;
  const unread = scans.filter(({ isRead }) => !isRead);
  if (unread.length === 0) return scans;
  const entriesMax = Math.ceil(pageSize / unread.length);
  // WITH TIES: entries of an account with a derived balance may share a number, and a page must not part them.
  const entries = (side: Side, change: Fragment) => sql`
    (SELECT environment, transaction_id, id AS posting_id, ${entryNumber(sql, side)} AS number, ${change} AS change,
            ${sql(`${side}_balance_after`)} AS after
     FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = a.id
       AND ${entryNumber(sql, side)} > a.last AND ${entryNumber(sql, side)} <= a.until
     ORDER BY ${entryNumber(sql, side)} FETCH FIRST ${entriesMax} ROWS WITH TIES)`;
  const read = await sql<
    (Pick<AccountScan, 'id' | 'last' | 'sum' | 'finalSum'> & {
      entries: number;
      before: string | null;
      mismatched:
        | {
            environment: Environment;
            transactionId: Uuid;
            postingId: string;
            expected: string | null;
            found: string | null;
          }[]
        | null;
      gaps:
        | { environment: Environment; transactionId: Uuid; postingId: string; number: string; previous: string }[]
        | null;
    })[]
  >`
    WITH entries AS (
      SELECT a.id, e.*,
             CASE WHEN a.has_balance THEN e.change + coalesce(lag(e.after, 1, a.before) OVER account, 0) END AS expected,
             CASE WHEN a.has_balance THEN lag(e.number, 1, a.last) OVER account END AS previous
      FROM (
        SELECT unnest(${unread.map(({ id }) => id)}::text[]::bigint[]) AS id,
               unnest(${unread.map(({ last }) => last)}::text[]::bigint[]) AS last,
               unnest(${unread.map(({ until }) => until)}::text[]::bigint[]) AS until,
               unnest(${unread.map(({ before }) => before)}::text[]::bigint[]) AS before,
               unnest(${unread.map(({ balance }) => String(balance !== null))}::text[]::boolean[]) AS has_balance
      ) a
      CROSS JOIN LATERAL (
        ${entries('debit', sql`-amount::numeric`)} UNION ALL ${entries('credit', sql`amount::numeric`)}
        ORDER BY number FETCH FIRST ${entriesMax} ROWS WITH TIES
      ) e
      WINDOW account AS (PARTITION BY a.id ORDER BY e.number)
    )
    SELECT id::text, count(*) AS entries, max(number)::text AS last, sum(change)::text AS sum,
           coalesce(sum(change) FILTER (WHERE posting_id <= ${books.lastPosting}::text::bigint), 0)::text AS final_sum,
           (array_agg(after ORDER BY number))[count(*)]::text AS before,
           jsonb_agg(jsonb_build_object('environment', environment, 'transactionId', transaction_id, 'postingId', posting_id::text,
                                        'expected', expected::text, 'found', after::text) ORDER BY number)
             FILTER (WHERE after IS DISTINCT FROM expected) AS mismatched,
           jsonb_agg(jsonb_build_object('environment', environment, 'transactionId', transaction_id, 'postingId', posting_id::text,
                                        'number', number::text, 'previous', previous::text) ORDER BY number)
             FILTER (WHERE number <> previous + 1) AS gaps
    FROM entries GROUP BY entries.id`;
  const byId = new Map(read.map((account) => [account.id, account]));
  return scans.map((scan) => {
    const next = byId.get(scan.id);
    if (next === undefined) return { ...scan, isRead: true };
    count('entries', next.entries);
    for (const { expected, found, ...place } of next.mismatched ?? []) {
      const location = { ...place, code: scan.code };
      add('RUNNING_BALANCE_MISMATCH', location, expected ?? 'no stored balance', found ?? 'no balance');
    }
    for (const { number, previous, ...place } of next.gaps ?? []) {
      add(
        'ENTRY_MISSING',
        { ...place, code: scan.code },
        `${number} after ${BigInt(number) - 1n}`,
        `after ${previous}`,
      );
    }
    return {
      ...scan,
      last: next.last,
      before: next.before ?? '0',
      sum: String(BigInt(scan.sum) + BigInt(next.sum)),
      finalSum: String(BigInt(scan.finalSum) + BigInt(next.finalSum)),
      isRead: next.entries < entriesMax || next.last === scan.until,
    };
  });
}

/** A suspense account holds what waits for a decision: both are read on one snapshot. */
async function checkSuspense(
  { snapshots, books, organisationId, add }: Scope,
  scans: readonly AccountScan[],
  held: Held,
): Promise<void> {
  const accounts = scans.filter(({ code }) => isSuspense(code));
  if (accounts.length === 0) return;
  const since = (snapshot: Snapshot, side: Side): Fragment => snapshot`
    (SELECT coalesce(sum(amount), 0) FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${snapshot(`${side}_account_id`)} = a.id
       AND ${entryNumber(snapshot, side)} > ${books.lastPosting}::text::bigint)`;
  const { balances, expected } = await snapshots.read(async (snapshot) => ({
    balances: await snapshot<{ balance: string }[]>`
      SELECT coalesce(x.balance, a.sum + ${since(snapshot, 'credit')} - ${since(snapshot, 'debit')})::text AS balance
      FROM unnest(${accounts.map(({ id }) => id)}::text[]::bigint[], ${accounts.map(({ sum }) => sum)}::text[]::numeric[])
        WITH ORDINALITY AS a (id, sum, position)
      LEFT JOIN ledger.accounts x ON x.organisation_id = ${organisationId} AND x.id = a.id ORDER BY a.position`,
    expected: await held(snapshot, organisationId, accounts),
  }));
  for (const [position, { environment, code }] of accounts.entries()) {
    const [balance, waits] = [balances[position]?.balance ?? '0', String(expected[position])];
    if (balance !== waits) add('SUSPENSE_MISMATCH', { environment, code }, waits, balance);
  }
}
