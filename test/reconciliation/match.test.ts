// Matching a statement against the ledger: every seeded break is found, and no other.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Break, type Line, type LineKind, matchStatement } from '../../src/reconciliation/match.ts';

const AT = new Date('2026-01-01T12:00:00Z');
const line = (kind: LineKind, reference: string, amount = 1_000): Line => ({ kind, reference, amount, at: AT });
const short = (breaks: Break[]) => breaks.map((one) => `${one.kind} ${one.line} ${one.reference}`).toSorted();

const SEEDS = ['none', 'unmatched_ledger', 'unmatched_statement', 'amount', 'duplicate', 'status', 'cameBack'] as const;

/** The lines of both sides for one movement with this seeded break, and the breaks to be found. */
function seeded(seed: (typeof SEEDS)[number], kind: LineKind, reference: string, amount: number) {
  const one = line(kind, reference, amount);
  const found = (breakKind: string) => [`${breakKind} ${kind} ${reference}`];
  switch (seed) {
    case 'none':
      return { statement: [one], ledger: [one], found: [] };
    case 'unmatched_ledger':
      return { statement: [], ledger: [one], found: found('unmatched_ledger') };
    case 'unmatched_statement':
    case 'status':
      return { statement: [one], ledger: [], found: found(seed) };
    case 'amount':
      return { statement: [{ ...one, amount: amount + 1 }], ledger: [one], found: found('amount') };
    case 'duplicate':
      return { statement: [one, one], ledger: [one], found: found('duplicate') };
    case 'cameBack':
      return {
        statement: [line('sent', reference, amount), line('returned', reference, amount)],
        ledger: [],
        found: [],
      };
  }
}

const movement = fc.record({
  // Nine in ten have no break.
  seed: fc.oneof({ weight: 9, arbitrary: fc.constant('none' as const) }, fc.constantFrom(...SEEDS)),
  kind: fc.constantFrom<LineKind>('credit', 'sent', 'returned'),
  amount: fc.integer({ min: 1, max: 1_000_000_000 }),
});

function expectExactly(movements: { seed: (typeof SEEDS)[number]; kind: LineKind; amount: number }[]): number {
  const all = movements.map(({ seed, kind, amount }, position) => ({
    seed,
    ...seeded(seed, kind, `ref${position}`, amount),
  }));
  const known = new Set(
    all.flatMap(({ seed }, position) => (seed === 'unmatched_statement' ? [] : [`ref${position}`])),
  );
  const breaks = matchStatement(
    // The two sides may have different orders.
    all.flatMap(({ statement }) => statement).toReversed(),
    all.flatMap(({ ledger }) => ledger),
    (_kind, reference) => known.has(reference),
  );
  const expected = all.flatMap(({ found }) => found).toSorted();
  expect(short(breaks)).toEqual(expected);
  return expected.length;
}

test('matching finds every seeded break and no other in random statements', () => {
  const holds = fc.property(fc.array(movement, { maxLength: 60 }), (movements) => void expectExactly(movements));
  expect(() => fc.assert(holds)).not.toThrow();
});

test('matching finds every seeded break and no other among 10,000 lines', () => {
  const [movements] = fc.sample(fc.array(movement, { minLength: 10_000, maxLength: 10_000, size: 'max' }), {
    seed: 21,
    numRuns: 1,
  }) as [Parameters<typeof expectExactly>[0]];
  expect(expectExactly(movements)).toBeGreaterThan(500);
});

test('a break has the amounts of both sides', () => {
  expect(matchStatement([line('sent', 'a', 900)], [line('sent', 'a', 1_000)], () => true)).toEqual([
    { kind: 'amount', line: 'sent', reference: 'a', ledgerAmount: 1_000, statementAmount: 900, at: AT },
  ]);
});

test('a return that is not posted is a status break, although the transfer itself matches', () => {
  const sent = line('sent', 'a');
  expect(short(matchStatement([sent, line('returned', 'a')], [sent], () => true))).toEqual(['status returned a']);
});
