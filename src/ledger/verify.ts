// Verifies the integrity of the ledger: reads every posting, account and transaction and reports each violation. It
// works organisation by organisation and in pages, so that neither memory nor a single query grows with the ledger, and
// on one snapshot, so that concurrent postings do not appear as violations.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { type AccountCode, isSuspense, mayBeNegative } from './chart.ts';

export type FindingKind =
  | 'BOOK_UNBALANCED'
  | 'BALANCE_MISMATCH'
  | 'RUNNING_BALANCE_MISMATCH'
  | 'NEGATIVE_BALANCE'
  | 'ACCOUNT_OUTSIDE_BOOK'
  | 'TRANSACTION_OUTSIDE_BOOK'
  | 'TRANSACTION_EMPTY'
  | 'REVERSAL_OUTSIDE_BOOK'
  | 'REVERSED_TWICE'
  | 'RESOURCE_MISMATCH'
  | 'UNEXPLAINED_BALANCE'
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
  /** Number of the posting. */
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
  done: number;
  total: number;
}

/** Large enough that round trips do not matter, small enough to check a page in memory and within a second. */
const PAGE_SIZE = 10_000;

/** A corrupt ledger is repaired from the first findings; a list of millions would not help. */
const FINDINGS_MAX = 1_000;

export type Snapshot = postgres.TransactionSql<{ bigint: number }>;
type Fragment = ReturnType<Snapshot>;
type LedgerTable = 'postings' | 'accounts' | 'transactions';

export interface VerificationOptions {
  onProgress?: (progress: Progress) => void;
  pageSize?: number;
}

/** Sums by account of an organisation. */
export class AccountSums {
  readonly #sums = new Map<string, bigint>();

  add(environment: Environment, code: AccountCode, amount: bigint): void {
    const key = `${environment} ${code}`;
    const sum = (this.#sums.get(key) ?? 0n) + amount;
    if (sum === 0n) this.#sums.delete(key);
    else this.#sums.set(key, sum);
  }

  /** Removes the sum of an account and returns it. */
  take(environment: Environment, code: AccountCode): bigint {
    const key = `${environment} ${code}`;
    const sum = this.#sums.get(key) ?? 0n;
    this.#sums.delete(key);
    return sum;
  }

  /** The sums that were not taken. */
  *rest(): Generator<{ environment: Environment; code: AccountCode; sum: bigint }> {
    for (const [key, sum] of this.#sums) {
      const [environment, code] = key.split(' ') as [Environment, AccountCode];
      yield { environment, code, sum };
    }
  }
}

/** What the resources of an organisation say about its accounts. */
interface ResourceSums {
  /** What their transactions moved: nothing else changes a balance. */
  moved: AccountSums;
  /** What is in a suspense account for an open review case or a partly paid payment. */
  held: AccountSums;
}

/** Compares the resources of an organisation with the ledger. `advance` is called after each page. */
export type ResourceCheck = (organisation: {
  snapshot: Snapshot;
  organisationId: Uuid;
  pageSize: number;
  add: (kind: FindingKind, place: Omit<Place, 'organisationId'>, expected: string, found: string) => void;
  advance: () => void;
}) => Promise<ResourceSums>;

/**
 * Verifies all books on one read-only snapshot. It needs only the right to read the ledger. When the database is
 * unavailable it throws the error of the driver, and the verification has no result.
 */
export async function verifyLedger(
  sql: Sql,
  options: VerificationOptions & { checkResources?: ResourceCheck } = {},
): Promise<Verification> {
  return await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (snapshot) => {
    const snapshotName = await nameSnapshot(snapshot);
    const sizes = await readSizes(snapshot);
    const findings = new Findings();
    // A posting is read three times: once by #checkPostings and once for each of its two accounts.
    const total = 3 * sizes.postings + sizes.accounts + sizes.transactions;
    let done = 0;
    const advance = (rows: number): void => {
      done += rows;
      options.onProgress?.({ done, total });
    };
    advance(0);

    let books = 0;
    let organisationId = await nextOrganisation(snapshot, null);
    while (organisationId !== null) {
      const check = new OrganisationCheck(snapshot, organisationId, findings, options.pageSize ?? PAGE_SIZE);
      books += await check.run(advance, options.checkResources);
      organisationId = await nextOrganisation(snapshot, organisationId);
    }

    // After a lost connection the driver can continue outside of the transaction (docs/decisions/0001), without a
    // snapshot.
    if ((await nameSnapshot(snapshot)) !== snapshotName) {
      throw new Error('The connection to the database was lost during the verification. Run it again.');
    }
    return { books, ...sizes, findings: findings.listed, truncated: findings.truncated };
  });
}

