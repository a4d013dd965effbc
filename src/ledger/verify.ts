// Proves that the books are whole: reads every posting, account and transaction and names whatever does not hold. It
// works organisation by organisation and in pages, so that neither memory nor a single query grows with the ledger, and
// on one snapshot, so that a service that is posting meanwhile does not look broken.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

export type FindingKind =
  | 'BOOK_UNBALANCED'
  | 'BALANCE_MISMATCH'
  | 'RUNNING_BALANCE_MISMATCH'
  | 'NEGATIVE_BALANCE'
  | 'ACCOUNT_OUTSIDE_BOOK'
  | 'TRANSACTION_OUTSIDE_BOOK'
  | 'TRANSACTION_EMPTY'
  | 'REVERSAL_OUTSIDE_BOOK'
  | 'REVERSED_TWICE';

/** One thing that does not hold. Amounts are kobo as text: broken books may hold more than a safe integer. */
export interface Finding {
  kind: FindingKind;
  /** Public id of the organisation; with the environment it names the book. */
  organisation: string;
  environment: Environment;
  account: string | null;
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

/** Large enough that round trips do not matter, small enough that a page is checked in memory and within a second. */
const PAGE_SIZE = 10_000;

/** Broken books are repaired from the first findings; a list of millions helps nobody. */
const FINDINGS_MAX = 1_000;

/** Accounts whose owner never owes: the first segment of a code. Clearing and expense accounts may stand below zero. */
const NEVER_NEGATIVE = new Set(['wallet', 'reserve', 'suspense', 'unclaimed', 'in_transit', 'income']);

type Snapshot = postgres.TransactionSql<{ bigint: number }>;
type Fragment = ReturnType<Snapshot>;
type LedgerTable = 'postings' | 'accounts' | 'transactions';

/**
 * Verifies all books on one read-only snapshot. Needs no more than the right to read the ledger. Throws what the
 * driver throws when the database is away: then nothing is proved either way.
 */
export async function verifyLedger(
  sql: Sql,
  options: { onProgress?: (progress: Progress) => void; pageSize?: number } = {},
): Promise<Verification> {
  return await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (snapshot) => {
    const begun = await nameSnapshot(snapshot);
    const sizes = await readSizes(snapshot);
    const findings = new Findings();
    // A posting is read once for itself and once for each of its two accounts.
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
      books += await check.run(advance);
      organisationId = await nextOrganisation(snapshot, organisationId);
    }

    // The driver can go on outside the transaction after a lost connection (docs/decisions/0001): then it was no snapshot.
    if ((await nameSnapshot(snapshot)) !== begun) {
      throw new Error('The connection to the database was lost in the middle of the verification. Run it again.');
    }
    return { books, ...sizes, findings: findings.listed, truncated: findings.truncated };
  });
}

/** Names the connection and its snapshot. */
async function nameSnapshot(snapshot: Snapshot): Promise<string> {
  const [row] = await snapshot<{ name: string }[]>`
    SELECT pg_backend_pid() || '/' || pg_current_snapshot() || '/' || current_setting('transaction_read_only') AS name`;
  return row?.name ?? '';
}

async function readSizes(snapshot: Snapshot): Promise<Record<LedgerTable, number>> {
  const [row] = await snapshot<Record<LedgerTable, number>[]>`
    SELECT (SELECT count(*) FROM ledger.accounts) AS accounts, (SELECT count(*) FROM ledger.postings) AS postings,
           (SELECT count(*) FROM ledger.transactions) AS transactions`;
  if (row === undefined) throw new Error('a count came back empty');
  return row;
}

/** The next organisation that has anything in the ledger, whether or not it is registered; null behind the last. */
async function nextOrganisation(snapshot: Snapshot, after: Uuid | null): Promise<Uuid | null> {
  const first = (table: LedgerTable) => snapshot`
    (SELECT organisation_id FROM ${snapshot(`ledger.${table}`)}
     ${after === null ? snapshot`` : snapshot`WHERE organisation_id > ${after}`} ORDER BY organisation_id LIMIT 1)`;
  const [row] = await snapshot<{ organisationId: Uuid }[]>`
    SELECT organisation_id FROM (${first('postings')} UNION ALL ${first('accounts')} UNION ALL ${first('transactions')}) f
    ORDER BY organisation_id LIMIT 1`;
  return row?.organisationId ?? null;
}

/** Where something does not hold, as the queries below answer it. */
interface Place {
  organisationId: Uuid;
  environment: Environment;
  code?: string | null;
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
      transaction: place.transactionId === undefined ? null : publicId('transaction', place.transactionId),
      posting: place.postingId ?? null,
      expected,
      found,
    });
  }
}

/** An account on the way along its entries: the sides of postings that name it, in the order of the postings. */
interface AccountScan {
  id: string;
  environment: Environment;
  code: string;
  /** NULL for a shared account, which keeps none. */
  balance: string | null;
  /** Number of the last posting that was read. */
  last: string;
  /** The balance that it left. */
  before: string;
  sum: bigint;
  mismatched: BrokenLink[];
}

