// Reconciliation, started daily by its Schedule and by `reconciliation run`.
//
//   1. Compare every book with its rail's statement, from where it is reconciled to until now, and open a review case
//      for each new break.   Compensation: none, it repairs nothing.
//   2. The bank of a book fails: again after a pause, which doubles. After some hours the next run continues from the
//      same place.
//      If there are breaks, the flow sets Attention to `reconciliation_breaks`, and completes.
import { proxyActivities, setCurrentDetails, sleep, upsertSearchAttributes } from '@temporalio/workflow';
import type { MaintenanceActivities, Period, Reconciled } from '../maintenance/messages.ts';
import { ATTENTION } from '../searchAttributes.ts';

const { reconcileBooks } = proxyActivities<MaintenanceActivities>({
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '5 minutes',
  retry: { initialInterval: '10 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
});

const FIRST_PAUSE_MS = 10 * 60_000;
/** Ten minutes doubled to more than ten hours in total: the run ends before the next day's. */
const RETRIES_MAX = 5;

/** `null`: as by the Schedule, but once: an operator waits for the result, as with a period. */
export async function reconciliation(period?: Period | null): Promise<Reconciled> {
  let total = await reconcileBooks(period ?? null);
  for (let retry = 0; period === undefined && total.failed > 0 && retry < RETRIES_MAX; retry += 1) {
    show(total, `The bank of ${total.failed} books failed; they are compared again later.`);
    await sleep(FIRST_PAUSE_MS * 2 ** retry, { summary: 'until the failed books are compared again' });
    const { failed, lines, breaks, opened } = await reconcileBooks(null);
    total = {
      ...total,
      failed,
      lines: total.lines + lines,
      breaks: total.breaks + breaks,
      opened: total.opened + opened,
    };
  }
  if (total.breaks > 0) upsertSearchAttributes([{ key: ATTENTION, value: 'reconciliation_breaks' }]);
  show(total, total.failed > 0 ? `The bank of ${total.failed} books failed; the next run continues there.` : '');
  return total;
}

function show({ breaks, books, lines, opened }: Reconciled, more: string): void {
  setCurrentDetails(
    `**${breaks} breaks** in ${books} books and ${lines} statement lines; ${opened} of them are new, each with a ` +
      `review case. Show them with \`npm run cli -- reconciliation show\`.\n\n${more}`.trimEnd(),
  );
}
