// How activities are called. An outage never fails a flow: they are repeated without end, ever more slowly.
import type { ActivityOptions } from '@temporalio/workflow';

/** For effects on money: short, because a repeat is safe and a dead worker is noticed only when the time is up. */
export const MONEY_ACTIVITY: ActivityOptions = {
  startToCloseTimeout: '15 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
};
