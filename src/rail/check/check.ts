// What a check of a contract is: it tries one thing that the service relies on with the real provider, through the port
// only, and says what it found and what to do about it.
import type { CheckBench } from './bench.ts';

/**
 * `PASS`: it is as the service expects. `WARN`: the service copes with it. `FAIL`: the service must not use the
 * contract like this. `SKIP`: it was not tried, or there is nothing to try.
 */
export const VERDICTS = ['PASS', 'WARN', 'FAIL', 'SKIP'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Finding {
  verdict: Verdict;
  /** Without credentials and personal data: it is stored. */
  found: string;
  /** What to do; null after a PASS, and after a SKIP where the rail has nothing to try. */
  todo: string | null;
}

/** What a check found. */
export interface CheckResult extends Finding {
  id: string;
}

export interface RailCheck {
  id: string;
  /** The checks that it builds on: it is skipped unless each of them has passed, or warned. */
  after: readonly string[];
  /** It needs money, a person or an address: a run passes without it, and says that it was not tried. */
  optional?: true;
  /** A call that it does not expect to fail may throw. */
  run: (bench: CheckBench) => Promise<Finding>;
}

export const pass = (found: string): Finding => ({ verdict: 'PASS', found, todo: null });
export const warn = (found: string, todo: string): Finding => ({ verdict: 'WARN', found, todo });
export const fail = (found: string, todo: string): Finding => ({ verdict: 'FAIL', found, todo });
export const skip = (found: string, todo: string): Finding => ({ verdict: 'SKIP', found, todo });
/** The rail does not offer it, so that nothing relies on it. */
export const notOffered = (found: string): Finding => ({ verdict: 'SKIP', found, todo: null });
