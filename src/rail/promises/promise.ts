// What a promise of a rail is: one thing that the service relies on, tried through the port only. `rail check` tries
// those that a real provider allows, and says what to do about each; the tests of an adapter (test/rail/promises/) try
// more with a fake.
import type { RailHarness } from './harness.ts';

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

/** What was found about a promise. */
export type PromiseResult = Finding & { id: string };

/**
 * `account`: an account of the operator's own, for name enquiries. `money`: leave to send some of it there. `payer`:
 * a person who pays into account numbers. `bvn`: that of a person who agreed. `trace`: an earlier promise has moved
 * money. `contract`: credentials with a provider.
 */
export type Need = 'account' | 'money' | 'payer' | 'bvn' | 'trace' | 'contract';

export interface RailPromise {
  id: string;
  needs: readonly Need[];
  /** The promises that it builds on: it is skipped unless each of them has passed, or warned. */
  after: readonly string[];
  /** A call that it does not expect to fail may throw. */
  run: (harness: RailHarness) => Promise<Finding> | Finding;
}

/** Of these a run of `rail check` passes without them, and says that they were not tried. */
const OPTIONAL: readonly Need[] = ['money', 'payer', 'bvn', 'trace'];
export const isOptional = ({ needs }: RailPromise): boolean => needs.some((need) => OPTIONAL.includes(need));

export const pass = (found: string): Finding => ({ verdict: 'PASS', found, todo: null });
export const warn = (found: string, todo: string): Finding => ({ verdict: 'WARN', found, todo });
export const fail = (found: string, todo: string): Finding => ({ verdict: 'FAIL', found, todo });
/** A fault of the adapter, or of the provider. `otherwise`: what would happen. */
export const fault = (found: string, otherwise?: string): Finding =>
  fail(found, `Report this with the stored exchanges${otherwise === undefined ? '' : `: ${otherwise}`}.`);
export const skip = (found: string, todo: string): Finding => ({ verdict: 'SKIP', found, todo });
/** The rail does not offer it, so that nothing relies on it. */
export const notOffered = (found: string): Finding => ({ verdict: 'SKIP', found, todo: null });
