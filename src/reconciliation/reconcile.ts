// Compares one book with its rail: reads the statement, imports what only the statement has, matches it with the
// ledger, and opens a review case for each new break. No break is repaired.
import { mapAtMost } from '../concurrency/mapAtMost.ts';
import type { Config } from '../config.ts';
import { readDatabaseTime, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { type AccountCode, INTEREST_OF_CUSTOMERS, OWN_FUNDS, settlementAccount } from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Book, Kobo } from '../money.ts';
import { findUnknownSessions } from '../resources/inboundCredits/queries.ts';
import { postEntry } from '../resources/statementEntries/movements.ts';
import { DAY_MS, dayAfter, dayOf, dayStart, lastTime } from '../times.ts';
import { compareBalance, compareClosing, type ReportedAccount } from './balance.ts';
import { clearStored, findAgain } from './cleared.ts';
import { findPostings, findResourceStates, listClearingLines } from './clearing.ts';
import {
  type BankLine,
  type BookAtRail,
  COMMITTED_AFTER_MS,
  isOwnLine,
  type LineKind,
  type LineName,
  nameOf,
  type StatementPeriod,
  type UnreadRow,
} from './lines.ts';
import { type Break, compareBreaks, linesMissingIn, matchStatement, numbered, sumOf } from './match.ts';
import { openBreak } from './movements.ts';
import {
  findProgress,
  type ReconciliationProgress,
  saveBankBalance,
  saveLookedBack,
  saveProgress,
} from './progress.ts';
import { findSetAside, listStoredBreaks } from './queries.ts';

export interface Statement {
  lines: BankLine[];
  /** Rows that could not be read; absent: none. */
  unread?: readonly UnreadRow[];
  /** The balance at the end of the statement; null: the bank does not report it. */
  closingBalance: Kobo | null;
}

/** What reconciliation reads and asks of the rail of a book, or of the file of a bank without an API. */
export interface Bank extends BookAtRail {
  /** Whether its statement can be read from before a period; that of a file cannot. */
  hasHistory: boolean;
  readStatement: (period: StatementPeriod) => Promise<Statement>;
  /** Whether the bank, asked by reference, knows a line. */
  isKnown: (line: LineName) => Promise<boolean>;
  /** Imports a credit that no callback reported, or that it was taken back, if the bank confirms it. */
  receiveCredit: (sessionId: string) => Promise<void>;
  /** Wakes the flow of a transfer, as a callback does. */
  wakeTransfer: (reference: string) => Promise<void>;
  /** Encrypts the text of a row that cannot be read, for the case with this id. */
  seal: (id: Uuid, text: string) => string;
  /** How long after its time a row of its list may change; 0: periods are not compared again. */
  changeForMs: number;
  /** The accounts whose balance is compared with that at the bank now. */
  accounts: readonly ReportedAccount[];
}

export interface Reconciliation {
  /** Statement lines of the period. */
  lines: number;
  breaks: number;
  /** Breaks that were new. */
  opened: number;
}

export interface ReconcileDependencies {
  sql: Sql;
  journal: Journal;
  /** Whose the interest is that banks pay; default: own. */
  interest?: Config['interest'];
  /** Called between steps: it reports that the run is alive, and throws when the run must end. */
  onStep?: () => void;
}

const HOUR_MS = 3_600_000;
/**
 * A bank may list a line this long after the ledger posted it: younger postings are compared by the next run. Periods
 * overlap by as much.
 */
const LAG_MS = HOUR_MS;
/**
 * A resource may be in progress this long after the bank's line, and the return of a transfer not be on a statement;
 * then the line is a break.
 */
const OVERDUE_MS = 7 * DAY_MS;
/** Questions to the bank at once. */
const QUESTIONS_AT_ONCE = 10;
/**
 * New cases that one comparison opens. More breaks than these have one cause, a wrong statement for example, which more
 * review cases do not help to find; the next run opens the next ones.
 */
const CASES_OPENED_MAX = 1_000;

