// Asks the rails for the credits that they received, so that a credit whose callback was lost arrives within minutes.
import { findPolledTo, savePolledTo } from '../reconciliation/progress.ts';
import { findUnknownSessions } from '../resources/inboundCredits/queries.ts';
import { receiveCredit } from '../resources/inboundCredits/receive.ts';
import { creditsRecovered } from '../telemetry/metrics.ts';
import type { CreditPollingActivities, CreditsPolled } from '../workflows/creditPolling/messages.ts';
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
): CreditPollingActivities {
  const { sql } = dependencies;
  return {
    async pollCredits(): Promise<CreditsPolled> {
      const start: CreditsPolled = { books: 0, failed: 0, recovered: 0 };
      return await eachBook(dependencies, start, async (book, rail, onStep, total) => {
        const now = Date.now();
        const polledTo = (await findPolledTo(sql, book, rail.name))?.getTime() ?? 0;
        const from = new Date(Math.max(polledTo - LISTED_AFTER_MS, now - LOOK_BACK_MS));
        for (let cursor: string | null = null; ; ) {
          const page = await rail.listInboundCredits({ organisationId: book.organisationId, from, cursor });
          const due = page.credits.filter(({ receivedAt }) => receivedAt.getTime() < now - CALLBACK_DUE_AFTER_MS);
          const sessions = due.map(({ sessionId }) => sessionId);
          const unknown = await findUnknownSessions(sql, book, rail.name, sessions);
          for (const report of due.filter(({ sessionId }) => unknown.has(sessionId))) {
            if (!(await receiveCredit(dependencies, book, rail.name, report))) continue;
            creditsRecovered.inc({ rail: rail.name });
            total.recovered += 1;
          }
          onStep();
          cursor = page.nextCursor;
          if (cursor === null) break;
        }
        await savePolledTo(sql, book, rail.name, new Date(now));
      });
    },
  };
}
