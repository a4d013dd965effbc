// Work on every book with a rail. A failing book delays no other; a retry continues after the last one.
import { activityInfo, heartbeat } from '@temporalio/activity';
import { AttemptOverError, requireTimeLeft } from '../concurrency/attempt.ts';
import { isOutage } from '../database/errors.ts';
import { type Book, ENVIRONMENTS } from '../money.ts';
import type { BankRail } from '../rail/port.ts';
import { listBooks } from '../reconciliation/progress.ts';
import type { ActivityDependencies } from './dependencies.ts';

/**
 * `total`: the sums of the run so far (`failed`: books whose bank failed). `onStep` reports within a book that the run
 * is alive, and throws when it must end.
 */
export async function eachBook<Sums extends { books: number; failed: number }>(
  { sql, rails, log }: Pick<ActivityDependencies, 'sql' | 'rails' | 'log'>,
  start: Sums,
  work: (book: Book, rail: BankRail, onStep: () => void, total: Sums) => Promise<void>,
): Promise<Sums> {
  const beat: { after: Book | null; total: Sums } = activityInfo().heartbeatDetails ?? { after: null, total: start };
  const onStep = (): void => {
    requireTimeLeft(0);
    heartbeat(beat);
  };
  for (const environment of ENVIRONMENTS) {
    const { after } = beat;
    if (after !== null && ENVIRONMENTS.indexOf(after.environment) > ENVIRONMENTS.indexOf(environment)) continue;
    if ((await rails.names(environment)).length === 0) continue;
    const resumesAfter = after?.environment === environment ? after.organisationId : null;
    for (const book of await listBooks(sql, environment, resumesAfter)) {
      onStep();
      let rail: BankRail | null = null;
      try {
        rail = await rails.of(book);
        if (rail === null) continue;
        await work(book, rail, onStep, beat.total);
      } catch (error) {
        // An outage of our database concerns every book, so the activity is retried.
        if (error instanceof AttemptOverError || isOutage(error)) throw error;
        beat.total.failed += 1;
        log.error(
          { ...book, rail: rail?.name, err: error },
          'a book could not be compared with its rail; retrying later',
        );
      }
      beat.total.books += 1;
      beat.after = book;
    }
  }
  heartbeat(beat);
  return beat.total;
}
