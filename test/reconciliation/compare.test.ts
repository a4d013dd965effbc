// The breaks of a run compared with those of earlier runs: a break is opened once, cleared when a run over its time
// does not find it, and a line that occurs three times is two breaks.
import { expect, test } from '@jest/globals';
import type { Break } from '../../src/reconciliation/match.ts';
import { compareBreaks, type NumberedBreak } from '../../src/reconciliation/match.ts';

const AT = new Date('2026-01-01T12:00:00Z');
const LATER = new Date('2026-01-03T12:00:00Z');

const found = (reference: string, more: Partial<Break> = {}): Break => ({
  kind: 'unmatched_statement',
  line: 'sent',
  reference,
  ledgerAmount: null,
  statementAmount: 1_000,
  at: AT,
  ...more,
});
const known = (reference: string, more: Partial<NumberedBreak & { clearedAt: Date | null; status: string }> = {}) => ({
  ...found(reference),
  occurrence: 1,
  clearedAt: null,
  status: 'open',
  ...more,
});

const names = ({ opened, cleared, reopened }: ReturnType<typeof compareBreaks>) => ({
  opened: opened.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
  cleared: cleared.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
  reopened: reopened.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
});
const NOTHING = { opened: [], cleared: [], reopened: [] };

test('a break is opened by the first run that finds it only', () => {
  expect(names(compareBreaks([found('a')], []))).toEqual({ ...NOTHING, opened: ['a 1'] });
  expect(names(compareBreaks([found('a')], [known('a')]))).toEqual(NOTHING);
});

test('breaks differ by kind, line, reference or time', () => {
  const others = [
    found('a', { kind: 'status' }),
    found('a', { line: 'returned' }),
    found('b'),
    found('a', { at: LATER }),
  ];
  expect(names(compareBreaks(others, [known('a')])).opened).toHaveLength(others.length);
});

test('a break stays the same when its amounts change', () => {
  expect(names(compareBreaks([found('a', { statementAmount: 900 })], [known('a')]))).toEqual(NOTHING);
});

test('a line that occurs three times is two breaks, and a fourth occurrence opens one more', () => {
  const twice = [found('a', { kind: 'duplicate' }), found('a', { kind: 'duplicate' })];
  const first = compareBreaks(twice, []);
  expect(names(first)).toEqual({ ...NOTHING, opened: ['a 1', 'a 2'] });
  const knownBreaks = first.opened.map((one) => ({ ...one, clearedAt: null, status: 'open' }));
  expect(names(compareBreaks(twice, knownBreaks))).toEqual(NOTHING);
  expect(names(compareBreaks([...twice, found('a', { kind: 'duplicate' })], knownBreaks))).toEqual({
    ...NOTHING,
    opened: ['a 3'],
  });
});

test('a break that a run over its time does not find is cleared once, and can reopen', () => {
  expect(names(compareBreaks([], [known('a')]))).toEqual({ ...NOTHING, cleared: ['a 1'] });
  expect(names(compareBreaks([], [known('a', { clearedAt: LATER, status: 'closed' })]))).toEqual(NOTHING);
  expect(names(compareBreaks([found('a')], [known('a', { clearedAt: LATER })]))).toEqual({
    ...NOTHING,
    reopened: ['a 1'],
  });
});
