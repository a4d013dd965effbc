// What a run of reconciliation finds against what earlier runs found, as a pure function: which breaks are new, which are
// gone, and which are there again. Runs overlap and may be repeated, so a break is known by the line and not by the run.
import type { Break } from './match.ts';

/** A break told from others that are alike in all the rest. */
export interface NumberedBreak extends Break {
  occurrence: number;
}

/** What the comparison needs to know of a break that is kept. */
type Kept = Pick<NumberedBreak, 'kind' | 'line' | 'reference' | 'at' | 'occurrence'> & { clearedAt: Date | null };

/** `kept`: all breaks that are kept of the period that the run looked at. */
export function compareBreaks<One extends Kept>(
  found: readonly Break[],
  kept: readonly One[],
): { opened: NumberedBreak[]; cleared: One[]; reopened: One[] } {
  const seen = new Map<string, NumberedBreak>();
  const occurrences = new Map<string, number>();
  for (const one of found) {
    const line = lineOf(one);
    const occurrence = (occurrences.get(line) ?? 0) + 1;
    occurrences.set(line, occurrence);
    seen.set(`${line} ${occurrence}`, { ...one, occurrence });
  }
  const known = new Set(kept.map(keyOf));
  return {
    opened: [...seen].filter(([key]) => !known.has(key)).map(([, one]) => one),
    cleared: kept.filter((one) => one.clearedAt === null && !seen.has(keyOf(one))),
    reopened: kept.filter((one) => one.clearedAt !== null && seen.has(keyOf(one))),
  };
}

const lineOf = ({ kind, line, reference, at }: Pick<Break, 'kind' | 'line' | 'reference' | 'at'>): string =>
  `${kind} ${line} ${at.toISOString()} ${reference}`;

const keyOf = (one: Kept): string => `${lineOf(one)} ${one.occurrence}`;
