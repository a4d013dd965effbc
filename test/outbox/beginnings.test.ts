// The pace at which idle flows begin: exact while few begin together, levelled for each organisation when many do.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Beginnings } from '../../src/outbox/beginnings.ts';

const NOW = 1_000_000;
const AT = 1_800_000;
const PER_SECOND = 4;

const takeMany = (beginnings: Beginnings, count: number, organisation = 'a', at = AT): number[] =>
  Array.from({ length: count }, () => beginnings.take(organisation, at, NOW));

test('as many as fit begin when they may; the others follow, spread evenly', () => {
  const times = takeMany(new Beginnings(PER_SECOND), 60);
  expect(times.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => AT));
  expect(times.slice(20)).toEqual(Array.from({ length: 40 }, (_, number) => AT + 5_000 + number * 250));
});

test('an organisation does not wait for another', () => {
  const beginnings = new Beginnings(PER_SECOND);
  takeMany(beginnings, 100);
  expect(takeMany(beginnings, 1, 'b')).toEqual([AT]);
});

test('what has passed is forgotten, and a time that has passed begins at once', () => {
  const beginnings = new Beginnings(PER_SECOND);
  takeMany(beginnings, 20);
  expect(beginnings.take('a', AT, AT + 10_000)).toBe(AT);
});

test('never early, and never more in a slot than the pace', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 500 }), (offsets) => {
      const beginnings = new Beginnings(PER_SECOND);
      const slots = new Map<number, number>();
      for (const offset of offsets) {
        const time = beginnings.take('a', AT + offset, NOW);
        expect(time).toBeGreaterThanOrEqual(AT + offset);
        const slot = Math.floor(time / 5_000);
        slots.set(slot, (slots.get(slot) ?? 0) + 1);
      }
      expect(Math.max(0, ...slots.values())).toBeLessThanOrEqual(PER_SECOND * 5);
    }),
  );
});