/** Identifies the connection and its snapshot. */
async function nameSnapshot(snapshot: Snapshot): Promise<string> {
  const [row] = await snapshot<{ name: string }[]>`
    SELECT pg_backend_pid() || '/' || pg_current_snapshot() || '/' || current_setting('transaction_read_only') AS name`;
  return row?.name ?? '';
}

async function readSizes(snapshot: Snapshot): Promise<Record<LedgerTable, number>> {
  const [row] = await snapshot<Record<LedgerTable, number>[]>`
    SELECT (SELECT count(*) FROM ledger.accounts) AS accounts, (SELECT count(*) FROM ledger.postings) AS postings,
           (SELECT count(*) FROM ledger.transactions) AS transactions`;
  if (row === undefined) throw new Error('the query for the table sizes returned no row');
  return row;
}

/** The next organisation with rows in the ledger, whether or not it is registered; null after the last. */
async function nextOrganisation(snapshot: Snapshot, after: Uuid | null): Promise<Uuid | null> {
  const first = (table: LedgerTable) => snapshot`
    (SELECT organisation_id FROM ${snapshot(`ledger.${table}`)}
     ${after === null ? snapshot`` : snapshot`WHERE organisation_id > ${after}`} ORDER BY organisation_id LIMIT 1)`;
  const [row] = await snapshot<{ organisationId: Uuid }[]>`
    SELECT organisation_id FROM (${first('postings')} UNION ALL ${first('accounts')} UNION ALL ${first('transactions')}) f
    ORDER BY organisation_id LIMIT 1`;
  return row?.organisationId ?? null;
}

/** The location of a violation, as the queries below return it. */
interface Place {
  organisationId: Uuid;
  environment: Environment;
  code?: string | null;
  resource?: string;
  transactionId?: Uuid;
  postingId?: string;
}

class Findings {
  readonly listed: Finding[] = [];
  truncated = false;

  add(kind: FindingKind, place: Place, expected: string, found: string): void {
    if (this.listed.length >= FINDINGS_MAX) {
      this.truncated = true;
      return;
    }
    this.listed.push({
      kind,
      organisation: publicId('organisation', place.organisationId),
      environment: place.environment,
      account: place.code ?? null,
      resource: place.resource ?? null,
      transaction: place.transactionId === undefined ? null : publicId('transaction', place.transactionId),
      posting: place.postingId ?? null,
      expected,
      found,
    });
  }
}

/**
 * The state of a scan over the entries of an account: the sides of postings that name it, in the order of the postings.
 */
interface AccountScan {
  id: string;
  environment: Environment;
  code: string;
  /** Stored balance; null for an account with a derived balance. */
  balance: string | null;
  /** Id of the last posting that was read. */
  last: string;
  /** The balance after that posting. */
  before: string;
  sum: bigint;
  mismatched: RunningBalanceMismatch[];
}

/** An entry whose balance is not the previous balance less or plus its amount. */
interface RunningBalanceMismatch {
  environment: Environment;
  transactionId: Uuid;
  postingId: string;
  expected: string | null;
  found: string | null;
}

/** The check of the books of one organisation. */
class OrganisationCheck {
  readonly #snapshot: Snapshot;
  readonly #organisationId: Uuid;
  readonly #findings: Findings;
  readonly #pageSize: number;
  readonly #bookSums = new Map<Environment, bigint>();
  #resourceSums: ResourceSums | undefined;

  constructor(snapshot: Snapshot, organisationId: Uuid, findings: Findings, pageSize: number) {
    this.#snapshot = snapshot;
    this.#organisationId = organisationId;
    this.#findings = findings;
    this.#pageSize = pageSize;
  }

