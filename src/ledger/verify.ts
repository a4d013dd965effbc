// The verification of all books, organisation by organisation. It may run for hours beside the postings, so it holds no
// snapshot for longer than a page, memory and statements do not grow with the ledger, and it can go on from any page.
//
// Why it is exact nevertheless: each check reads what belongs together on one snapshot, or up to a point that is final.
// Transactions and postings are immutable, and are committed together. A resource is read with its transactions, and a
// transaction with its resource. An account with a stored balance is read with the number of its last entry: they were
// written under its lock, so the balance is the sum of the entries up to that number, whatever is posted while they are
// read. Balances of an organisation are added up as of one posting, the last one that is final
// (ledger.last_final_posting), because accounts with a derived balance are never locked.
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

export type FindingKind =
  | 'BOOK_UNBALANCED'
  | 'BALANCE_MISMATCH'
  | 'RUNNING_BALANCE_MISMATCH'
  | 'ENTRY_MISSING'
  | 'NEGATIVE_BALANCE'
  | 'ACCOUNT_OUTSIDE_BOOK'
  | 'TRANSACTION_OUTSIDE_BOOK'
  | 'TRANSACTION_EMPTY'
  | 'REVERSAL_OUTSIDE_BOOK'
  | 'REVERSED_TWICE'
  | 'RESOURCE_MISMATCH'
  | 'UNEXPLAINED_TRANSACTION'
  | 'SUSPENSE_MISMATCH'
  | 'SEAL_MISMATCH'
  | 'SEAL_MISSING'
  | 'BANK_BALANCE_MISMATCH';

/** One violation. Amounts are kobo as text: a corrupt ledger may contain more than a safe integer. */
export interface Finding {
  kind: FindingKind;
  /** Public id of the organisation; with the environment it identifies the book. */
  organisation: string;
  environment: Environment;
  account: string | null;
  /** Public id of the resource. */
  resource: string | null;
  /** Public id of the transaction. */
  transaction: string | null;
  /** Id of the posting within its transaction. */
  posting: string | null;
  expected: string;
  found: string;
}

export interface Verification {
  books: number;
  accounts: number;
  postings: number;
  transactions: number;
  findings: Finding[];
  /** True when there are more findings than are listed. */
  truncated: boolean;
}

export interface Progress {
  /** Rows that were read. */
  done: number;
  /** An estimate, until it is complete. */
  total: number;
  /** From where the verification can go on; null while there is nothing to skip. */
  place: Place | null;
}

/**
 * Where a page begins: plain JSON, so that a heartbeat can keep it. While there are findings it stays before the first
 * one, so that a verification that goes on finds them again.
 */
export interface Place extends Books {
  check: string;
  after: unknown;
  counts: Counts;
}

/** The books of an organisation, while they are verified. */
interface Books {
  organisationId: Uuid;
  /** The last posting that was final when the verification of the organisation began: sums are as of it. */
  lastPosting: string;
  /** Of the postings up to it, less those that resources explain: their number, and the sum of their ids. */
  unexplained: Readonly<Record<'postings' | 'ids', string>>;
}

/** What was read: each posting also as the entry of each of its accounts. */
type Counts = Record<'books' | 'accounts' | 'postings' | 'transactions' | 'entries', number>;

export interface VerificationOptions {
  onProgress?: (progress: Progress) => void;
  pageSize?: number;
  /** Goes on from here. */
  from?: Place | null;
}

/** A check of the books of an organisation, in pages. */
export interface Check {
  name: string;
  /** Checks the page after `after` (null: the first) and returns where the next one begins; null after the last. */
  checkPage: (scope: Scope, after: unknown) => Promise<unknown>;
}

/** What a check reads, and where it reports. */
export interface Scope {
  sql: Sql;
  books: Books;
  organisationId: Uuid;
  pageSize: number;
  add: (kind: FindingKind, location: Location, expected: string, found: string) => void;
  count: (rows: keyof Counts, number: number) => void;
}

/** Where a violation is. */
export interface Location {
  environment: Environment;
  code?: string | null;
  resource?: string;
  transactionId?: Uuid;
  postingId?: string;
}

/** Adds postings to those that a resource must explain, or, with a sign of -1, takes them off. */
export function addUnexplained({ books }: Scope, sign: 1 | -1, added: Books['unexplained']): void {
  const sum = (one: string, other: string): string => String(BigInt(one) + BigInt(sign) * BigInt(other));
  const { postings, ids } = books.unexplained;
  books.unexplained = { postings: sum(postings, added.postings), ids: sum(ids, added.ids) };
}

