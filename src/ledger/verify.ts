// The verification of all books, organisation by organisation. It may run for hours beside the postings, so it holds no
// snapshot for longer than a page, memory and statements do not grow with the ledger, and it can go on from any page.
// The checks of an organisation do not depend on each other, so several may run at once.
//
// Why it is exact nevertheless: each check reads what belongs together on one snapshot, or up to a point that is final.
// Transactions and postings are immutable, and are committed together. A resource is read with its transactions, and a
// transaction with its resource. An account with a stored balance is read with the number of its last entry: they were
// written under its lock, so the balance is the sum of the entries up to that number, whatever is posted while they are
// read. Balances of an organisation are added up as of one posting, the last one that is final
// (ledger.last_final_posting), because accounts with a derived balance are never locked.
import type { Sql } from '../database/pool.ts';
import { Snapshots } from '../database/snapshot.ts';
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
 * How far the verification is: plain JSON, so that a heartbeat or a file can keep it. A check with findings stays
 * before its first one, so that a verification that goes on finds them again.
 */
export interface Place extends Books {
  /** Of the organisations before this one. */
  counts: Counts;
  /** How far the checks of this organisation are, by name; without those that have not begun. */
  checks: Record<string, Standing>;
}

/** The books of an organisation, while they are verified. */
interface Books {
  organisationId: Uuid;
  /** The last posting that was final when the verification of the organisation began: sums are as of it. */
  lastPosting: string;
}

/** How far a check is. */
interface Standing {
  /** Where its next page begins. */
  after: unknown;
  isDone: boolean;
  counts: Counts;
  unexplained: Unexplained;
}

/** Postings up to the last final one, less those that resources explain: their number, and the sum of their ids. */
type Unexplained = Readonly<Record<'postings' | 'ids', string>>;

/** What was read: each posting also as the entry of each of its accounts, and as one of those of a seal. */
type Counts = Record<'books' | 'accounts' | 'postings' | 'transactions' | 'entries' | 'sealed', number>;

export interface VerificationOptions {
  onProgress?: (progress: Progress) => void;
  pageSize?: number;
  /** Goes on from here. */
  from?: Place | null;
  /** How many checks run at once, each with a connection of its own. Default: 1. */
  jobs?: number;
  /** Verifies the books of this organisation only. */
  only?: Uuid;
}

/** A check of the books of an organisation, in pages. */
export interface Check {
  name: string;
  /** Checks the page after `after` (null: the first) and returns where the next one begins; null after the last. */
  checkPage: (scope: Scope, after: unknown) => Promise<unknown>;
  /** It reads what the others have found, so it runs after them. */
  isLast?: true;
}

/** What a check reads, and where it reports. */
export interface Scope {
  sql: Sql;
  snapshots: Snapshots;
  books: Books;
  organisationId: Uuid;
  pageSize: number;
  add: (kind: FindingKind, location: Location, expected: string, found: string) => void;
  count: (rows: keyof Counts, number: number) => void;
  /** Adds postings to those that a resource must explain, or, with a sign of -1, takes them off. */
  addUnexplained: (sign: 1 | -1, added: Unexplained) => void;
  /** What all checks together have left unexplained. */
  unexplained: () => Unexplained;
}

/** Where a violation is. */
export interface Location {
  environment: Environment;
  code?: string | null;
  resource?: string;
  transactionId?: Uuid;
  postingId?: string;
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
  checks: readonly Check[],
  { onProgress, pageSize = PAGE_SIZE, from: given = null, jobs = 1, only }: VerificationOptions = {},
): Promise<Verification> {
  const from = placeOf(given, checks);
  const estimate = await estimateRows(sql);
  const findings: Finding[] = [];
  let truncated = false;
  let counts: Counts = from?.counts ?? NOTHING;
  let place = from;
  let books: Books | null = from ?? (await nextBooks(sql, null, only));
  const report = (read: Counts, isComplete = false): void => {
    const done = read.accounts + read.postings + read.transactions + read.entries + read.sealed;
    onProgress?.({ done, total: isComplete ? done : Math.max(estimate, done), place });
  };
  report(sumOf([counts, ...countsOf(from?.checks ?? {})]));
  for (let begun = from?.checks ?? {}; books !== null; begun = {}) {
    const before: Omit<Place, 'checks'> = { ...books, counts };
    const isOk = findings.length === 0;
    const organisation = new OrganisationChecks(sql, books, begun, { pageSize, findingsMax: FINDINGS_MAX });
    await organisation.run(checks, jobs, () => {
      if (isOk) place = { ...before, checks: structuredClone(organisation.saved) };
      report(sumOf([counts, ...countsOf(organisation.standings)]));
    });
    findings.push(...checks.flatMap(({ name }) => organisation.findings.get(name) ?? []));
    truncated ||= organisation.truncated;
    counts = sumOf([counts, ...countsOf(organisation.standings)]);
    books = only === undefined ? await nextBooks(sql, books.organisationId) : null;
  }
  report(counts, true);
  const { entries: _entries, sealed: _sealed, ...verified } = counts;
  return {
    ...verified,
    findings: findings.slice(0, FINDINGS_MAX),
    truncated: truncated || findings.length > FINDINGS_MAX,
  };
}

/** The place, unless another version of the checks wrote it: then it is of no use. */
function placeOf(given: Place | null, checks: readonly Check[]): Place | null {
  const names = new Set(checks.map(({ name }) => name));
  const begun: Place['checks'] | undefined = given?.checks;
  return begun !== undefined && Object.keys(begun).every((name) => names.has(name)) ? given : null;
}