/** Compares a book from where it is reconciled to until now, after an outage too. */
export async function reconcileToDate(
  dependencies: ReconcileDependencies,
  bank: Bank,
  now: number,
): Promise<Reconciliation> {
  const { sql } = dependencies;
  const until = new Date(now - COMMITTED_AFTER_MS);
  const progress = startOf(await findProgress(sql, bank), now);
  const total: Reconciliation = { lines: 0, breaks: 0, opened: 0 };
  const found = new Set<string>(); // periods overlap
  let { readFrom } = progress;
  let inFlight = 0;
  let returning: BankLine[] = [];
  for (let from = progress.readFrom; from < until; ) {
    // A longer period is compared in days, so that an outage of a week needs no more memory, and the balance at the end
    // of each day is known.
    const dayEnd = dayStart(dayAfter(dayOf(from)));
    const to = dayEnd < until ? dayEnd : until;
    const part = await compare(dependencies, bank, { from, to }, until);
    total.lines += part.lines;
    for (const key of numbered(part.found).keys()) found.add(key);
    total.opened += part.opened;
    inFlight -= part.unpostedSum;
    // Lines that wait for a resource, for a case, or were posted after the cut are read again by the next run.
    if (readFrom >= from) readFrom = part.unfinishedSince ?? to;
    // So are transfers that came back, until a statement has the return: until then the balance lacks them.
    returning = linesMissingIn([...returning, ...part.returning], part.stated);
    const reconciledTo = to > progress.reconciledTo ? to : progress.reconciledTo;
    const reached = { reconciledTo, readFrom: returning.reduce(oldest, readFrom) };
    if (part.closingBalance !== null) {
      const inFlightThen = inFlight + (await part.unstatedSum()) + sumOf(returning);
      const reported = { balance: part.closingBalance, reportedFor: to, comparedAt: until, inFlight: inFlightThen };
      await saveBankBalance(sql, bank, reported);
    }
    await saveProgress(sql, bank, reached, new Date(now)); // the last: a run that fails before it begins here again
    from = to;
  }
  const lookedBack = await lookBack(dependencies, bank, progress, now);
  total.breaks += found.size + lookedBack;
  total.opened += lookedBack;
  for (const account of bank.accounts) {
    const { breaks, opened } = await compareBalance(dependencies, bank, account, now, readFrom);
    total.breaks += breaks;
    total.opened += opened;
    dependencies.onStep?.();
  }
  return total;
}

/** Where a run begins. What a clock that was ahead has stored says nothing of the last day, which is compared again. */
function startOf(progress: ReconciliationProgress, now: number): ReconciliationProgress {
  if (progress.reconciledTo.getTime() <= now) return progress;
  const dayAgo = new Date(Math.max(now - DAY_MS, progress.since.getTime()));
  return { ...progress, reconciledTo: dayAgo, readFrom: dayAgo < progress.readFrom ? dayAgo : progress.readFrom };
}

/**
 * Once a day, compares again the days in which the bank may have changed a row since: what was returned, taken back or
 * listed late. Returns the number of new breaks.
 */
async function lookBack(
  dependencies: ReconcileDependencies,
  bank: Bank,
  { readFrom, lookedBackAt, since }: ReconciliationProgress,
  now: number,
): Promise<number> {
  if (bank.changeForMs === 0 || now - lastTime(lookedBackAt, now) < DAY_MS) return 0;
  let opened = 0;
  for (let from = Math.max(now - bank.changeForMs, since.getTime()); from < readFrom.getTime(); from += DAY_MS) {
    const to = new Date(Math.min(from + DAY_MS, readFrom.getTime()));
    const part = await compare(dependencies, bank, { from: new Date(from), to }, new Date(now));
    opened += part.opened;
  }
  await saveLookedBack(dependencies.sql, bank, new Date(now));
  return opened;
}

/** What a bank that cannot be asked answers. */
export const NOT_ASKED: Omit<Bank, keyof BookAtRail | 'hasHistory' | 'readStatement'> = {
  isKnown: () => Promise.resolve(false),
  receiveCredit: () => Promise.resolve(),
  wakeTransfer: () => Promise.resolve(),
  seal: () => {
    throw new Error('a file has no row that cannot be read');
  },
  changeForMs: 0,
  accounts: [],
};

/** The statement of a file, for a bank that cannot be asked. */
export type ImportedStatement = Statement & { period: StatementPeriod };

/**
 * Compares a book with the statement of a file. `waiting`: the oldest line whose resource is still in progress; `gap`:
 * where the book is reconciled to, if the statement begins later.
 */
