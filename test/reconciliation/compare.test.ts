// What a run finds against what earlier runs found: a break is new once, cleared when a run over its time misses it, and the
// same line three times is two breaks.
import { expect, test } from '@jest/globals';
import { compareBreaks, type NumberedBreak } from '../../src/reconciliation/compare.ts';
import type { Break } from '../../src/reconciliation/match.ts';

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
const kept = (reference: string, more: Partial<NumberedBreak & { clearedAt: Date | null }> = {}) => ({
  ...found(reference),
  occurrence: 1,
  clearedAt: null,
  ...more,
});

const names = ({ opened, cleared, reopened }: ReturnType<typeof compareBreaks>) => ({
  opened: opened.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
  cleared: cleared.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
  reopened: reopened.map(({ reference, occurrence }) => `${reference} ${occurrence}`),
});
const NOTHING = { opened: [], cleared: [], reopened: [] };

test('a break is new to the first run that finds it, and to no other', () => {
  expect(names(compareBreaks([found('a')], []))).toEqual({ ...NOTHING, opened: ['a 1'] });
  expect(names(compareBreaks([found('a')], [kept('a')]))).toEqual(NOTHING);
});

test('a break is another one when its kind, its line, its reference or its time is', () => {
  const others = [
    found('a', { kind: 'status' }),
    found('a', { line: 'returned' }),
    found('b'),
    found('a', { at: LATER }),
  ];
  expect(names(compareBreaks(others, [kept('a')])).opened).toHaveLength(others.length);
});

test('a break is the same one whatever the amounts are by now', () => {
  expect(names(compareBreaks([found('a', { statementAmount: 900 })], [kept('a')]))).toEqual(NOTHING);
});

test('the same line three times is two breaks, and a fourth is one more', () => {
  const twice = [found('a', { kind: 'duplicate' }), found('a', { kind: 'duplicate' })];
  const first = compareBreaks(twice, []);
  expect(names(first)).toEqual({ ...NOTHING, opened: ['a 1', 'a 2'] });
  const keeps = first.opened.map((one) => ({ ...one, clearedAt: null }));
  expect(names(compareBreaks(twice, keeps))).toEqual(NOTHING);
  expect(names(compareBreaks([...twice, found('a', { kind: 'duplicate' })], keeps))).toEqual({
    ...NOTHING,
    opened: ['a 3'],
  });
});

test('a break that a run over its time does not find is cleared, once, and may be there again', () => {
  expect(names(compareBreaks([], [kept('a')]))).toEqual({ ...NOTHING, cleared: ['a 1'] });
  expect(names(compareBreaks([], [kept('a', { clearedAt: LATER })]))).toEqual(NOTHING);
  expect(names(compareBreaks([found('a')], [kept('a', { clearedAt: LATER })]))).toEqual({
    ...NOTHING,
    reopened: ['a 1'],
  });
});
