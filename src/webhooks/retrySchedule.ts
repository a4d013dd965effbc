// The retry schedule of deliveries: the configured gaps with 10 % jitter, so that deliveries that failed together in an
// outage of the receiver are not all retried at the same moment.

const JITTER = 0.1;

export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 - JITTER + 2 * JITTER * random()));

/** Returns the gap in milliseconds before the next attempt, after `attempts` were made; null when none is left. */
export function nextGapMs(attempts: number, gapsMs: readonly number[], random?: () => number): number | null {
  const gap = gapsMs[attempts - 1];
  return gap === undefined ? null : jittered(gap, random);
}
