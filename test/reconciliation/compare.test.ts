// What a run finds against what earlier runs found: a break is new once, gone when a run over its time misses it, and the
// same line three times is two breaks.
import { expect, test } from '@jest/globals';
import { type CountedBreak, compareBreaks } from '../../src/reconciliation/compare.ts';
import type { Break } from '../../src/reconciliation/match.ts';

const AT = new Date('2026-01-01T12:00:00Z');
const LATER = new Date('2026-01-03T12:00:00Z');

const found = (reference: string, more: Partial<Break> = {}): Break => ({
  kind: 'extra',
  line: 'sent',
  reference,
  ours: null,
  theirs: 1_000,
  at: AT,
  ...more,
});
const kept = (reference: string, more: Partial<CountedBreak & { goneAt: Date | null }> = {}) => ({
  ...found(reference),
  copy: 1,
  goneAt: null,
  ...more,
});

const names = ({ fresh, gone, back }: ReturnType<typeof compareBreaks>) => ({
  fresh: fresh.map(({ reference, copy }) => `${reference} ${copy}`),
  gone: gone.map(({ reference, copy }) => `${reference} ${copy}`),
  back: back.map(({ reference, copy }) => `${reference} ${copy}`),
});
const NOTHING = { fresh: [], gone: [], back: [] };

test('a break is new to the first run that finds it, and to no other', () => {
  expect(names(compareBreaks([found('a')], []))).toEqual({ ...NOTHING, fresh: ['a 1'] });
  expect(names(compareBreaks([found('a')], [kept('a')]))).toEqual(NOTHING);
});

test('a break is another one when its kind, its line, its reference or its time is', () => {
  const others = [
    found('a', { kind: 'status' }),
    found('a', { line: 'returned' }),
    found('b'),
    found('a', { at: LATER }),
  ];
  expect(names(compareBreaks(others, [kept('a')])).fresh).toHaveLength(others.length);
});

test('a break is the same one whatever the amounts are by now', () => {
  expect(names(compareBreaks([found('a', { theirs: 900 })], [kept('a')]))).toEqual(NOTHING);
});

test('the same line three times is two breaks, and a fourth is one more', () => {
  const twice = [found('a', { kind: 'duplicate' }), found('a', { kind: 'duplicate' })];
  const first = compareBreaks(twice, []);
  expect(names(first)).toEqual({ ...NOTHING, fresh: ['a 1', 'a 2'] });
  const keeps = first.fresh.map((one) => ({ ...one, goneAt: null }));
  expect(names(compareBreaks(twice, keeps))).toEqual(NOTHING);
  expect(names(compareBreaks([...twice, found('a', { kind: 'duplicate' })], keeps))).toEqual({
    ...NOTHING,
    fresh: ['a 3'],
  });
});

test('a break that a run over its time does not find is gone, once, and may be there again', () => {
  expect(names(compareBreaks([], [kept('a')]))).toEqual({ ...NOTHING, gone: ['a 1'] });
  expect(names(compareBreaks([], [kept('a', { goneAt: LATER })]))).toEqual(NOTHING);
  expect(names(compareBreaks([found('a')], [kept('a', { goneAt: LATER })]))).toEqual({ ...NOTHING, back: ['a 1'] });
});
