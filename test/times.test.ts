// The reader of dates and times, against a calendar of its own: the lengths of months, and the clock of Lagos as the
// runtime's time zones have it.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dayAfter, dayOf, dayStart, LAGOS_OFFSET_MS, monthAfter, readDay, readTime } from '../src/times.ts';

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const lengthOf = (year: number, month: number): number =>
  [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
const two = (value: number): string => String(value).padStart(2, '0');

const year = fc.oneof(fc.integer({ min: 1970, max: 2200 }), fc.integer({ min: 0, max: 9999 }));
const fourDigits = (value: number): string => String(value).padStart(4, '0');
/** By a count of days, as `Date.UTC` has it of years from 100 on. */
const utc = (y: number, m: number, d: number): number => Date.UTC(y + 400, m - 1, d) - 146_097 * 86_400_000;
const parts = fc.tuple(year, fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 32 }));
const clock = fc.tuple(...[26, 61, 61].map((max) => fc.integer({ min: 0, max })));
const ZONES: [string, number | null][] = [
  ['', LAGOS_OFFSET_MS],
  ['Z', 0],
  ['+01:00', 3_600_000],
  ['-0330', -12_600_000],
  ['+14', 50_400_000],
  ['+15:00', null],
  ['+01:60', null],
];

describe('a day', () => {
  test('is read exactly if the calendar has it', () => {
    fc.assert(
      fc.property(parts, fc.constantFrom('', 'Z', '+01:00'), ([y, m, d], zone) => {
        const text = `${fourDigits(y)}-${two(m)}-${two(d)}`;
        expect(readDay(text + zone)).toBe(d >= 1 && d <= lengthOf(y, m) ? text : null);
      }),
    );
  });

  test('starts and ends by the clock of Lagos', () => {
    const inLagos = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Africa/Lagos',
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1970, max: 2200 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 31 }),
        (y, m, d) => {
          fc.pre(d <= lengthOf(y, m));
          const day = `${y}-${two(m)}-${two(d)}`;
          expect(inLagos.format(dayStart(day))).toBe(`${day} 00:00:00`);
          const end = dayStart(dayAfter(day));
          expect(dayOf(new Date(end.getTime() - 1))).toBe(day);
          const [nextMonth, nextYear] = m === 12 ? [1, y + 1] : [m + 1, y];
          expect(monthAfter(day.slice(0, 7))).toBe(`${nextYear}-${two(nextMonth)}`);
        },
      ),
    );
  });

  test.each(['1', '2026', '2026-2-3', '01/02/2026', '20260203', '2026-02-03T10:00', 'today', ''])(
    '%p is none',
    (text) => {
      expect(readDay(text)).toBeNull();
    },
  );
});

describe('a time', () => {
  test('is read exactly if its day, its hour and its zone exist', () => {
    fc.assert(
      fc.property(parts, clock, fc.constantFrom(...ZONES), fc.constantFrom('T', ' '), ([y, m, d], time, zone, gap) => {
        const [hour = 0, minute = 0, second = 0] = time;
        const [text, offset] = zone;
        const read = readTime(
          `${fourDigits(y)}-${two(m)}-${two(d)}${gap}${time.map(two).join(':')}${text}`,
          LAGOS_OFFSET_MS,
        );
        const exists = d >= 1 && d <= lengthOf(y, m) && hour < 24 && minute < 60 && second < 60 && offset !== null;
        const clock = ((hour * 60 + minute) * 60 + second) * 1_000;
        const expected = exists ? utc(y, m, d) + clock - offset : undefined;
        expect(read?.getTime()).toBe(expected);
      }),
    );
  });

  test.each([
    ['2026-11-25T00:30', '2026-11-24T23:30:00.000Z'],
    ['2026-11-25T00:30:00', '2026-11-24T23:30:00.000Z'],
    ['2026-11-25 00:30:00.1239', '2026-11-24T23:30:00.123Z'],
    ['2026-11-25T00:30:00,5Z', '2026-11-25T00:30:00.500Z'],
  ])('%s, in Lagos where it names no zone', (text, expected) => {
    expect(readTime(text, LAGOS_OFFSET_MS)?.toISOString()).toBe(expected);
  });

  test.each(['5', '2026-11-25', '01/02/2026 10:00', '2026-11-25T10', '2026-11-25T10:00:00 +01:00x', '25 Nov 2026'])(
    '%p is none',
    (text) => {
      expect(readTime(text, LAGOS_OFFSET_MS)).toBeNull();
    },
  );

  test('without a zone is refused where the reader names no clock', () => {
    expect(readTime('2026-11-25T10:00:00', null)).toBeNull();
  });
});
