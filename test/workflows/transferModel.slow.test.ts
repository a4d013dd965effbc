// Nothing is given back that the bank pays: the decisions of a transfer against a model of a bank, by ten thousand
// random schedules for the capabilities of every rail, and for those that a rail may declare. A failure prints the seed
// and the schedule; SCHEDULES_SEED repeats a run.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PROVIDERS } from '../../src/rail/providers.ts';
import { sandboxCapabilities } from '../../src/rail/sandbox/capabilities.ts';
import type { UnknownLimits } from '../../src/workflows/bankTransfer/decide.ts';
import { type End, limitsOf, runTransfer, schedules } from './transferModel.ts';

const SANDBOX = sandboxCapabilities({ callLimitMs: 5_000, notVisibleForMs: 7_000 });
const RAILS = [...PROVIDERS, { name: 'sandbox', capabilities: SANDBOX }].map(
  ({ name, capabilities }) => [name, fc.constant<UnknownLimits>(capabilities.transfers)] as const,
);
/** The least is the limit of a call (src/rail/guarded.ts). */
const ANY = fc.record({ notVisibleForMs: fc.integer({ min: 7_000, max: 3_600_000 }), unknownIsFinal: fc.boolean() });
const RUNS = 10_000;
const SEED = Number(process.env.SCHEDULES_SEED ?? Date.now() % 2 ** 31);

/** What is wrong with an end; null: nothing. `doubled`: paid and given back. `open`: after two days. */
function wrongIn({ state, isPaid }: End): 'doubled' | 'lost' | 'open' | null {
  if (state === 'processing') return 'open';
  if (isPaid) return state === 'completed' ? null : 'doubled';
  return state === 'completed' ? 'lost' : null;
}

test('of ten thousand random schedules for each rail, with outages of up to an hour, every transfer ends once', () => {
  const table = [...RAILS, ['any', ANY] as const].map(([rail, transfers]) => {
    const row = { rail, schedules: 0, doubled: 0, lost: 0, open: 0, paid: 0, givenBack: 0 };
    const property = fc.property(schedules, transfers, (schedule, capabilities) => {
      const end = runTransfer(schedule, limitsOf(capabilities));
      const wrong = wrongIn(end);
      row.schedules += 1;
      row[wrong ?? (end.isPaid ? 'paid' : 'givenBack')] += 1;
      expect(wrong).toBeNull();
    });
    fc.assert(property, { numRuns: RUNS, seed: SEED });
    return row;
  });
  const asItMustBe = { schedules: RUNS, doubled: 0, lost: 0, open: 0 };
  expect(table).toMatchObject(['monnify', 'nomba', 'sandbox', 'any'].map((rail) => ({ rail, ...asItMustBe })));
  // Both ends are common, so that neither is proved by its absence.
  for (const { paid, givenBack } of table) expect(Math.min(paid, givenBack)).toBeGreaterThan(RUNS / 50);
});

test.each([
  ['a refusal is believed at once', { notVisibleForMs: 0, unknownIsFinal: false }],
  ['silence is final too early', { notVisibleForMs: 60_000, unknownIsFinal: true }],
])('the schedules find what is wrong where %s', (_name, transfers) => {
  const { failed } = fc.check(
    fc.property(schedules, (schedule) => wrongIn(runTransfer(schedule, limitsOf(transfers), 360_000)) !== 'doubled'),
    { numRuns: RUNS / 2, seed: SEED },
  );
  expect(failed).toBe(true);
});
