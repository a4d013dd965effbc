// Compares each organisation's book with its rail's statement, stores a report, and opens a review case for each new
// break. Nothing is repaired.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { newUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { BankRail } from '../rail/port.ts';
import { compareBreaks } from '../reconciliation/compare.ts';
import { type Break, type Line, matchStatement } from '../reconciliation/match.ts';
import { openBreak, updateBreak } from '../reconciliation/movements.ts';
import {
  findKnownReferences,
  insertReport,
  listBooks,
  listClearingLines,
  listStoredBreaks,
  type Period,
} from '../reconciliation/queries.ts';
import type {
  Reconciled,
  ReconciliationActivities,
  ReconciliationInput,
} from '../workflows/reconciliation/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

/**
 * The two sides record one movement at different times. Lines are read from this long before the period to this long
 * after it, and only breaks within the period are reported.
 */
const MARGIN_MS = 3_600_000;
/** Breaks that a report stores. */
const BREAKS_STORED_MAX = 1_000;
/**
 * New cases that one run opens in a book. More breaks than these have one cause, a wrong statement for example, which
 * more review cases do not help to find; the next run opens the next ones.
 */
const CASES_OPENED_MAX = 1_000;

export function createReconciliationActivities({
  sql,
  journal,
  rails,
  log,
}: Pick<ActivityDependencies, 'sql' | 'journal' | 'rails' | 'log'>): ReconciliationActivities {
  async function readStatement(rail: BankRail, book: Book, period: Period): Promise<Line[]> {
    const lines: Line[] = [];
    let cursor: string | null = null;
    do {
      const page = await rail.statement({ organisationId: book.organisationId, ...period, cursor });
      lines.push(...page.lines);
      cursor = page.nextCursor;
      heartbeat(lines.length);
    } while (cursor !== null);
    return lines;
  }

  /**
   * Opens a review case for each new break, and records which breaks cleared or reopened. Returns the number of cases
   * opened. Posts no money. A concurrent run that finds the same breaks opens no second case for them.
   */
  async function updateCases(rail: BankRail, book: Book, period: Period, breaks: readonly Break[]): Promise<number> {
    const { opened, cleared, reopened } = compareBreaks(breaks, await listStoredBreaks(sql, book, rail.name, period));
    const now = new Date();
    const [results] = await Promise.all([
      Promise.all(opened.slice(0, CASES_OPENED_MAX).map((one) => journal.post(openBreak(book, rail.name, one)))),
      Promise.all(cleared.map((one) => journal.post(updateBreak(book, one, now)))),
      Promise.all(reopened.map((one) => journal.post(updateBreak(book, one, null)))),
    ]);
    return results.filter(({ outcome }) => outcome === 'posted').length;
  }

  /** Returns the number of lines, of breaks, and of breaks that were new. */
  async function reconcile(rail: BankRail, book: Book, period: Period): Promise<Omit<Reconciled, 'books'>> {
    const wide = { from: new Date(period.from.getTime() - MARGIN_MS), to: new Date(period.to.getTime() + MARGIN_MS) };
    const isInPeriod = ({ at }: { at: Date }): boolean => at >= period.from && at < period.to;
    const statement = await readStatement(rail, book, wide);
    // Read after the statement, so that what is on it is posted already.
    const ledger = await listClearingLines(sql, book, rail.name, wide);
    const known = await findKnownReferences(sql, book, rail.name, statement);
    const breaks = matchStatement(statement, ledger, (_kind, reference) => known.has(reference)).filter(isInPeriod);
    const lines = statement.filter(isInPeriod).length;
    const opened = await updateCases(rail, book, period, breaks);
    if (lines === 0 && breaks.length === 0) return { lines, breaks: 0, opened };
    await insertReport(sql, {
      ...book,
      id: newUuid(),
      rail: rail.name,
      periodFrom: period.from,
      periodTo: period.to,
      lineCount: lines,
      breakCount: breaks.length,
      breaks: breaks.slice(0, BREAKS_STORED_MAX).map((one) => ({ ...one, at: one.at.toISOString() })),
    });
    if (breaks.length > 0) {
      log.error(
        { ...book, rail: rail.name, breaks: breaks.length, opened },
        "the rail's statement and the ledger differ",
      );
    }
    return { lines, breaks: breaks.length, opened };
  }

  return {
    async reconcileBooks({ from, to }: ReconciliationInput): Promise<Reconciled> {
      const period = { from: new Date(from), to: new Date(to) };
      const total: Reconciled = { books: 0, lines: 0, breaks: 0, opened: 0 };
      for (const environment of ['test', 'live'] as const) {
        const rail = rails.of(environment);
        if (rail === null) continue;
        for (const book of await listBooks(sql, environment)) {
          requireTimeLeft(0);
          const { lines, breaks, opened } = await reconcile(rail, book, period);
          total.books += 1;
          total.lines += lines;
          total.breaks += breaks;
          total.opened += opened;
          heartbeat(total);
        }
      }
      return total;
    },
  };
}