export async function reconcileImported(
  dependencies: ReconcileDependencies,
  compared: BookAtRail,
  { period, lines, closingBalance }: ImportedStatement,
  now: number,
): Promise<Reconciliation & { waiting: Date | null; gap: Date | null }> {
  const { sql } = dependencies;
  const bank: Bank = {
    ...compared,
    hasHistory: false,
    readStatement: ({ from, to }) =>
      Promise.resolve({ lines: lines.filter(({ at }) => at >= from && at < to), closingBalance }),
    ...NOT_ASKED,
  };
  const committed = new Date(now); // no flow posts to such a bank; what an import before this one did has committed
  const part = await compare(dependencies, bank, period, committed);
  const { reconciledTo } = await findProgress(sql, compared);
  const gap = reconciledTo < period.from ? reconciledTo : null;
  if (gap === null) {
    await saveProgress(sql, compared, { reconciledTo: period.to, readFrom: part.outstandingSince ?? period.to });
  }
  const total = { lines: part.lines, breaks: part.breaks, opened: part.opened };
  if (closingBalance !== null) {
    const inFlight = (await part.unstatedSum()) - part.unpostedSum;
    const reported = { balance: closingBalance, reportedFor: period.to, comparedAt: committed, inFlight };
    await saveBankBalance(sql, compared, reported);
    const { breaks, opened } = await compareClosing(
      dependencies,
      compared,
      { balance: closingBalance, committed, inFlight },
      now,
    );
    total.breaks += breaks;
    total.opened += opened;
  }
  return { ...total, waiting: part.outstandingSince, gap };
}

interface Comparison extends Reconciliation {
  found: Break[];
  closingBalance: Kobo | null;
  /** The oldest line whose resource is still in progress. */
  outstandingSince: Date | null;
  /** What the statement has of the period and is not posted before `committed`, although nothing is wrong. */
  unpostedSum: Kobo;
  /** The oldest line of that, and of the breaks without a case yet. */
  unfinishedSince: Date | null;
  /** Of the transfers that were sent in the period: see `matchStatement`. */
  returning: BankLine[];
  /** The lines of the statement. */
  stated: BankLine[];
  /** What was posted since the last hour of the period and before `committed`, and is not on the statement yet. */
  unstatedSum: () => Promise<Kobo>;
}

/**
 * Compares the lines of one period, also where they were compared before. `committed`: postings before it are compared
 * with the balance at the bank.
 */
