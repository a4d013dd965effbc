// Compares each organisation's book with its rail's statement. No break is repaired.
import { readDatabaseTime } from '../database/clock.ts';
import type { Keyring } from '../keyring.ts';
import { type ReconcileDependencies, reconcilePeriod, reconcileToDate } from '../reconciliation/reconcile.ts';
import type { MaintenanceActivities, Reconciled } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { eachBook } from './eachBook.ts';
import { bankOf } from './railStatement.ts';

export function createReconciliationActivities(
  dependencies: Pick<ActivityDependencies, 'sql' | 'journal' | 'rails' | 'log'> & { keyring: Keyring },
): Pick<MaintenanceActivities, 'reconcileBooks'> {
  const { sql, journal, log } = dependencies;
  return {
    async reconcileBooks(input) {
      const period = input && { from: new Date(input.from), to: new Date(input.to) };
      const start: Reconciled = { books: 0, failed: 0, lines: 0, breaks: 0, opened: 0 };
      return await eachBook(dependencies, start, async (book, rail, onStep, total) => {
        const bank = bankOf(dependencies, book, rail, onStep);
        const own: ReconcileDependencies = { sql, journal, onStep };
        const now = (await readDatabaseTime(sql)).getTime();
        const { lines, breaks, opened } =
          period === null ? await reconcileToDate(own, bank, now) : await reconcilePeriod(own, bank, period, now);
        total.lines += lines;
        total.breaks += breaks;
        total.opened += opened;
        if (breaks > 0) {
          log.error({ ...book, rail: rail.name, breaks, opened }, "the rail's statement and the ledger differ");
        }
      });
    },
  };
}