export const pagedCheck = <After>(
  name: string,
  checkPage: (scope: Scope, after: After | null) => Promise<After | null>,
): Check => ({ name, checkPage: (scope, after) => checkPage(scope, after as After | null) });

/** Large enough that round trips do not matter, small enough to check a page in memory and within a second. */
const PAGE_SIZE = 10_000;

/** A corrupt ledger is repaired from the first findings; a list of millions would not help. */
const FINDINGS_MAX = 1_000;

/**
 * Runs the checks on the books of every organisation. It needs only the right to read the ledger. When the database is
 * unavailable it throws the error of the driver, and can go on from the last place.
 */
export async function verify(
  sql: Sql,
  checks: readonly [Check, ...Check[]],
  { onProgress, pageSize = PAGE_SIZE, from: given = null }: VerificationOptions = {},
): Promise<Verification> {
  // A place of another version of the checks is of no use.
  const from = checks.some(({ name }) => name === given?.check) ? given : null;
  const counts: Counts = { books: 0, accounts: 0, postings: 0, transactions: 0, entries: 0, ...from?.counts };
  const findings: Finding[] = [];
  let truncated = false;
  const scopeOf = (books: Books): Scope => ({
    sql,
    books,
    organisationId: books.organisationId,
    pageSize,
    count: (rows, number) => {
      counts[rows] += number;
    },
    add: (...finding) => {
      if (findings.length < FINDINGS_MAX) findings.push(describe(books.organisationId, ...finding));
      else truncated = true;
    },
  });

  const estimate = await estimateRows(sql);
  let saved = from;
  const report = (isComplete: boolean): void => {
    const done = counts.accounts + counts.postings + counts.transactions + counts.entries;
    onProgress?.({ done, total: isComplete ? done : Math.max(estimate, done), place: saved });
  };
  report(false);
  let books: Books | null = from === null ? await nextBooks(sql, null) : { ...from };
  let position = from === null ? 0 : checks.findIndex(({ name }) => name === from.check);
  let after: unknown = from?.after ?? null;
  while (books !== null) {
    const scope = scopeOf(books);
    after = await (checks[position] ?? checks[0]).checkPage(scope, after);
    if (after === null) position = (position + 1) % checks.length;
    books = after === null && position === 0 ? await nextBooks(sql, books.organisationId) : scope.books;
    if (books !== null && findings.length === 0) {
      saved = { ...books, check: (checks[position] ?? checks[0]).name, after, counts: { ...counts } };
    }
    report(books === null);
  }
  const { entries: _entries, ...verified } = counts;
  return { ...verified, findings, truncated };
}

function describe(
  organisationId: Uuid,
  kind: FindingKind,
  { environment, code, resource, transactionId, postingId }: Location,
  expected: string,
  found: string,
): Finding {
  return {
    kind,
    organisation: publicId('organisation', organisationId),
    environment,
    account: code ?? null,
    resource: resource ?? null,
    transaction: transactionId === undefined ? null : publicId('transaction', transactionId),
    posting: postingId ?? null,
    expected,
    found,
  };
}

/** How many rows there are to read, by the statistics of the tables: counting them would take as long as a check. */
async function estimateRows(sql: Sql): Promise<number> {
  const [row] = await sql<{ rows: number }[]>`
    SELECT sum(greatest(reltuples, 0) * CASE relname WHEN 'postings' THEN 3 ELSE 1 END)::bigint AS rows
    FROM pg_class WHERE oid IN ('ledger.accounts'::regclass, 'ledger.transactions'::regclass, 'ledger.postings'::regclass)`;
  return row?.rows ?? 0;
}

/** The books of the next organisation with rows in the ledger, whether or not it is registered; null after the last. */
async function nextBooks(sql: Sql, after: Uuid | null): Promise<Books | null> {
  const first = (table: 'postings' | 'accounts' | 'transactions') => sql`
    (SELECT organisation_id FROM ${sql(`ledger.${table}`)}
     ${after === null ? sql`` : sql`WHERE organisation_id > ${after}`} ORDER BY organisation_id LIMIT 1)`;
  const [row] = await sql<{ organisationId: Uuid }[]>`
    SELECT organisation_id FROM (${first('postings')} UNION ALL ${first('accounts')} UNION ALL ${first('transactions')}) f
    ORDER BY organisation_id LIMIT 1`;
  if (row === undefined) return null;
  const [last] = await sql<
    { posting: string }[]
  >`SELECT ledger.last_final_posting(${row.organisationId})::text AS posting`;
  return { ...row, lastPosting: last?.posting ?? '0', unexplained: { postings: '0', ids: '0' } };
}