export async function compare(
  dependencies: ReconcileDependencies,
  bank: Bank,
  { from, to }: StatementPeriod,
  committed: Date,
): Promise<Comparison> {
  const { sql, journal, onStep = () => {} } = dependencies;
  // Breaks are looked for from `judgedFrom` on; the hour before it has the lines of what was posted after it.
  const [judgedFrom, readFrom] = bank.hasHistory ? [earlier(from, LAG_MS), earlier(from, 2 * LAG_MS)] : [from, from];
  const { lines, closingBalance, unread = [] } = await bank.readStatement({ from: readFrom, to });
  onStep();
  // The ledger is read after the statement, so that what is on the statement has been posted.
  const postings: BankLine[] = await findPostings(sql, bank, lines);
  const unposted = linesMissingIn(lines, postings);
  postings.push(...(await postOwnLines(dependencies, bank, unposted)));
  await importCredits(sql, bank, unposted);
  const settled = earlier(to, LAG_MS);
  // Without history, what was posted in the first hour may be on the statement before.
  const posted = { from: bank.hasHistory ? judgedFrom : new Date(from.getTime() + LAG_MS), to: settled };
  const ledger = await listClearingLines(sql, bank, posted);
  postings.push(...(await findPostings(sql, bank, linesMissingIn(ledger, lines))));
  onStep();
  const stateOf = await findResourceStates(sql, bank, unposted);
  // Again: a resource that has ended since its line was looked up has posted it, in one transaction.
  postings.push(...linesMissingIn(await findPostings(sql, bank, unposted), postings));
  const before = (ms: number) => {
    const limit = earlier(committed, ms);
    return ({ at }: BankLine): boolean => at < limit;
  };
  const isOld = before(DAY_MS);
  const answers = { stateOf, isOverdue: before(OVERDUE_MS), isBeingReturned: (line: BankLine) => !isOld(line) };
  const sides = { statement: lines, postings, ledger };
  const isKnownToRail = await askAbout(bank, onStep, (isAsked) => {
    matchStatement(sides, { ...answers, isKnownToRail: isAsked });
  });
  const match = matchStatement(sides, { ...answers, isKnownToRail });
  await wakeReturned(bank, match.outstanding);
  const breaks = [...match.breaks.filter(({ at }) => at >= judgedFrom), ...unread.map(unreadable)];
  const setAsideNow = await setAside({ sql, journal }, bank, unread);
  const updated = await updateCases(sql, journal, bank, { from: judgedFrom, to }, posted, breaks);

  const inPeriod = ({ at }: BankLine): boolean => at >= from;
  // Not before the cut, as verification and balances read it.
  const later = new Set(postings.filter(({ at }) => at >= committed).map(nameOf));
  const postedLater = lines.filter((line) => later.has(nameOf(line)));
  const outstanding = match.outstanding.filter(inPeriod);
  const notPosted = [...outstanding, ...postedLater.filter(inPeriod)];
  return {
    lines: lines.filter(inPeriod).length,
    breaks: breaks.length,
    found: breaks,
    opened: setAsideNow.opened + updated.opened,
    closingBalance,
    outstandingSince: outstanding.reduce<Date | null>(oldest, null),
    unpostedSum: sumOf(notPosted),
    unfinishedSince: [...notPosted, ...setAsideNow.left, ...updated.left].reduce<Date | null>(oldest, null),
    returning: match.returning.filter(inPeriod),
    stated: lines,
    unstatedSum: async () => {
      const young = await listClearingLines(sql, bank, { from: settled, to: committed });
      // What the bank dates before this statement is on an earlier one, and is in the balance.
      return sumOf(linesMissingIn(young, lines).filter(({ effectiveAt }) => effectiveAt >= readFrom));
    },
  };
}

const earlier = (at: Date, ms: number): Date => new Date(at.getTime() - ms);

const oldest = (one: Date | null, { at }: Pick<BankLine, 'at'>): Date => (one === null || at < one ? at : one);

/** Whether a rail has paid out what was not paid in again: customers may be owed that, so it is not own money. */
async function hasSettled(sql: Sql, { organisationId, environment }: Book, rail: string): Promise<boolean> {
  const [row] = await sql<{ has: boolean }[]>`
    SELECT coalesce(sum(balance), 0) < 0 AS has
    FROM ledger.balances_before(${organisationId}, ${environment}, 'infinity',
                                ${[settlementAccount(rail)]}::text[])`;
  return row?.has === true;
}

/** Posts the lines that are the bank's own doing. Returns them as posted lines. */
async function postOwnLines(
  { sql, journal, interest }: ReconcileDependencies,
  { book, rail }: BookAtRail,
  unposted: readonly BankLine[],
): Promise<BankLine[]> {
  const own = [...new Map(unposted.filter(isOwnLine).map((line) => [nameOf(line), line])).values()];
  const isFunded = own.some(({ kind }) => kind === 'funding') && !(await hasSettled(sql, book, rail));
  const accounts: Partial<Record<LineKind, AccountCode | null>> = {
    funding: isFunded ? OWN_FUNDS : null,
    interest: interest === 'customers' ? INTEREST_OF_CUSTOMERS : null,
  };
  // A concurrent run may have posted one meanwhile: a duplicate by its key, or a conflict of its row.
  await Promise.all(
    own.map((line) =>
      journal.post(postEntry(book, { rail, ...line, account: line.account ?? accounts[line.kind] ?? null })),
    ),
  );
  const at = await readDatabaseTime(sql);
  return own.map((line) => ({ ...line, at }));
}

/** Has the bank confirm each credit of the statement that no callback reported, and imports it as a callback does. */
async function importCredits(sql: Sql, bank: Bank, unposted: readonly BankLine[]): Promise<void> {
  const sessions = unposted.filter(({ kind }) => kind === 'credit').map(({ reference }) => reference);
  if (sessions.length === 0) return;
  const unknown = await findUnknownSessions(sql, bank.book, bank.rail, sessions);
  await mapAtMost(QUESTIONS_AT_ONCE, [...unknown], (sessionId) => bank.receiveCredit(sessionId));
}

