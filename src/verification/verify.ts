// Runs checks on the books of every organisation, one organisation after the other. A verification may run for hours
// beside the postings, so it holds no snapshot for longer than a page, its memory and statements do not grow with the
// ledger, and it can continue from any page. The checks of an organisation do not depend on each other, so several may
// run at once.
//
// Why it is exact nevertheless: each check reads what belongs together on one snapshot, or up to a point that is final.
// Transactions and postings are immutable, and are committed together. A resource is read with its transactions, and a
// transaction with its resource. An account with a stored balance is read with the number of its last entry: they were
// written under its lock, so the balance is the sum of the entries up to that number, whatever is posted while they are
// read. Balances of an organisation are added up as of one posting, the last one that is final
// (ledger.last_final_posting), because accounts with a derived balance are never locked.
import { mapAtMost } from '../concurrency/mapAtMost.ts';
import type { Sql } from '../database/pool.ts';
import { Snapshots } from '../database/snapshot.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

/** The kinds of violations, and what each means. */
export const MEANINGS = {
  BOOK_UNBALANCED: 'the balances of the book do not sum to zero',
  BALANCE_MISMATCH: 'the balance is not the sum of its postings',
  RUNNING_BALANCE_MISMATCH: 'a running balance does not follow from the previous one and the posting',
  ENTRY_MISSING: 'the numbers of the entries of an account have a gap, or do not end with its last number',
  NEGATIVE_BALANCE: 'the balance is negative',
  ACCOUNT_OUTSIDE_BOOK: 'a posting references an account that is not in its book',
  TRANSACTION_OUTSIDE_BOOK: 'a posting references a transaction that is not in its book',
  TRANSACTION_EMPTY: 'a transaction has no posting',
  REVERSAL_OUTSIDE_BOOK: 'a reversal references a transaction that is not in its book',
  REVERSED_TWICE: 'a transaction was reversed more than once',
  RESOURCE_MISMATCH: 'the transactions of a resource do not match its status',
  UNEXPLAINED_TRANSACTION: 'a transaction is not one of the resource that it names',
  DECISION_MISSING: 'something was decided without proof of who decided',
  PAYMENT_MISMATCH: 'an amount of a payment is not the sum of its credits, review cases or refunds',
  REFUND_EXCEEDS_CREDIT: 'a refund began when its payment had received less that stayed',
  SEAL_MISMATCH: 'sealed history was changed',
  SEAL_MISSING: 'a seal is missing',
  BANK_BALANCE_MISMATCH: 'a clearing account is not the balance that the bank last reported',
  SHORTFALL: 'the banks hold less than what customers and the state are owed',
  DEBT_MISMATCH: 'what a wallet owes is not the balance of its receivable',
  HELD_MISMATCH: 'what is held for a wallet is not the sum of its open holds',
  SUSPENSE_MISMATCH: 'a suspense account does not hold what its open review cases and partly paid payments say',
} as const;
export type FindingKind = keyof typeof MEANINGS;

/** Ids are public, but a posting's. Amounts are kobo as text: a corrupt ledger may exceed a safe integer. */
export interface Finding {
  kind: FindingKind;
  organisation: string;
  environment: Environment;
  account: string | null;
  resource: string | null;
  transaction: string | null;
  posting: string | null;
  expected: string;
  found: string;
}

export interface Verification extends Pick<Counts, 'books' | 'accounts' | 'postings' | 'transactions'> {
  findings: Finding[];
  truncated: boolean;
}

export interface Progress {
  /** Rows that were read. */
  done: number;
  /** An estimate, until it is complete. */
  total: number;
  /** From where the verification can continue; null while there is nothing to skip. */
  checkpoint: Checkpoint | null;
}

interface Organisation {
  organisationId: Uuid;
  /** The last posting that was final when the verification of the organisation began: sums are as of it. */
  lastPosting: string;
}

/**
 * How far the verification is: plain JSON, so that a heartbeat or a file can keep it. A check with findings stays
 * before its first one, so that a verification that continues finds them again.
 */
export interface Checkpoint extends Organisation {
  /** Of the organisations before this one. */
  counts: Counts;
  /** How far the checks of this organisation are, by name; without those that have not begun. */
  checks: Record<string, CheckProgress>;
}