/** An entry whose balance is not the one before it, less or plus the amount. */
interface BrokenLink {
  environment: Environment;
  transactionId: Uuid;
  postingId: string;
  expected: string | null;
  found: string | null;
}

/** The check of one organisation's books. */
class OrganisationCheck {
  readonly #snapshot: Snapshot;
  readonly #organisationId: Uuid;
  readonly #findings: Findings;
  readonly #pageSize: number;
  readonly #bookSums = new Map<Environment, bigint>();

  constructor(snapshot: Snapshot, organisationId: Uuid, findings: Findings, pageSize: number) {
    this.#snapshot = snapshot;
    this.#organisationId = organisationId;
    this.#findings = findings;
    this.#pageSize = pageSize;
  }

  /** Checks everything; answers how many books the organisation has. `advance` is told of the rows that were read. */
  async run(advance: (rows: number) => void): Promise<number> {
    await this.#eachPage('postings', this.#pageSize, advance, (page) => this.#checkPostings(page));
    // What fills a page here is the accounts' entries, and most accounts have many: so few accounts at a time.
    const accounts = Math.ceil(Math.sqrt(this.#pageSize));
    await this.#eachPage('accounts', accounts, advance, (page) => this.#checkAccounts(page, advance));
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

  /** Checks a table page by page, in the order of its primary key. The limit also tells the planner how little it is about. */
  async #eachPage(
    table: LedgerTable,
    size: number,
    advance: (rows: number) => void,
    check: (page: Fragment) => Promise<void>,
  ): Promise<void> {
    const snapshot = this.#snapshot;
    const key: Fragment = table === 'postings' ? snapshot`transaction_id, id` : snapshot`id`;
    const type = table === 'transactions' ? snapshot`uuid` : snapshot`bigint`;
    let behind: Fragment = snapshot``;
    for (;;) {
      const page = (columns: Fragment): Fragment => snapshot`
        SELECT ${columns} FROM ${snapshot(`ledger.${table}`)}
        WHERE organisation_id = ${this.#organisationId} ${behind} ORDER BY ${key} LIMIT ${size}`;
      const [end] = await snapshot<{ rows: number; transactionId?: Uuid; id: string }[]>`
        SELECT rows, ${key}::text FROM (
          SELECT *, row_number() OVER (ORDER BY ${key}) AS rows FROM (${page(key)}) p
        ) numbered ORDER BY rows DESC LIMIT 1`;
      if (end === undefined) return;
      await check(page(snapshot`*`));
      advance(end.rows);
      behind =
        end.transactionId === undefined
          ? snapshot`AND id > ${end.id}::text::${type}`
          : snapshot`AND (transaction_id, id) > (${end.transactionId}, ${end.id}::text::${type})`;
    }
  }

  /**
   * The environment of the row that `id` names. LATERAL with a limit is one look-up in the index for each; a plain join
   * may read the whole other table, page after page.
   */
  #bookOf(table: 'accounts' | 'transactions', id: Fragment): Fragment {
    const snapshot = this.#snapshot;
    return snapshot`
      LATERAL (SELECT environment FROM ${snapshot(`ledger.${table}`)}
               WHERE organisation_id = ${this.#organisationId} AND id = ${id} LIMIT 1)`;
  }

  /** Each posting stands in the book of its transaction and of its two accounts. */
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
   * Each balance is the sum of the account's entries, and each entry left the balance before it, less or plus its
   * amount. Adds every account to its book.
   */
  async #checkAccounts(page: Fragment, advance: (rows: number) => void): Promise<void> {
    const accounts = await this.#snapshot<Pick<AccountScan, 'id' | 'environment' | 'code' | 'balance'>[]>`
      SELECT id::text, environment, code, balance::text FROM (${page}) a ORDER BY a.id`;
    const walks = accounts.map(
      (account): AccountScan => ({ ...account, last: '0', before: '0', sum: 0n, mismatched: [] }),
    );
    for (let walking = walks; walking.length > 0; ) walking = await this.#scanNext(walking, advance);

    for (const { environment, code, balance, sum, mismatched } of walks) {
      for (const { expected, found, ...place } of mismatched) {
        this.#add('RUNNING_BALANCE_MISMATCH', { ...place, code }, expected ?? 'no balance kept', found ?? 'no balance');
      }
      const kept = balance === null ? sum : BigInt(balance);
      if (kept !== sum) this.#add('BALANCE_MISMATCH', { environment, code }, String(sum), String(kept));
      if (kept < 0n && NEVER_NEGATIVE.has(code.split(':', 1)[0] ?? '')) {
        this.#add('NEGATIVE_BALANCE', { environment, code }, '>= 0', String(kept));
      }
      this.#bookSums.set(environment, (this.#bookSums.get(environment) ?? 0n) + kept);
    }
  }

  /** Walks accounts along their next entries, a page of them altogether. Answers those that may have more to come. */
  async #scanNext(walking: AccountScan[], advance: (rows: number) => void): Promise<AccountScan[]> {
    const snapshot = this.#snapshot;
    const each = Math.ceil(this.#pageSize / walking.length);
    const entries = (side: 'debit' | 'credit', change: Fragment) => snapshot`
      (SELECT environment, transaction_id, id AS posting_id, ${change} AS change, ${snapshot(`${side}_balance_after`)} AS after
       FROM ledger.postings
       WHERE organisation_id = ${this.#organisationId} AND ${snapshot(`${side}_account_id`)} = a.id AND id > a.last
       ORDER BY id LIMIT ${each})`;
    const read = await snapshot<
      { id: string; entries: number; last: string; before: string | null; sum: string; broken: BrokenLink[] | null }[]
    >`
      WITH links AS (
        SELECT a.id, e.*,
               CASE WHEN a.kept THEN e.change + coalesce(lag(e.after, 1, a.before) OVER chain, 0) END AS expected
        FROM (
          SELECT unnest(${walking.map(({ id }) => id)}::text[]::bigint[]) AS id,
                 unnest(${walking.map(({ last }) => last)}::text[]::bigint[]) AS last,
                 unnest(${walking.map(({ before }) => before)}::text[]::bigint[]) AS before,
                 unnest(${walking.map(({ balance }) => String(balance !== null))}::text[]::boolean[]) AS kept
        ) a
        CROSS JOIN LATERAL (
          ${entries('debit', snapshot`-amount::numeric`)} UNION ALL ${entries('credit', snapshot`amount::numeric`)}
          ORDER BY posting_id LIMIT ${each}
        ) e
        WINDOW chain AS (PARTITION BY a.id ORDER BY e.posting_id)
      )
      SELECT id::text, count(*) AS entries, max(posting_id)::text AS last, sum(change)::text AS sum,
             (array_agg(after ORDER BY posting_id))[count(*)]::text AS before,
             jsonb_agg(jsonb_build_object('environment', environment, 'transactionId', transaction_id, 'postingId', posting_id::text,
                                          'expected', expected::text, 'found', after::text) ORDER BY posting_id)
               FILTER (WHERE after IS DISTINCT FROM expected) AS broken
      FROM links GROUP BY links.id`;
    const byId = new Map(read.map((account) => [account.id, account]));
    advance(read.reduce((sum, account) => sum + account.entries, 0));
    return walking.filter((walk) => {
      const on = byId.get(walk.id);
      if (on === undefined) return false;
      walk.last = on.last;
      walk.before = on.before ?? '0';
      walk.sum += BigInt(on.sum);
      // One more than can be listed is enough to say that there are more.
      walk.mismatched.push(...(on.broken ?? []).slice(0, FINDINGS_MAX + 1 - walk.mismatched.length));
      return on.entries === each;
    });
  }

  /** Each transaction moved something, and what it reverses is a transaction of its own book. */
  async #checkTransactions(page: Fragment): Promise<void> {
    const rows = await this.#snapshot<
      (Place & { transactionId: Uuid; empty: boolean; reverses: Uuid | null; reversedEnvironment: string | null })[]
    >`
      SELECT t.environment, t.id AS transaction_id, p.id IS NULL AS empty, t.reverses, r.environment AS reversed_environment
      FROM (${page}) t
      LEFT JOIN LATERAL (
        SELECT id FROM ledger.postings
        WHERE organisation_id = ${this.#organisationId} AND transaction_id = t.id LIMIT 1
      ) p ON true
      LEFT JOIN ${this.#bookOf('transactions', this.#snapshot`t.reverses`)} r ON true
      WHERE p.id IS NULL OR (t.reverses IS NOT NULL AND r.environment IS DISTINCT FROM t.environment)
      ORDER BY t.id LIMIT ${FINDINGS_MAX}`;
    for (const { empty, reverses, reversedEnvironment, ...place } of rows) {
      if (empty) this.#add('TRANSACTION_EMPTY', place, '1', '0');
      if (reverses !== null && reversedEnvironment !== place.environment) {
        const found = reversedEnvironment === null ? 'no such transaction' : `one of the ${reversedEnvironment} book`;
        this.#add('REVERSAL_OUTSIDE_BOOK', place, `${publicId('transaction', reverses)} in the same book`, found);
      }
    }
  }

  /** A transaction is reversed once at most. A unique index says so too; this finds what came past it. */
  async #checkReversals(): Promise<void> {
    const rows = await this.#snapshot<{ environment: Environment; transactionId: Uuid; times: number }[]>`
      SELECT min(environment) AS environment, reverses AS transaction_id, count(*) AS times
      FROM ledger.transactions WHERE organisation_id = ${this.#organisationId} AND reverses IS NOT NULL
      GROUP BY reverses HAVING count(*) > 1 ORDER BY reverses LIMIT ${FINDINGS_MAX}`;
    for (const { times, ...place } of rows) this.#add('REVERSED_TWICE', place, '1', String(times));
  }
}
