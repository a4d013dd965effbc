// Compares the breaks of a reconciliation run with those of earlier runs, as a pure function: which are new, cleared or
// reopened. Runs overlap and may be repeated, so a break is identified by its line and not by the run.
import type { Break } from './match.ts';

/** A break with a number that distinguishes it from otherwise equal breaks. */
export interface NumberedBreak extends Break {
  occurrence: number;
}

/** The fields of a stored break that the comparison reads. */
type Stored = Pick<NumberedBreak, 'kind' | 'line' | 'reference' | 'at' | 'occurrence'> & {
  clearedAt: Date | null;
  /** Of its case. */
  status: string;
};

/** `stored`: all stored breaks of the period of the run. */
export function compareBreaks<One extends Stored>(
  found: readonly Break[],
  stored: readonly One[],
): { opened: NumberedBreak[]; cleared: One[]; reopened: One[] } {
  const seen = new Map<string, NumberedBreak>();
  const occurrences = new Map<string, number>();
  for (const one of found) {
    const line = lineOf(one);
    const occurrence = (occurrences.get(line) ?? 0) + 1;
    occurrences.set(line, occurrence);
    seen.set(`${line} ${occurrence}`, { ...one, occurrence });
  }
  const known = new Set(stored.map(keyOf));
  return {
    opened: [...seen].filter(([key]) => !known.has(key)).map(([, one]) => one),
    // With one that a run has cleared, and ended before it closed the case.
    cleared: stored.filter((one) => (one.clearedAt === null || one.status === 'open') && !seen.has(keyOf(one))),
    reopened: stored.filter((one) => one.clearedAt !== null && seen.has(keyOf(one))),
  };
}

const lineOf = ({ kind, line, reference, at }: Pick<Break, 'kind' | 'line' | 'reference' | 'at'>): string =>
  `${kind} ${line} ${at.toISOString()} ${reference}`;

const keyOf = (one: Stored): string => `${lineOf(one)} ${one.occurrence}`;