interface CheckProgress {
  /** The cursor of the check: where its next page begins. */
  after: unknown;
  isDone: boolean;
  counts: Counts;
}

/**
 * What was read: each posting also as the entry of each of its accounts, and as one of those of a seal. `unexplained`:
 * postings up to the last final one, less those that resources explain; `unexplainedIds`: the sum of their ids, as
 * text, because it may exceed a safe integer.
 */
const NOTHING = {
  books: 0,
  accounts: 0,
  postings: 0,
  transactions: 0,
  entries: 0,
  sealed: 0,
  unexplained: 0,
  unexplainedIds: '0',
};
type Counts = typeof NOTHING;

export interface VerificationOptions {
  onProgress?: (progress: Progress) => void;
  pageSize?: number;
  /** Continues from here. */
  from?: Checkpoint | null;
  /** How many checks run at once, each with a connection of its own. Default: 1. */
  jobs?: number;
  /** Verifies the books of this organisation only. */
  only?: Uuid;
}

/** A check of the books of an organisation, in pages. */
export interface Check {
  name: string;
  /** Checks the page after a cursor (null: the first) and returns the cursor of the next one; null after the last. */
  checkPage: (context: CheckContext, after: unknown) => Promise<unknown>;
  /** It reads what the others have counted, so it runs after them. */
  isLast?: true;
}

/** What a check reads, and where it reports. */
export interface CheckContext extends Organisation {
  sql: Sql;
  snapshots: Snapshots;
  pageSize: number;
  add: (kind: FindingKind, location: Location, expected: string, found: string) => void;
  count: (counted: Partial<Counts>) => void;
  /** What all checks of the organisation together have counted. */
  counted: () => Counts;
}

export interface Location {
  environment: Environment;
  code?: string | null;
  resource?: string;
  transactionId?: Uuid;
  postingId?: string;
}

export const pagedCheck = <Cursor>(
  name: string,
  checkPage: (context: CheckContext, after: Cursor | null) => Promise<Cursor | null>,
): Check => ({ name, checkPage: (context, after) => checkPage(context, after as Cursor | null) });

/** Large enough that round trips do not matter, small enough to check a page in memory and within a second. */
const PAGE_SIZE = 10_000;

/** A corrupt ledger is repaired from the first findings; a list of millions would not help. */
const FINDINGS_MAX = 1_000;

/**
 * Runs the checks on the books of every organisation. It needs only the right to read. When the database is unavailable
 * it throws the error of the driver, and can continue from the last checkpoint.
 */
export async function verify(
  sql: Sql,
  checks: readonly Check[],
  { onProgress, pageSize = PAGE_SIZE, from: given = null, jobs = 1, only }: VerificationOptions = {},
): Promise<Verification> {
  const from = isOf(checks, given) ? given : null;
  const estimate = await estimateRows(sql);
  const findings: Finding[] = [];
  let counts = from?.counts ?? NOTHING;
  let checkpoint = from;
  const report = (running: readonly CheckProgress[], isComplete = false): void => {
    const read = running.reduce((sum, check) => add(sum, check.counts), counts);
    const done = read.accounts + read.postings + read.transactions + read.entries + read.sealed;
    onProgress?.({ done, total: isComplete ? done : Math.max(estimate, done), checkpoint });
  };
  report(Object.values(from?.checks ?? {}));
  let organisation: Organisation | null = from ?? (await nextOrganisation(sql, null, only));
  for (let begun = from?.checks ?? {}; organisation !== null; begun = {}) {
    const { organisationId, lastPosting }: Organisation = organisation;
    const before = { organisationId, lastPosting, counts };
    const isOk = findings.length === 0;
    const running = checks.map((check) => new RunningCheck(check, begun[check.name]));
    const counted = (): Counts => running.reduce((sum, { progress }) => add(sum, progress.counts), NOTHING);
    const context = { sql, organisationId, lastPosting, pageSize, counted };
    const onPage = (): void => {
      if (isOk) checkpoint = { ...before, checks: checkpointsOf(running) };
      report(running.map(({ progress }) => progress));
    };
    const stop = new AbortController();
    for (const isLast of [false, true]) {
      const next = running.filter(({ check }) => (check.isLast ?? false) === isLast);
      await mapAtMost(jobs, next, (check) => check.run(context, onPage, stop));
    }
    findings.push(...running.flatMap((check) => check.findings));
    counts = add(counts, counted());
    organisation = only === undefined ? await nextOrganisation(sql, organisationId) : null;
  }
  report([], true);
  const { books, accounts, postings, transactions } = counts;
  const truncated = findings.length > FINDINGS_MAX;
  return { books, accounts, postings, transactions, findings: findings.slice(0, FINDINGS_MAX), truncated };
}

