// Asks the rails for the credits that they received, so that a credit whose callback was lost arrives within minutes,
// and for what they can pay out.
import { type Config, msOfRail } from '../config.ts';
import { readDatabaseTime } from '../database/pool.ts';
import type { Book } from '../money.ts';
import { RailCallError } from '../rail/errors.ts';
import { creditsOf } from '../rail/pages.ts';
import type { BankRail, Period } from '../rail/port.ts';
import { findCreditPoll, findProgress, saveCreditPoll } from '../reconciliation/progress.ts';
import { findUnknownSessions } from '../resources/inboundCredits/queries.ts';
import { importCredit } from '../resources/inboundCredits/receive.ts';
import { saveRailBalance } from '../resources/rails/contracts.ts';
import { CLOCKS_DIFFER_MAX_SECONDS } from '../resources/wallets/virtualAccounts.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import { lastTime } from '../times.ts';
import type { CreditsPolled, MaintenanceActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { eachBook } from './eachBook.ts';

/**
 * How far back the first poll after a long outage looks; none looks behind the connection of the contract. Once in this
 * time, and in parts of it, a poll looks back as far as the rail may list a credit late or take one back.
 */
const LOOK_BACK_MS = 24 * 3_600_000;
/** A bank may list a credit this long after it received it, so polls overlap by as much. */
const LISTED_AFTER_MS = 3_600_000;
/** Until then the callback may be on its way. */
const CALLBACK_DUE_AFTER_MS = 30_000;
const EARLY_MS = 5_000;

export function createCreditPollingActivities(
  dependencies: Pick<ActivityDependencies, 'sql' | 'journal' | 'rails' | 'log'> & {
    config: Pick<Config, 'maintenance'>;
  },
): Pick<MaintenanceActivities, 'pollCredits'> {
  const { sql } = dependencies;
  const { creditPolling } = dependencies.config.maintenance;

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

  /** Imports the credits of a period that are not known, and those that were taken back. */
  async function readCredits(book: Book, rail: BankRail, period: Period, onStep: () => void, total: CreditsPolled) {
    const now = (await readDatabaseTime(sql)).getTime();
    for await (const credits of creditsOf(rail, { organisationId: book.organisationId, ...period })) {
      const due = credits.filter(({ receivedAt }) => receivedAt.getTime() < now - CALLBACK_DUE_AFTER_MS);
      const sessions = due.map(({ sessionId }) => sessionId);
      const unknown = await findUnknownSessions(sql, book, rail.name, sessions);
      for (const record of due) {
        if (record.recalledAt === null && !unknown.has(record.sessionId)) continue;
        if (!(await importCredit(dependencies, book, rail.name, record))) continue;
        creditsRecovered.inc({ rail: rail.name });
        total.recovered += 1;
      }
      onStep();
    }
  }

  return {
    async pollCredits(period) {
      const start: CreditsPolled = { books: 0, failed: 0, recovered: 0 };
      return await eachBook(dependencies, start, async (book, rail, onStep, total) => {
        const now = (await readDatabaseTime(sql)).getTime();
        const poll = await findCreditPoll(sql, book, rail.name);
        const listedTo = lastTime(poll?.listedTo, now);
        const lookedBackAt = lastTime(poll?.lookedBackAt, now);
        // A run may begin a little earlier than the one before it did.
        const everyMs = msOfRail(creditPolling, rail.name) - EARLY_MS;
        if (period === null && now - listedTo < everyMs) return;
        if (rail.capabilities.transfers.balance) await readBalance(book, rail);
        const { since: connectedAt } = await findProgress(sql, { book, rail: rail.name });
        const opened = Math.min(connectedAt.getTime(), now) - CLOCKS_DIFFER_MAX_SECONDS * 1000;
        const since = Math.max(listedTo - LISTED_AFTER_MS, now - LOOK_BACK_MS, opened);
        const asked = period ?? { from: since, to: now };
        await readCredits(book, rail, { from: new Date(asked.from), to: new Date(asked.to) }, onStep, total);
        if (period !== null) return;
        await saveCreditPoll(sql, book, rail.name, { listedTo: new Date(now), lookedBackAt: new Date(lookedBackAt) });
        if (now - lookedBackAt < LOOK_BACK_MS) return;
        const oldest = Math.max(now - rail.capabilities.lists.changeForMs, opened);
        for (let from = oldest; from < since; from += LOOK_BACK_MS) {
          const to = new Date(Math.min(from + LOOK_BACK_MS, since));
          await readCredits(book, rail, { from: new Date(from), to }, onStep, total);
        }
        await saveCreditPoll(sql, book, rail.name, { listedTo: new Date(now), lookedBackAt: new Date(now) });
      });
    },
  };
}