  /** Runs all checks and returns the number of books. `advance` is called with the number of rows that were read. */
  async run(advance: (rows: number) => void, checkResources?: ResourceCheck): Promise<number> {
    this.#resourceSums = await checkResources?.({
      snapshot: this.#snapshot,
      organisationId: this.#organisationId,
      pageSize: this.#pageSize,
      add: (...finding) => this.#add(...finding),
      advance: () => advance(0),
    });
    await this.#eachPage('postings', this.#pageSize, advance, (page) => this.#checkPostings(page));
    // The size of a page is limited by the entries of the accounts, and most accounts have many: so fewer accounts per
    // page.
    const accounts = Math.ceil(Math.sqrt(this.#pageSize));
    await this.#eachPage('accounts', accounts, advance, (page) => this.#checkAccounts(page, advance));
    for (const { sum, ...place } of this.#resourceSums?.held.rest() ?? []) {
      this.#add('SUSPENSE_MISMATCH', place, String(sum), 'no account');
    }
    await this.#eachPage('transactions', this.#pageSize, advance, (page) => this.#checkTransactions(page));
    await this.#checkReversals();
    for (const [environment, sum] of this.#bookSums) {
      if (sum !== 0n) this.#add('BOOK_UNBALANCED', { environment }, '0', String(sum));
    }
    return this.#bookSums.size;
  }

  #add(kind: FindingKind, place: Omit<Place, 'organisationId'>, expected: string, found: string): void {
    this.#findings.add(kind, { organisationId: this.#organisationId, ...place }, expected, found);
  }

  /** Checks a table page by page, in the order of its primary key. The LIMIT also gives the planner a row estimate. */
  async #eachPage(
    table: LedgerTable,
    size: number,
    advance: (rows: number) => void,
    check: (page: Fragment) => Promise<void>,
  ): Promise<void> {
    const snapshot = this.#snapshot;
    const key: Fragment = table === 'postings' ? snapshot`transaction_id, id` : snapshot`id`;
    const type = table === 'transactions' ? snapshot`uuid` : snapshot`bigint`;
    let afterPrevious: Fragment = snapshot``;
    for (;;) {
      const page = (columns: Fragment): Fragment => snapshot`
        SELECT ${columns} FROM ${snapshot(`ledger.${table}`)}
        WHERE organisation_id = ${this.#organisationId} ${afterPrevious} ORDER BY ${key} LIMIT ${size}`;
      const [end] = await snapshot<{ rows: number; transactionId?: Uuid; id: string }[]>`
        SELECT rows, ${key}::text FROM (
          SELECT *, row_number() OVER (ORDER BY ${key}) AS rows FROM (${page(key)}) p
        ) numbered ORDER BY rows DESC LIMIT 1`;
      if (end === undefined) return;
      await check(page(snapshot`*`));
      advance(end.rows);
      afterPrevious =
        end.transactionId === undefined
          ? snapshot`AND id > ${end.id}::text::${type}`
          : snapshot`AND (transaction_id, id) > (${end.transactionId}, ${end.id}::text::${type})`;
    }
  }

  /**
   * The environment of the row with this id. LATERAL with LIMIT is planned as one index look-up per row; a plain join
   * may scan the other table for every page.
   */
  #bookOf(table: 'accounts' | 'transactions', id: Fragment): Fragment {
    const snapshot = this.#snapshot;
    return snapshot`
      LATERAL (SELECT environment FROM ${snapshot(`ledger.${table}`)}
               WHERE organisation_id = ${this.#organisationId} AND id = ${id} LIMIT 1)`;
  }

  /** Each posting is in the book of its transaction and of its two accounts. */
  async #checkPostings(page: Fragment): Promise<void> {
    const snapshot = this.#snapshot;
    const postings = await snapshot<
      (Place & Record<'debit' | 'credit', string> & Record<'ofDebit' | 'ofCredit' | 'ofTransaction', string | null>)[]
    >`
      SELECT p.environment, p.id::text AS posting_id, p.transaction_id, p.debit_account_id::text AS debit,
             p.credit_account_id::text AS credit, d.environment AS of_debit, c.environment AS of_credit,
             t.environment AS of_transaction
      FROM (${page}) p
      LEFT JOIN ${this.#bookOf('accounts', snapshot`p.debit_account_id`)} d ON true
      LEFT JOIN ${this.#bookOf('accounts', snapshot`p.credit_account_id`)} c ON true
      LEFT JOIN ${this.#bookOf('transactions', snapshot`p.transaction_id`)} t ON true
      WHERE (d.environment = p.environment AND c.environment = p.environment AND t.environment = p.environment) IS NOT TRUE
      ORDER BY p.transaction_id, p.id`;
    for (const { debit, credit, ofDebit, ofCredit, ofTransaction, ...place } of postings) {
      const book = `the ${place.environment} book`;
      const account = (side: string, id: string, environment: string | null): void => {
        if (environment === place.environment) return;
        const found = environment === null ? 'no such account' : `an account of the ${environment} book`;
        this.#add('ACCOUNT_OUTSIDE_BOOK', place, `${side} account ${id} in ${book}`, found);
      };
      account('debit', debit, ofDebit);
      account('credit', credit, ofCredit);
      if (ofTransaction !== place.environment) {
        const found = ofTransaction === null ? 'no such transaction' : `a transaction of the ${ofTransaction} book`;
        this.#add('TRANSACTION_OUTSIDE_BOOK', place, `a transaction of ${book}`, found);
      }
    }
  }

  /**
   * Each stored balance is the sum of the account's entries, and the balance after each entry is the previous one less
   * or plus its amount. Adds the balance of each account to the sum of its book.
   */
  async #checkAccounts(page: Fragment, advance: (rows: number) => void): Promise<void> {
    const accounts = await this.#snapshot<Pick<AccountScan, 'id' | 'environment' | 'code' | 'balance'>[]>`
      SELECT id::text, environment, code, balance::text FROM (${page}) a ORDER BY a.id`;
    const scans = accounts.map(
      (account): AccountScan => ({ ...account, last: '0', before: '0', sum: 0n, mismatched: [] }),
    );
    for (let unfinished = scans; unfinished.length > 0; ) unfinished = await this.#scanNext(unfinished, advance);

    for (const { environment, code, balance, sum, mismatched } of scans) {
      for (const { expected, found, ...place } of mismatched) {
        this.#add(
          'RUNNING_BALANCE_MISMATCH',
          { ...place, code },
          expected ?? 'no stored balance',
          found ?? 'no balance',
        );
      }
      this.#compareWithResources(environment, code, sum);
      const actual = balance === null ? sum : BigInt(balance);
      if (actual !== sum) this.#add('BALANCE_MISMATCH', { environment, code }, String(sum), String(actual));
      if (actual < 0n && !mayBeNegative(code)) {
        this.#add('NEGATIVE_BALANCE', { environment, code }, '>= 0', String(actual));
      }
      this.#bookSums.set(environment, (this.#bookSums.get(environment) ?? 0n) + actual);
    }
  }

  /** An account has moved by the transactions of resources only; a suspense account holds what waits for a decision. */
  #compareWithResources(environment: Environment, code: AccountCode, sum: bigint): void {
    if (this.#resourceSums === undefined) return;
    const moved = this.#resourceSums.moved.take(environment, code);
    if (sum !== moved) this.#add('UNEXPLAINED_BALANCE', { environment, code }, String(moved), String(sum));
    const held = this.#resourceSums.held.take(environment, code);
    if (isSuspense(code) && sum !== held)
      this.#add('SUSPENSE_MISMATCH', { environment, code }, String(held), String(sum));
  }

  /** Reads the next entries of the accounts, one page in total. Returns the scans that may have more entries. */
  async #scanNext(scans: AccountScan[], advance: (rows: number) => void): Promise<AccountScan[]> {
    const snapshot = this.#snapshot;
    const entriesMax = Math.ceil(this.#pageSize / scans.length);
    const entries = (side: 'debit' | 'credit', change: Fragment) => snapshot`
      (SELECT environment, transaction_id, id AS posting_id, ${change} AS change, ${snapshot(`${side}_balance_after`)} AS after
       FROM ledger.postings
       WHERE organisation_id = ${this.#organisationId} AND ${snapshot(`${side}_account_id`)} = a.id AND id > a.last
       ORDER BY id LIMIT ${entriesMax})`;
    const read = await snapshot<
      {
        id: string;
        entries: number;
        last: string;
        before: string | null;
        sum: string;
        mismatched: RunningBalanceMismatch[] | null;
      }[]
    >`
      WITH entries AS (
        SELECT a.id, e.*,
               CASE WHEN a.has_balance THEN e.change + coalesce(lag(e.after, 1, a.before) OVER account, 0) END AS expected
        FROM (
          SELECT unnest(${scans.map(({ id }) => id)}::text[]::bigint[]) AS id,
                 unnest(${scans.map(({ last }) => last)}::text[]::bigint[]) AS last,
                 unnest(${scans.map(({ before }) => before)}::text[]::bigint[]) AS before,
                 unnest(${scans.map(({ balance }) => String(balance !== null))}::text[]::boolean[]) AS has_balance
        ) a
        CROSS JOIN LATERAL (
          ${entries('debit', snapshot`-amount::numeric`)} UNION ALL ${entries('credit', snapshot`amount::numeric`)}
          ORDER BY posting_id LIMIT ${entriesMax}
        ) e
        WINDOW account AS (PARTITION BY a.id ORDER BY e.posting_id)
      )
      SELECT id::text, count(*) AS entries, max(posting_id)::text AS last, sum(change)::text AS sum,
             (array_agg(after ORDER BY posting_id))[count(*)]::text AS before,
             jsonb_agg(jsonb_build_object('environment', environment, 'transactionId', transaction_id, 'postingId', posting_id::text,
                                          'expected', expected::text, 'found', after::text) ORDER BY posting_id)
               FILTER (WHERE after IS DISTINCT FROM expected) AS mismatched
      FROM entries GROUP BY entries.id`;
    const byId = new Map(read.map((account) => [account.id, account]));
    advance(read.reduce((sum, account) => sum + account.entries, 0));
    return scans.filter((scan) => {
      const next = byId.get(scan.id);
      if (next === undefined) return false;
      scan.last = next.last;
      scan.before = next.before ?? '0';
      scan.sum += BigInt(next.sum);
      // One more than can be listed is enough to set `truncated`.
      scan.mismatched.push(...(next.mismatched ?? []).slice(0, FINDINGS_MAX + 1 - scan.mismatched.length));
      return next.entries === entriesMax;
    });
  }

  /** Each transaction has a posting, and resolves or reverses a transaction of the same book. */
  async #checkTransactions(page: Fragment): Promise<void> {
    const rows = await this.#snapshot<
      (Place & { transactionId: Uuid; empty: boolean; named: Uuid | null; namedEnvironment: string | null })[]
    >`
      SELECT t.environment, t.id AS transaction_id, p.id IS NULL AS empty, coalesce(t.resolves, t.reverses) AS named,
             r.environment AS named_environment
      FROM (${page}) t
      LEFT JOIN LATERAL (
        SELECT id FROM ledger.postings
        WHERE organisation_id = ${this.#organisationId} AND transaction_id = t.id LIMIT 1
      ) p ON true
      LEFT JOIN ${this.#bookOf('transactions', this.#snapshot`coalesce(t.resolves, t.reverses)`)} r ON true
      WHERE p.id IS NULL OR (coalesce(t.resolves, t.reverses) IS NOT NULL AND r.environment IS DISTINCT FROM t.environment)
      ORDER BY t.id LIMIT ${FINDINGS_MAX}`;
    for (const { empty, named, namedEnvironment, ...place } of rows) {
      if (empty) this.#add('TRANSACTION_EMPTY', place, '1', '0');
      if (named !== null && namedEnvironment !== place.environment) {
        const found = namedEnvironment === null ? 'no such transaction' : `one of the ${namedEnvironment} book`;
        this.#add('REVERSAL_OUTSIDE_BOOK', place, `${publicId('transaction', named)} in the same book`, found);
      }
    }
  }

  /**
   * A transaction is resolved or reversed at most once. A unique index enforces this too; the check finds what bypassed
   * it.
   */
  async #checkReversals(): Promise<void> {
    const rows = await this.#snapshot<{ environment: Environment; transactionId: Uuid; times: number }[]>`
      SELECT min(environment) AS environment, coalesce(resolves, reverses) AS transaction_id, count(*) AS times
      FROM ledger.transactions
      WHERE organisation_id = ${this.#organisationId} AND coalesce(resolves, reverses) IS NOT NULL
      GROUP BY coalesce(resolves, reverses) HAVING count(*) > 1 ORDER BY 2 LIMIT ${FINDINGS_MAX}`;
    for (const { times, ...place } of rows) this.#add('REVERSED_TWICE', place, '1', String(times));
  }
}