/** Whether these checks can continue from the checkpoint: another version, with other checks, may have written it. */
function isOf(checks: readonly Check[], checkpoint: Checkpoint | null): boolean {
  const names = new Set(checks.map(({ name }) => name));
  const begun: Checkpoint['checks'] | undefined = checkpoint?.checks;
  return begun !== undefined && Object.keys(begun).every((name) => names.has(name));
}

function add(counts: Counts, more: Partial<Counts>): Counts {
  const sum = { ...counts };
  for (const name of Object.keys(more) as (keyof Counts)[]) {
    if (name === 'unexplainedIds') sum[name] = String(BigInt(sum[name]) + BigInt(more[name] ?? 0));
    else sum[name] += more[name] ?? 0;
  }
  return sum;
}

class RunningCheck {
  readonly check: Check;
  readonly progress: CheckProgress;
  /** How far it was before its first finding; null before its first page. */
  checkpoint: CheckProgress | null;
  /** One more than are listed, at most. */
  readonly findings: Finding[] = [];

  constructor(check: Check, begun: CheckProgress | undefined) {
    this.check = check;
    this.progress = { after: null, isDone: false, counts: NOTHING, ...begun };
    this.checkpoint = begun ?? null;
  }

  /** Ends after a page when another check has failed. */
  async run(
    of: Omit<CheckContext, 'snapshots' | 'add' | 'count'>,
    onPage: () => void,
    stop: AbortController,
  ): Promise<void> {
    const { progress, findings } = this;
    const snapshots = new Snapshots(of.sql);
    const context: CheckContext = {
      ...of,
      snapshots,
      count: (counted) => {
        progress.counts = add(progress.counts, counted);
      },
      add: (...finding) => {
        if (findings.length <= FINDINGS_MAX) findings.push(findingOf(of.organisationId, ...finding));
      },
    };
    try {
      while (!progress.isDone && !stop.signal.aborted) {
        progress.after = await this.check.checkPage(context, progress.after);
        progress.isDone = progress.after === null;
        if (findings.length === 0) this.checkpoint = structuredClone(progress);
        onPage();
      }
    } catch (error) {
      stop.abort();
      throw error;
    } finally {
      await snapshots.end();
    }
  }
}

const checkpointsOf = (running: readonly RunningCheck[]): Checkpoint['checks'] =>
  Object.fromEntries(
    running.flatMap(({ check, checkpoint }) => (checkpoint === null ? [] : [[check.name, checkpoint]])),
  );

export function findingOf(
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
    FROM pg_class
    WHERE oid IN ('ledger.accounts'::regclass, 'ledger.transactions'::regclass, 'ledger.postings'::regclass)`;
  return row?.rows ?? 0;
}

/** The next organisation with rows in the ledger; null after the last. `only`: this one, if it has any. */
async function nextOrganisation(sql: Sql, after: Uuid | null, only?: Uuid): Promise<Organisation | null> {
  const which = after === null ? sql`` : sql`WHERE organisation_id > ${after}`;
  const first = (table: 'postings' | 'accounts' | 'transactions' | 'seals') => sql`
    (SELECT organisation_id FROM ${sql(`ledger.${table}`)}
     ${only === undefined ? which : sql`WHERE organisation_id = ${only}`} ORDER BY organisation_id LIMIT 1)`;
  const [row] = await sql<{ organisationId: Uuid }[]>`
    SELECT organisation_id
    FROM (${first('postings')} UNION ALL ${first('accounts')}
          UNION ALL ${first('transactions')} UNION ALL ${first('seals')}) f
    ORDER BY organisation_id LIMIT 1`;
  if (row === undefined) return null;
  const [last] = await sql<{ posting: string }[]>`
    SELECT posting::text FROM ledger.last_final_posting(${row.organisationId}) AS posting`;
  return { ...row, lastPosting: last?.posting ?? '0' };
}
