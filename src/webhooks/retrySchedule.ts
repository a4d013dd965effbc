// When a delivery is tried again: the configured gaps, each a little shorter or longer, so that deliveries that failed
// together in an outage of the receiver do not all come back at the same moment.

const JITTER = 0.1;

export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 - JITTER + 2 * JITTER * random()));

/** The gap before the next attempt, in milliseconds, after this many were made; null when they are spent. */
export function nextGapMs(attempts: number, gapsMs: readonly number[], random?: () => number): number | null {
  const gap = gapsMs[attempts - 1];
  return gap === undefined ? null : jittered(gap, random);
}
