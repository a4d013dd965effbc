// The polling for credits whose callback was lost, started every five minutes by its Schedule.
//
//   1. Ask the rail of every book for its credits, and take in the unknown ones.   Compensation: none; a credit is
//      taken in once, by its session id.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { CreditPeriod, CreditPollingActivities, CreditsPolled } from './messages.ts';

const { pollCredits } = proxyActivities<CreditPollingActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** With a period when an operator asks for it. */
export async function creditPolling(period?: CreditPeriod | null): Promise<CreditsPolled> {
  const result = await pollCredits(period ?? null);
  const { books, failed, recovered } = result;
  setCurrentDetails(`**${recovered} credits** taken in that no callback told; ${failed} of ${books} banks failed.`);
  return result;
}
