// Proves that the books are whole: reads every posting, account and transaction and names whatever does not hold. It
// works organisation by organisation and in pages, so that neither memory nor a single query grows with the ledger, and
// on one snapshot, so that a service that is posting meanwhile does not look broken.
import type postgres from 'postgres';
import type { Sql } from '../database.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

export type FindingKind =
  | 'BOOK_NOT_ZERO'
  | 'BALANCE_WRONG'
  | 'CHAIN_BROKEN'
  | 'NEGATIVE_BALANCE'
  | 'ACCOUNT_STRAY'
  | 'TRANSACTION_STRAY'
  | 'TRANSACTION_EMPTY'
  | 'REVERSAL_STRAY'
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
    const total = sizes.postings + sizes.accounts + sizes.transactions;
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

/** The check of one organisation's books. */
class OrganisationCheck {
  readonly #snapshot: Snapshot;
  readonly #organisationId: Uuid;
  readonly #findings: Findings;
  readonly #pageSize: number;
  /** Sums of the few shared accounts, gathered from the postings. */
  readonly #sharedSums = new Map<string, bigint>();
  /** Accounts whose chain is broken: their sum has to be taken from the postings themselves. */
  readonly #brokenChains = new Set<string>();
  readonly #bookSums = new Map<Environment, bigint>();

  constructor(snapshot: Snapshot, organisationId: Uuid, findings: Findings, pageSize: number) {
    this.#snapshot = snapshot;
    this.#organisationId = organisationId;
    this.#findings = findings;
    this.#pageSize = pageSize;
  }

  /** Checks everything; answers how many books the organisation has. `advance` is told of the rows that were checked. */
  async run(advance: (rows: number) => void): Promise<number> {
    await this.#eachPage('postings', advance, (after) => this.#checkPostings(after));
    await this.#eachPage('accounts', advance, (after) => this.#checkAccounts(after));
    await this.#eachPage('transactions', advance, (after) => this.#checkTransactions(after));
    await this.#checkReversals();
    for (const [environment, sum] of this.#bookSums) {
      if (sum !== 0n) this.#add('BOOK_NOT_ZERO', { environment }, '0', String(sum));
    }
    return this.#bookSums.size;
  }

