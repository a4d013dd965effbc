// Matching a statement against the ledger: every seeded break is found, and no other.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type BankLine, keysOfLine, type LineKind, lineOfKey, nameOf } from '../../src/reconciliation/lines.ts';
import { matchStatement, type ResourceState, type Sides, sumOf } from '../../src/reconciliation/match.ts';

const AT = new Date('2026-01-01T12:00:00Z');
const line = (kind: LineKind, reference: string, amount = 1_000): BankLine => ({ kind, reference, amount, at: AT });

const match = (
  sides: Partial<Sides>,
  {
    state = 'ended',
    known = [],
    overdue = false,
  }: { state?: ResourceState; known?: BankLine[]; overdue?: boolean } = {},
) => {
  const { breaks, outstanding } = matchStatement(
    { statement: [], postings: [], ledger: [], ...sides },
    {
      stateOf: () => state,
      isKnownToRail: (one) => known.some((other) => nameOf(one) === nameOf(other)),
      isOverdue: () => overdue,
    },
  );
  return {
    breaks: breaks.map((one) => `${one.kind} ${one.line} ${one.reference}`).toSorted(),
    outstanding: outstanding.map(nameOf),
  };
};
const NONE = { breaks: [], outstanding: [] };

const SEEDS = [
  'none',
  'postedAnotherDay',
  'listedAnotherDay',
  'inProgress',
  'void',
  'cameBack',
  'unmatched_ledger',
  'unmatched_statement',
  'amount',
  'duplicate',
  'status',
] as const;
type Seed = (typeof SEEDS)[number];

/** The lines of one movement with this seed on all sides, and the break to be found. */
function seeded(seed: Seed, kind: LineKind, reference: string, amount: number) {
  const one = line(kind, reference, amount);
  const nothing: BankLine[] = [];
  const both = { statement: [one], postings: [one], ledger: [one], found: [] as string[], known: nothing };
  const found = [`${seed} ${kind} ${reference}`];
  switch (seed) {
    case 'none':
      return both;
    case 'postedAnotherDay': // found by its reference, not in the period
      return { ...both, ledger: [] };
    case 'listedAnotherDay':
      return { ...both, statement: [], postings: [], known: [one] };
    case 'unmatched_ledger':
      return { ...both, statement: [], postings: [], found };
    case 'inProgress':
      return { ...both, postings: [], ledger: [] };
    case 'unmatched_statement':
    case 'status':
      return { ...both, postings: [], ledger: [], found };
    case 'amount':
      return { ...both, statement: [{ ...one, amount: amount + 1 }], found };
    case 'duplicate':
      return { ...both, statement: [one, one], found };
    case 'void':
      return {
        ...both,
        statement: [line('credit', reference, amount), line('recalled', reference, amount)],
        postings: [],
        ledger: [],
      };
    case 'cameBack':
      return {
        ...both,
        statement: [line('sent', reference, amount), line('returned', reference, amount)],
        postings: [],
        ledger: [],
      };
  }
}

const STATES: Partial<Record<Seed, ResourceState>> = {
  inProgress: 'in_progress',
  void: 'void',
  unmatched_statement: 'unknown',
};

const movement = fc.record({
  // Nine in ten have no break.
  seed: fc.oneof({ weight: 9, arbitrary: fc.constant('none' as const) }, fc.constantFrom(...SEEDS)),
  // Of these each seed has its meaning: a status break of a lone return is a return before its posting.
  kind: fc.constantFrom<LineKind>('credit', 'sent'),
  amount: fc.integer({ min: 1, max: 1_000_000_000 }),
});

function expectExactly(movements: { seed: Seed; kind: LineKind; amount: number }[]): number {
  const all = movements.map(({ seed, kind, amount }, position) => seeded(seed, kind, `ref${position}`, amount));
  const known = new Set(all.flatMap((one) => one.known.map(nameOf)));
  const { breaks, outstanding } = matchStatement(
    {
      // The sides may have different orders.
      statement: all.flatMap(({ statement }) => statement).toReversed(),
      postings: all.flatMap(({ postings }) => postings),
      ledger: all.flatMap(({ ledger }) => ledger),
    },
    {
      stateOf: ({ reference }) => STATES[movements[Number(reference.slice(3))]?.seed ?? 'none'] ?? 'ended',
      isKnownToRail: (one) => known.has(nameOf(one)),
      isOverdue: () => false,
    },
  );
  const expected = all.flatMap(({ found }) => found).toSorted();
  expect(breaks.map((one) => `${one.kind} ${one.line} ${one.reference}`).toSorted()).toEqual(expected);
  expect(outstanding).toHaveLength(movements.filter(({ seed }) => seed === 'inProgress').length);
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
  expect(expectExactly(movements)).toBeGreaterThan(300);
});

