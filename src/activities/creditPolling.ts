// Asks the rails for the credits that they received, so that a credit whose callback was lost arrives within minutes,
// and for what they can pay out.
import { readDatabaseTime } from '../database/clock.ts';
import type { Book } from '../money.ts';
import { RailCallError } from '../rail/errors.ts';
import type { BankRail } from '../rail/port.ts';
import { findPolledTo, savePolledTo } from '../reconciliation/progress.ts';
import { findUnknownSessions } from '../resources/inboundCredits/queries.ts';
import { importCredit } from '../resources/inboundCredits/receive.ts';
import { saveRailBalance } from '../resources/rails/contracts.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import type { CreditsPolled, MaintenanceActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { eachBook } from './eachBook.ts';

/** How far back a first poll looks, and the first one after a long outage: older credits are on the daily statement. */
const LOOK_BACK_MS = 24 * 3_600_000;
/** A bank may list a credit this long after it received it, so polls overlap by as much. */
const LISTED_AFTER_MS = 3_600_000;
/** Until then the callback may be on its way. */
const CALLBACK_DUE_AFTER_MS = 30_000;

export function createCreditPollingActivities(
  dependencies: Pick<ActivityDependencies, 'sql' | 'journal' | 'rails' | 'log'>,
): Pick<MaintenanceActivities, 'pollCredits'> {
  const { sql } = dependencies;

  /** Stores what the rail can pay out. A rail that does not respond is asked again by the next run. */
  async function readBalance(book: Book, rail: BankRail): Promise<void> {
    try {
      const balance = await rail.balance({ organisationId: book.organisationId });
      if (balance !== null) await saveRailBalance(sql, book, rail.name, balance);
    } catch (error) {
      if (!(error instanceof RailCallError)) throw error;
      dependencies.log.warn({ ...book, railName: rail.name, err: error }, 'the balance of a rail could not be read');
    }
  }

  return {
    async pollCredits(period) {
      const start: CreditsPolled = { books: 0, failed: 0, recovered: 0 };
      return await eachBook(dependencies, start, async (book, rail, onStep, total) => {
        if (rail.capabilities.transfers.balance) await readBalance(book, rail);
        const now = (await readDatabaseTime(sql)).getTime();
        const polledTo = (await findPolledTo(sql, book, rail.name))?.getTime() ?? 0;
        const since = Math.max(polledTo - LISTED_AFTER_MS, now - LOOK_BACK_MS);
        const from = period === null ? new Date(since) : new Date(period.from);
        const to = period === null ? new Date(now) : new Date(period.to);
        const { organisationId } = book;
        for (let cursor: string | null = null; ; ) {
          const page = await rail.listInboundCredits({ organisationId, from, to, cursor });
          const due = page.credits.filter(({ receivedAt }) => receivedAt.getTime() < now - CALLBACK_DUE_AFTER_MS);
          const sessions = due.map(({ sessionId }) => sessionId);
          const unknown = await findUnknownSessions(sql, book, rail.name, sessions);
          for (const report of due.filter(({ sessionId }) => unknown.has(sessionId))) {
            if (!(await importCredit(dependencies, book, rail.name, report))) continue;
            creditsRecovered.inc({ rail: rail.name });
            total.recovered += 1;
          }
          onStep();
          cursor = page.nextCursor;
          if (cursor === null) break;
        }
        if (period === null) await savePolledTo(sql, book, rail.name, to);
      });
    },
  };
}