const NOTHING: Counts = { books: 0, accounts: 0, postings: 0, transactions: 0, entries: 0, sealed: 0 };

const countsOf = (standings: Record<string, Standing>): Counts[] =>
  Object.values(standings).map(({ counts }) => counts);

function sumOf(all: readonly Counts[]): Counts {
  const sum = { ...NOTHING };
  for (const counts of all) for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  return sum;
}

/** The checks of the books of one organisation, while they run. */
class OrganisationChecks {
  readonly #sql: Sql;
  readonly #books: Books;
  readonly #limits: { pageSize: number; findingsMax: number };
  /** How far each check is, and how far it was before its first finding. */
  readonly standings: Record<string, Standing>;
  readonly saved: Record<string, Standing>;
  readonly findings = new Map<string, Finding[]>();
  truncated = false;

  constructor(
    sql: Sql,
    books: Books,
    begun: Record<string, Standing>,
    limits: { pageSize: number; findingsMax: number },
  ) {
    this.#sql = sql;
    this.#books = books;
    this.#limits = limits;
    this.standings = structuredClone(begun);
    this.saved = structuredClone(begun);
  }

  /**
   * Runs the checks, `jobs` at once, from where they are. Throws the first error when the pages that run have ended.
   */
  async run(checks: readonly Check[], jobs: number, onPage: () => void): Promise<void> {
    for (const isLast of [false, true]) {
      const waiting = checks.filter((check) => (check.isLast ?? false) === isLast);
      const errors: unknown[] = [];
      const work = async (): Promise<void> => {
        for (let check = waiting.shift(); check !== undefined && errors.length === 0; check = waiting.shift()) {
          try {
            await this.#runCheck(check, onPage, () => errors.length === 0);
          } catch (error) {
            errors.push(error);
          }
        }
      };
      await Promise.all(Array.from({ length: jobs }, work));
      if (errors.length > 0) throw errors[0];
    }
  }

  async #runCheck({ name, checkPage }: Check, onPage: () => void, goesOn: () => boolean): Promise<void> {
    const standing = this.standings[name] ?? {
      after: null,
      isDone: false,
      counts: { ...NOTHING },
      unexplained: { postings: '0', ids: '0' },
    };
    this.standings[name] = standing;
    const found = this.findings.get(name) ?? [];
    this.findings.set(name, found);
    const snapshots = new Snapshots(this.#sql);
    const scope = this.#scopeOf(standing, found, snapshots);
    try {
      while (!standing.isDone && goesOn()) {
        standing.after = await checkPage(scope, standing.after);
        standing.isDone = standing.after === null;
        if (found.length === 0) this.saved[name] = structuredClone(standing);
        onPage();
      }
    } finally {
      await snapshots.end();
    }
  }

  #scopeOf(standing: Standing, found: Finding[], snapshots: Snapshots): Scope {
    const { organisationId } = this.#books;
    return {
      sql: this.#sql,
      snapshots,
      books: this.#books,
      organisationId,
      pageSize: this.#limits.pageSize,
      count: (rows, number) => {
        standing.counts[rows] += number;
      },
      add: (...finding) => {
        if (found.length < this.#limits.findingsMax) found.push(describe(organisationId, ...finding));
        else this.truncated = true;
      },
      addUnexplained: (sign, added) => {
        standing.unexplained = addUnexplained(standing.unexplained, sign, added);
      },
      unexplained: () =>
        Object.values(this.standings)
          .map(({ unexplained }) => unexplained)
          .reduce((sum, one) => addUnexplained(sum, 1, one)),
    };
  }
}

function addUnexplained(to: Unexplained, sign: 1 | -1, added: Unexplained): Unexplained {
  const sum = (one: string, other: string): string => String(BigInt(one) + BigInt(sign) * BigInt(other));
  return { postings: sum(to.postings, added.postings), ids: sum(to.ids, added.ids) };
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
    SELECT sum(greatest(reltuples, 0) * CASE relname WHEN 'postings' THEN 4 ELSE 1 END)::bigint AS rows
    FROM pg_class WHERE oid IN ('ledger.accounts'::regclass, 'ledger.transactions'::regclass, 'ledger.postings'::regclass)`;
  return row?.rows ?? 0;
}

/**
 * The books of the next organisation with rows in the ledger, whether or not it is registered; null after the last.
 * `only`: this one, if it has any.
 */
async function nextBooks(sql: Sql, after: Uuid | null, only?: Uuid): Promise<Books | null> {
  const which = after === null ? sql`` : sql`WHERE organisation_id > ${after}`;
  const first = (table: 'postings' | 'accounts' | 'transactions' | 'seals') => sql`
    (SELECT organisation_id FROM ${sql(`ledger.${table}`)}
     ${only === undefined ? which : sql`WHERE organisation_id = ${only}`} ORDER BY organisation_id LIMIT 1)`;
  const [row] = await sql<{ organisationId: Uuid }[]>`
    SELECT organisation_id
    FROM (${first('postings')} UNION ALL ${first('accounts')} UNION ALL ${first('transactions')} UNION ALL ${first('seals')}) f
    ORDER BY organisation_id LIMIT 1`;
  if (row === undefined) return null;
  const [last] = await sql<{ posting: string }[]>`
    SELECT posting::text FROM ledger.last_final_posting(${row.organisationId}) AS posting`;
  return { ...row, lastPosting: last?.posting ?? '0' };
}