test('a break has the amounts of both sides', () => {
  const sides = { statement: [line('sent', 'a', 900)], postings: [line('sent', 'a', 1_000)], ledger: [] };
  const answers = { stateOf: () => 'ended' as const, isKnownToRail: () => false, isOverdue: () => false };
  expect(matchStatement(sides, answers).breaks).toEqual([
    { kind: 'amount', line: 'sent', reference: 'a', ledgerAmount: 1_000, statementAmount: 900, at: AT },
  ]);
});

test('a line whose resource is in progress is outstanding, until it is overdue', () => {
  const sides = { statement: [line('sent', 'a')] };
  expect(match(sides, { state: 'in_progress' })).toEqual({ breaks: [], outstanding: ['sent a'] });
  expect(match(sides, { state: 'in_progress', overdue: true })).toEqual({
    breaks: ['status sent a'],
    outstanding: [],
  });
});

describe('a transfer that came back', () => {
  const [sent, returned] = [line('sent', 'a'), line('returned', 'a')];

  test('late meets its transfer, which was posted long ago', () => {
    expect(match({ statement: [returned], postings: [sent, returned] })).toEqual(NONE);
    expect(match({ statement: [returned], postings: [sent] }).breaks).toEqual(['status returned a']);
  });

  test('before it was posted is no break, on one statement or on two', () => {
    expect(match({ statement: [sent, returned] })).toEqual(NONE);
    expect(match({ statement: [returned] })).toEqual(NONE);
    expect(match({ statement: [sent] }, { known: [returned] })).toEqual(NONE);
    expect(match({ statement: [sent] }).breaks).toEqual(['status sent a']);
    expect(match({ statement: [sent] }, { known: [returned], overdue: true }).breaks).toEqual(['status sent a']);
  });

  test('after the bank confirmed and then denied it has no line, and is no break once it is undone', () => {
    expect(match({ ledger: [sent] }).breaks).toEqual(['unmatched_ledger sent a']);
    expect(match({ ledger: [sent], postings: [sent, returned] })).toEqual(NONE);
    expect(match({ ledger: [returned], postings: [sent, returned] })).toEqual(NONE);
    // The bank has paid it: what was returned is missing.
    const paid = { known: [sent] };
    expect(match({ ledger: [returned], postings: [sent, returned] }, paid).breaks).toEqual([
      'unmatched_ledger returned a',
    ]);
  });

  test('with another amount, or of an unknown resource, is a break', () => {
    expect(match({ statement: [sent, line('returned', 'a', 900)] }).breaks).toHaveLength(2);
    expect(match({ statement: [sent, returned] }, { state: 'unknown' }).breaks).toHaveLength(2);
  });
});

test('the business keys of a line name the line again, and those of other transactions name none', () => {
  for (const kind of ['credit', 'sent', 'returned', 'charge', 'settlement', 'interest'] as const) {
    for (const caseVersion of [undefined, 3]) {
      const keys = keysOfLine('rail', { kind, reference: 'ref' }, caseVersion);
      expect(keys.map((key) => lineOfKey('rail', key))).toEqual(keys.map(() => ({ kind, reference: 'ref' })));
    }
  }
  for (const key of ['credit/another/ref', 'svc_1_wth/hold', 'svc_1_trf/transfer', 'svc_1_adj/adjustment']) {
    expect(lineOfKey('rail', key)).toBeNull();
  }
});

test('the sum of lines is what they add to the balance at the bank', () => {
  const kinds = ['credit', 'returned', 'interest', 'sent', 'charge', 'settlement'] as const;
  expect(kinds.map((kind) => sumOf([line(kind, 'a', 5)]))).toEqual([5, 5, 5, -5, -5, -5]);
});

test.each([
  ['is in the balance until a statement has the recall', ['credit'], false, -1_000],
  ['is undone by the recall on the statement', ['credit', 'recalled'], false, 0],
  ['was undone by a recall that is on a later statement alone', ['recalled'], false, 0],
  ['is not waited for without end', ['credit'], true, 0],
] as const)('a credit that was recalled before it was posted %s', (_, kinds, overdue, inFlight) => {
  const { returning, breaks } = matchStatement(
    { statement: kinds.map((kind) => line(kind, 'session')), postings: [], ledger: [] },
    { stateOf: () => 'void', isKnownToRail: () => false, isOverdue: () => overdue },
  );
  expect([sumOf(returning), breaks]).toEqual([inFlight, []]);
});
