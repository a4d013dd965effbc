// Comparing each organisation's book with its rail's statement, and keeping what came of it.
import { heartbeat } from '@temporalio/activity';
import { newUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { BankRail } from '../rail/port.ts';
import { type Line, matchStatement } from '../reconciliation/match.ts';
import {
  findKnownReferences,
  insertReport,
  listBooks,
  listClearingLines,
  type Period,
} from '../records/reconciliation.ts';
import type { Reconciled, ReconciliationInput } from '../workflows/reconciliation/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

export type ReconciliationActivities = ReturnType<typeof createReconciliationActivities>;

/**
 * The two sides note one movement at different times. Lines are read from this much before the period to this much after
 * it, and only breaks of the period itself are told.
 */
const MARGIN_MS = 3_600_000;
const BREAKS_KEPT_MAX = 1_000;

export function createReconciliationActivities({
  sql,
  rails,
  log,
}: Pick<ActivityDependencies, 'sql' | 'rails' | 'log'>) {
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

  /** Answers how many lines there were and how many breaks. */
  async function reconcile(rail: BankRail, book: Book, period: Period): Promise<{ lines: number; breaks: number }> {
    const wide = { from: new Date(period.from.getTime() - MARGIN_MS), to: new Date(period.to.getTime() + MARGIN_MS) };
    const isInPeriod = ({ at }: { at: Date }): boolean => at >= period.from && at < period.to;
    const theirs = await readStatement(rail, book, wide);
    // Read after the statement: what is on it had its time to be posted.
    const ours = await listClearingLines(sql, book, rail.name, wide);
    const known = await findKnownReferences(sql, book, rail.name, theirs);
    const breaks = matchStatement(theirs, ours, (_kind, reference) => known.has(reference)).filter(isInPeriod);
    const lines = theirs.filter(isInPeriod).length;
    if (lines === 0 && breaks.length === 0) return { lines, breaks: 0 };
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
      log.error({ ...book, rail: rail.name, breaks: breaks.length }, 'the rail’s statement and the books differ');
    }
    return { lines, breaks: breaks.length };
  }

  return {
    /** Every book that has a rail. A repeat after a lost answer keeps one more report, which misleads nobody. */
    async reconcileBooks({ from, to }: ReconciliationInput): Promise<Reconciled> {
      const period = { from: new Date(from), to: new Date(to) };
      const all: Reconciled = { books: 0, lines: 0, breaks: 0 };
      for (const environment of ['test', 'live'] as const) {
        const rail = rails.of(environment);
        if (rail === null) continue;
        for (const book of await listBooks(sql, environment)) {
          const { lines, breaks } = await reconcile(rail, book, period);
          all.books += 1;
          all.lines += lines;
          all.breaks += breaks;
          heartbeat(all);
        }
      }
      return all;
    },
  };
}
