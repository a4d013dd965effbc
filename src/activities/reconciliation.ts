// Compares each organisation's book with its rail's statement. No break is repaired.
import { heartbeat } from '@temporalio/activity';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { readDatabaseTime } from '../database/pool.ts';
import type { Keyring } from '../keyring.ts';
import { ENVIRONMENTS } from '../money.ts';
import { listDays, proveDay } from '../reconciliation/dayProofs.ts';
import { compare, type ReconcileDependencies, reconcileToDate } from '../reconciliation/reconcile.ts';
import { listOrganisations } from '../resources/organisations.ts';
import { WORKER_PROOF } from '../resources/proofs.ts';
import { DAY_MS, dayOf } from '../times.ts';
import type { DaysProved, MaintenanceActivities, Reconciled } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { eachBook } from './eachBook.ts';
import { bankOf } from './railStatement.ts';

/** A statement may be imported this late; what is older waits for people, before its month is closed. */
const PROVED_WITHIN_DAYS = 7;

export function createReconciliationActivities(
  dependencies: Pick<ActivityDependencies, 'sql' | 'journal' | 'rails' | 'log'> & {
    keyring: Keyring;
    config: Pick<Config, 'interest'>;
  },
): Pick<MaintenanceActivities, 'reconcileBooks' | 'proveDays'> {
  const { sql, journal, log, config } = dependencies;
  return {
    async reconcileBooks(input) {
      const period = input && { from: new Date(input.from), to: new Date(input.to) };
      const start: Reconciled = { books: 0, failed: 0, lines: 0, breaks: 0, opened: 0 };
      return await eachBook(dependencies, start, async (book, rail, onStep, total) => {
        const bank = bankOf(dependencies, book, rail, onStep);
        const own: ReconcileDependencies = { sql, journal, interest: config.interest, onStep };
        const now = (await readDatabaseTime(sql)).getTime();
        const { lines, breaks, opened } =
          period === null ? await reconcileToDate(own, bank, now) : await compare(own, bank, period, new Date(now));
        total.lines += lines;
        total.breaks += breaks;
        total.opened += opened;
        if (breaks > 0) {
          log.error({ ...book, rail: rail.name, breaks, opened }, "the rail's statement and the ledger differ");
        }
      });
    },

    async proveDays() {
      const total: DaysProved = { proved: 0, withBreaks: 0, withoutStatement: 0 };
      const today = await readDatabaseTime(sql);
      const oldest = dayOf(new Date(today.getTime() - PROVED_WITHIN_DAYS * DAY_MS));
      for (const { organisationId } of await listOrganisations(sql)) {
        for (const environment of ENVIRONMENTS) {
          const book = { organisationId, environment };
          for (const one of await listDays(sql, book, oldest, dayOf(today))) {
            requireTimeLeft(0);
            heartbeat(total);
            if (one.preparedBy !== null) continue;
            const { outcome } = await proveDay(sql, book, one, { proof: WORKER_PROOF, waiver: null });
            if (outcome === 'proved') total.proved += 1;
            else if (outcome === 'no_statement') total.withoutStatement += 1;
            else if (outcome === 'needs_people') total.withBreaks += 1;
          }
        }
      }
      return total;
    },
  };
}
