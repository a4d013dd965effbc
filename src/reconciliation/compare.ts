// What a run of reconciliation finds against what earlier runs found, as a pure function: which breaks are new, which are
// gone, and which are there again. Runs overlap and may be repeated, so a break is known by the line and not by the run.
import type { Break } from './match.ts';

/** A break told from others that are alike in all the rest. */
export interface CountedBreak extends Break {
  copy: number;
}

/** What the comparison needs to know of a break that is kept. */
type Kept = Pick<CountedBreak, 'kind' | 'line' | 'reference' | 'at' | 'copy'> & { goneAt: Date | null };

/** `kept`: all breaks that are kept of the period that the run looked at. */
export function compareBreaks<One extends Kept>(
  found: readonly Break[],
  kept: readonly One[],
): { fresh: CountedBreak[]; gone: One[]; back: One[] } {
  const seen = new Map<string, CountedBreak>();
  const copies = new Map<string, number>();
  for (const one of found) {
    const line = lineOf(one);
    const copy = (copies.get(line) ?? 0) + 1;
    copies.set(line, copy);
    seen.set(`${line} ${copy}`, { ...one, copy });
  }
  const known = new Set(kept.map(keyOf));
  return {
    fresh: [...seen].filter(([key]) => !known.has(key)).map(([, one]) => one),
    gone: kept.filter((one) => one.goneAt === null && !seen.has(keyOf(one))),
    back: kept.filter((one) => one.goneAt !== null && seen.has(keyOf(one))),
  };
}

const lineOf = ({ kind, line, reference, at }: Pick<Break, 'kind' | 'line' | 'reference' | 'at'>): string =>
  `${kind} ${line} ${at.toISOString()} ${reference}`;

const keyOf = (one: Kept): string => `${lineOf(one)} ${one.copy}`;