  #add(kind: FindingKind, place: Omit<Place, 'organisationId'>, expected: string, found: string): void {
    this.#findings.add(kind, { organisationId: this.#organisationId, ...place }, expected, found);
  }

  async #eachPage(
    table: LedgerTable,
    advance: (rows: number) => void,
    check: (after: string | null) => Promise<void>,
  ): Promise<void> {
    let after: string | null = null;
    for (;;) {
      const [end]: { id: string; rows: number }[] = await this.#snapshot`
        SELECT id::text, rows FROM (
          SELECT id, row_number() OVER (ORDER BY id) AS rows FROM (${this.#page(table, after, this.#snapshot`id`)}) p
        ) numbered ORDER BY rows DESC LIMIT 1`;
      if (end === undefined) return;
      await check(after);
      advance(end.rows);
      after = end.id;
    }
  }

  /** One page of a table, in the order of its ids. The limit also tells the planner how little it is about. */
  #page(table: LedgerTable, after: string | null, columns = this.#snapshot`*`) {
    const snapshot = this.#snapshot;
    const type = table === 'transactions' ? snapshot`uuid` : snapshot`bigint`;
    return snapshot`
      SELECT ${columns} FROM ${snapshot(`ledger.${table}`)} WHERE organisation_id = ${this.#organisationId}
      ${after === null ? snapshot`` : snapshot`AND id > ${after}::text::${type}`} ORDER BY id LIMIT ${this.#pageSize}`;
  }

  /**
   * The two sides of each posting of a page, with the account that each names. LATERAL with a limit is one look-up in
   * the index for each; a plain join may read the whole other table, page after page.
   */
  #entries(after: string | null) {
    return this.#snapshot`
      page AS MATERIALIZED (${this.#page('postings', after)}), entries AS MATERIALIZED (
        SELECT e.*, a.code, a.environment AS account_environment, a.balance IS NOT NULL AS kept
        FROM (
          SELECT id, environment, transaction_id, 'debit' AS side, debit_account_id AS account_id,
                 -amount::numeric AS change, debit_balance_after AS after FROM page
          UNION ALL
          SELECT id, environment, transaction_id, 'credit', credit_account_id, amount::numeric, credit_balance_after FROM page
        ) e
        LEFT JOIN LATERAL (
          SELECT code, environment, balance FROM ledger.accounts
          WHERE organisation_id = ${this.#organisationId} AND id = e.account_id LIMIT 1
        ) a ON true
      )`;
  }

  async #checkPostings(after: string | null): Promise<void> {
    await this.#checkBooks(after);
    await this.#checkChains(after);
    await this.#sumShared(after);
  }

  /** Each posting stands in the book of its transaction and of its two accounts. */
  async #checkBooks(after: string | null): Promise<void> {
    const snapshot = this.#snapshot;
    const accounts = await snapshot<(Place & { side: string; accountId: string; foundEnvironment: string | null })[]>`
      WITH ${this.#entries(after)}
      SELECT environment, id::text AS posting_id, transaction_id, side, account_id::text, code,
             account_environment AS found_environment
      FROM entries WHERE account_environment IS DISTINCT FROM environment
      ORDER BY entries.id LIMIT ${FINDINGS_MAX}`;
    for (const { side, accountId, foundEnvironment, ...place } of accounts) {
      const found = foundEnvironment === null ? 'no such account' : `an account of the ${foundEnvironment} book`;
      this.#add('ACCOUNT_STRAY', place, `${side} account ${accountId} in the ${place.environment} book`, found);
    }

    const transactions = await snapshot<(Place & { foundEnvironment: string | null })[]>`
      SELECT p.environment, p.id::text AS posting_id, p.transaction_id, t.environment AS found_environment
      FROM (${this.#page('postings', after)}) p
      LEFT JOIN LATERAL (
        SELECT environment FROM ledger.transactions
        WHERE organisation_id = ${this.#organisationId} AND id = p.transaction_id LIMIT 1
      ) t ON true
      WHERE t.environment IS DISTINCT FROM p.environment
      ORDER BY p.id LIMIT ${FINDINGS_MAX}`;
    for (const { foundEnvironment, ...place } of transactions) {
      const found = foundEnvironment === null ? 'no such transaction' : `a transaction of the ${foundEnvironment} book`;
      this.#add('TRANSACTION_STRAY', place, `a transaction of the ${place.environment} book`, found);
    }
  }

  /** Each posting leaves an account that keeps its balance with the balance before, less or plus the amount. */
  async #checkChains(after: string | null): Promise<void> {
    const broken = await this.#snapshot<
      (Place & { accountId: string; expected: string | null; found: string | null })[]
    >`
      WITH ${this.#entries(after)}, chained AS (
        SELECT *, lag(after) OVER chain AS before, row_number() OVER chain AS place
        FROM entries WHERE code IS NOT NULL WINDOW chain AS (PARTITION BY account_id ORDER BY id)
      ), expectations AS (
        SELECT c.*,
          CASE WHEN kept THEN change + coalesce(CASE WHEN place > 1 THEN before ELSE (
            -- The first one of a page goes on from the last one of an earlier page.
            ${this.#lastBalance(this.#snapshot`c.account_id`, this.#snapshot`c.id`)}
          ) END, 0) END AS expected
        FROM chained c
      )
      SELECT environment, id::text AS posting_id, transaction_id, code, account_id::text, expected::text, after::text AS found
      FROM expectations WHERE after IS DISTINCT FROM expected
      ORDER BY expectations.id LIMIT ${FINDINGS_MAX}`;
    for (const { accountId, expected, found, ...place } of broken) {
      this.#brokenChains.add(accountId);
      this.#add('CHAIN_BROKEN', place, expected ?? 'no balance kept', found ?? 'no balance');
    }
  }

  /**
   * The balance that an account had after its last posting before this one. Written as a range in the order of the
   * account's own index: told `account = …`, the planner may walk all postings backwards in the hope of an early hit.
   */
  #lastBalance(accountId: Fragment, before: Fragment) {
    const snapshot = this.#snapshot;
    const last = (side: 'debit' | 'credit') => {
      const account = snapshot(`${side}_account_id`);
      return snapshot`
        (SELECT id, ${snapshot(`${side}_balance_after`)} AS after FROM ledger.postings
         WHERE organisation_id = ${this.#organisationId} AND ${account} >= ${accountId}
           AND (${account}, id) < (${accountId}, ${before})
         ORDER BY ${account} DESC, id DESC LIMIT 1)`;
    };
    return snapshot`
      SELECT p.after FROM (${last('debit')} UNION ALL ${last('credit')}) p ORDER BY p.id DESC LIMIT 1`;
  }

  /** Adds a page's postings to the sums of the shared accounts, which keep no balance. */
  async #sumShared(after: string | null): Promise<void> {
    const sums = await this.#snapshot<{ accountId: string; sum: string }[]>`
      WITH ${this.#entries(after)}
      SELECT account_id::text, sum(change)::text AS sum FROM entries WHERE code IS NOT NULL AND NOT kept
      GROUP BY entries.account_id`;
    for (const { accountId, sum } of sums) {
      this.#sharedSums.set(accountId, (this.#sharedSums.get(accountId) ?? 0n) + BigInt(sum));
    }
  }

  /**
   * Each kept balance is the sum of its postings. Where the chain holds from the first posting to the last, the balance
   * after the last one is that sum; where it is broken, the sum is taken anew. Adds every account to its book.
   */
  async #checkAccounts(after: string | null): Promise<void> {
    const snapshot = this.#snapshot;
    const accounts = await snapshot<
      { id: string; environment: Environment; code: string; balance: string | null; last: string | null }[]
    >`
      SELECT a.id::text, a.environment, a.code, a.balance::text, CASE WHEN a.balance IS NOT NULL THEN (
        ${this.#lastBalance(snapshot`a.id`, snapshot`9223372036854775807`)}
      ) END::text AS last
      FROM (${this.#page('accounts', after)}) a ORDER BY a.id`;
    for (const account of accounts) {
      const { id, environment, code } = account;
      const kept = account.balance === null ? null : BigInt(account.balance);
      const sum =
        kept === null
          ? (this.#sharedSums.get(id) ?? 0n)
          : this.#brokenChains.has(id)
            ? await this.#sumOf(id)
            : BigInt(account.last ?? 0);
      const balance = kept ?? sum;
      if (balance !== sum) this.#add('BALANCE_WRONG', account, String(sum), String(balance));
      if (balance < 0n && NEVER_NEGATIVE.has(code.split(':', 1)[0] ?? '')) {
        this.#add('NEGATIVE_BALANCE', account, '>= 0', String(balance));
      }
      this.#bookSums.set(environment, (this.#bookSums.get(environment) ?? 0n) + balance);
    }
  }

  async #sumOf(accountId: string): Promise<bigint> {
    const total = (side: 'debit' | 'credit') => this.#snapshot`
      (SELECT coalesce(sum(amount), 0) FROM ledger.postings
       WHERE organisation_id = ${this.#organisationId} AND ${this.#snapshot(`${side}_account_id`)} = ${accountId}::text::bigint)`;
    const [row] = await this.#snapshot<{ sum: string }[]>`SELECT (${total('credit')} - ${total('debit')})::text AS sum`;
    return BigInt(row?.sum ?? 0);
  }

  /** Each transaction moved something, and what it reverses is a transaction of its own book. */
  async #checkTransactions(after: string | null): Promise<void> {
    const rows = await this.#snapshot<
      (Place & { transactionId: Uuid; empty: boolean; reverses: Uuid | null; reversedEnvironment: string | null })[]
    >`
      SELECT t.environment, t.id AS transaction_id, p.id IS NULL AS empty, t.reverses, r.environment AS reversed_environment
      FROM (${this.#page('transactions', after)}) t
      LEFT JOIN LATERAL (
        SELECT id FROM ledger.postings
        WHERE organisation_id = ${this.#organisationId} AND transaction_id = t.id LIMIT 1
      ) p ON true
      LEFT JOIN LATERAL (
        SELECT environment FROM ledger.transactions
        WHERE organisation_id = ${this.#organisationId} AND id = t.reverses LIMIT 1
      ) r ON true
      WHERE p.id IS NULL OR (t.reverses IS NOT NULL AND r.environment IS DISTINCT FROM t.environment)
      ORDER BY t.id LIMIT ${FINDINGS_MAX}`;
    for (const { empty, reverses, reversedEnvironment, ...place } of rows) {
      if (empty) this.#add('TRANSACTION_EMPTY', place, '1', '0');
      if (reverses !== null && reversedEnvironment !== place.environment) {
        const found = reversedEnvironment === null ? 'no such transaction' : `one of the ${reversedEnvironment} book`;
        this.#add('REVERSAL_STRAY', place, `${publicId('transaction', reverses)} in the same book`, found);
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