/** Drives what the statement has come back: the flow of a transfer, and the recall of a credit. */
async function wakeReturned(bank: Bank, unposted: readonly LineName[]): Promise<void> {
  const back = unposted.filter(({ kind }) => kind === 'returned' || kind === 'recalled');
  await mapAtMost(QUESTIONS_AT_ONCE, back, (line) =>
    line.kind === 'returned' ? bank.wakeTransfer(line.reference) : bank.receiveCredit(line.reference),
  );
}

/** A row that cannot be read as a break. */
const unreadable = ({ reference, at }: UnreadRow): Break => ({
  kind: 'unreadable',
  line: 'other_in', // its direction is not known; money that came in is what is owed to someone
  reference,
  ledgerAmount: null,
  statementAmount: null,
  at,
});

/** New breaks: how many cases were opened, and those that have none yet. */
interface Opened {
  opened: number;
  left: readonly Pick<Break, 'at'>[];
}

/** Opens cases for as many as one comparison may. A concurrent run may have opened some. */
async function openCases<One extends Pick<Break, 'at'>>(
  fresh: readonly One[],
  open: (one: One) => ReturnType<Journal['post']>,
): Promise<Opened> {
  const results = await Promise.all(fresh.slice(0, CASES_OPENED_MAX).map(open));
  const opened = results.filter(({ outcome }) => outcome === 'posted').length;
  return { opened, left: fresh.slice(CASES_OPENED_MAX) };
}

/** Opens a case for each row that cannot be read, once. */
async function setAside(
  { sql, journal }: ReconcileDependencies,
  bank: Bank,
  unread: readonly UnreadRow[],
): Promise<Opened> {
  const { book, rail } = bank;
  const references = unread.map(({ reference }) => reference);
  const known = await findSetAside(sql, bank, references);
  const fresh = unread.filter(({ reference }) => !known.has(reference));
  return await openCases(fresh, (row) =>
    journal.post(openBreak(book, rail, { ...unreadable(row), occurrence: 1 }, (id) => bank.seal(id, row.raw))),
  );
}

/** Asks the bank about each line that `match` wants to know. */
async function askAbout(
  bank: Bank,
  onStep: () => void,
  match: (isAsked: (line: LineName) => boolean) => void,
): Promise<(line: LineName) => boolean> {
  const questions = new Map<string, LineName>();
  match((line) => {
    questions.set(nameOf(line), line);
    return true;
  });
  const known = new Set<string>();
  await mapAtMost(QUESTIONS_AT_ONCE, [...questions], async ([name, line]) => {
    onStep();
    if (await bank.isKnown(line)) known.add(name);
  });
  return (line) => known.has(nameOf(line));
}

/**
 * Opens a review case for each new break, closes those of breaks that have cleared, and opens them again when they are
 * found again; wakes what a new one says came back after its day. Posts no money. A concurrent run that finds the same
 * breaks opens no second case for them.
 */
async function updateCases(
  sql: Sql,
  journal: Journal,
  bank: Bank,
  judged: StatementPeriod,
  posted: StatementPeriod,
  breaks: readonly Break[],
): Promise<Opened> {
  const stored = (await listStoredBreaks(sql, bank, judged)).filter(
    // A posting outside of these was not looked at.
    ({ kind, at }) => kind !== 'unmatched_ledger' || (at >= posted.from && at < posted.to),
  );
  const { book, rail } = bank;
  const { opened, cleared, reopened } = compareBreaks(
    breaks.filter(({ kind }) => kind !== 'unreadable'),
    stored,
  );
  // Once, as an operator may post by hand what it does not bring; before the case, which says that it was.
  const ended = opened.filter(({ kind }) => kind === 'status');
  await wakeReturned(
    bank,
    ended.map(({ line, reference }) => ({ kind: line, reference })),
  );
  const now = new Date();
  const [result] = await Promise.all([
    openCases(opened, (one) => journal.post(openBreak(book, rail, one))),
    Promise.all(cleared.map((one) => clearStored({ sql, journal }, book, one, now))),
    Promise.all(reopened.map((one) => findAgain({ sql, journal }, book, one))),
  ]);
  return result;
}
