// Comparing each organisation's book with its rail's statement, keeping what came of it, and opening a review case for
// each new break. Nothing is repaired.
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
 * The two sides note one movement at different times. Lines are read from this much before the period to this much after
 * it, and only breaks of the period itself are told.
 */
const MARGIN_MS = 3_600_000;
const BREAKS_KEPT_MAX = 1_000;
/**
 * New cases that one run opens in a book. More breaks than these have one cause, a wrong statement for example, and a
 * thousand flows help nobody find it; the next run opens the next ones.
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
   * A review case for each break that none was opened for yet, and a note on those that are gone or there again. Answers
   * how many were opened. Posts no money. Another run that finds the same at the same time opens none of them again.
   */
  async function keepCases(rail: BankRail, book: Book, period: Period, breaks: readonly Break[]): Promise<number> {
    const { opened, cleared, reopened } = compareBreaks(breaks, await listStoredBreaks(sql, book, rail.name, period));
    const now = new Date();
    const [results] = await Promise.all([
      Promise.all(opened.slice(0, CASES_OPENED_MAX).map((one) => journal.post(openBreak(book, rail.name, one)))),
      Promise.all(cleared.map((one) => journal.post(updateBreak(book, one, now)))),
      Promise.all(reopened.map((one) => journal.post(updateBreak(book, one, null)))),
    ]);
    return results.filter(({ outcome }) => outcome === 'posted').length;
  }

  /** Answers how many lines there were, how many breaks, and how many of these were new. */
  async function reconcile(rail: BankRail, book: Book, period: Period): Promise<Omit<Reconciled, 'books'>> {
    const wide = { from: new Date(period.from.getTime() - MARGIN_MS), to: new Date(period.to.getTime() + MARGIN_MS) };
    const isInPeriod = ({ at }: { at: Date }): boolean => at >= period.from && at < period.to;
    const statement = await readStatement(rail, book, wide);
    // Read after the statement: what is on it had its time to be posted.
    const ledger = await listClearingLines(sql, book, rail.name, wide);
    const known = await findKnownReferences(sql, book, rail.name, statement);
    const breaks = matchStatement(statement, ledger, (_kind, reference) => known.has(reference)).filter(isInPeriod);
    const lines = statement.filter(isInPeriod).length;
    const opened = await keepCases(rail, book, period, breaks);
    if (lines === 0 && breaks.length === 0) return { lines, breaks: 0, opened };
    await insertReport(sql, {
      ...book,
      id: newUuid(),
      rail: rail.name,
      periodFrom: period.from,
      periodTo: period.to,
      lineCount: lines,
      breakCount: breaks.length,
      breaks: breaks.slice(0, BREAKS_KEPT_MAX).map((one) => ({ ...one, at: one.at.toISOString() })),
    });
    if (breaks.length > 0) {
      log.error(
        { ...book, rail: rail.name, breaks: breaks.length, opened },
        'the rail’s statement and the books differ',
      );
    }
    return { lines, breaks: breaks.length, opened };
  }

  return {
    /** Every book that has a rail. A repeat after a lost answer keeps one more report, which misleads nobody. */
    async reconcileBooks({ from, to }: ReconciliationInput): Promise<Reconciled> {
      const period = { from: new Date(from), to: new Date(to) };
      const all: Reconciled = { books: 0, lines: 0, breaks: 0, opened: 0 };
      for (const environment of ['test', 'live'] as const) {
        const rail = rails.of(environment);
        if (rail === null) continue;
        for (const book of await listBooks(sql, environment)) {
          requireTimeLeft(0);
          const { lines, breaks, opened } = await reconcile(rail, book, period);
          all.books += 1;
          all.lines += lines;
          all.breaks += breaks;
          all.opened += opened;
          heartbeat(all);
        }
      }
      return all;
    },
  };
}
