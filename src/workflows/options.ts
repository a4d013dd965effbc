// How activities are called. An outage never fails a flow: they are repeated without end, ever more slowly.
import type { ActivityOptions } from '@temporalio/workflow';
import { STEP_MAX_MS } from '../concurrency/timeLimits.ts';

/**
 * For effects on money. As short as the calls of the rail allow, because a dead worker is noticed only when the time is up; and no
 * shorter, because the next attempt begins then, and must not send while a send of the last one may be in flight.
 */
export const MONEY_ACTIVITY: ActivityOptions = {
  startToCloseTimeout: STEP_MAX_MS,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
};
