// Kobo to naira text and back: every amount survives, and a text that is not an exact amount is null.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { koboOf, nairaDecimal } from '../../src/rail/fields.ts';

const anyAmount = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

test('every amount survives the way to text and back', () => {
  fc.assert(fc.property(anyAmount, (amount) => koboOf(nairaDecimal(amount)) === amount));
  expect([0, 1, 99, 100, 202_037, Number.MAX_SAFE_INTEGER].map(nairaDecimal)).toEqual([
    '0.00',
    '0.01',
    '0.99',
    '1.00',
    '2020.37',
    '90071992547409.91',
  ]);
});

test.each([
  ['20', 2_000],
  ['20.5', 2_050],
  ['20.50', 2_050],
  ['20.5000', 2_050],
  ['0020.00', 2_000],
  ['0', 0],
  ['90071992547409.91', Number.MAX_SAFE_INTEGER],
])('%s naira are read', (text, amount) => expect(koboOf(text)).toBe(amount));

test.each([
  ['20.505', 'more than two decimals'],
  ['1.005', 'more than two decimals'],
  ['1e3', 'an exponent'],
  ['-20.00', 'a sign'],
  ['+20', 'a sign'],
  ['1,000.00', 'a separator'],
  ['NaN', 'no number'],
  ['', 'no digits'],
  ['.50', 'no naira'],
  ['20.', 'no decimals'],
  [' 20', 'a space'],
  ['0x10', 'another base'],
  ['20.00\n', 'a line break'],
  ['90071992547409.92', 'beyond the largest safe integer'],
  ['99999999999999999999', 'beyond the largest safe integer'],
])('%j is not read: %s', (text) => expect(koboOf(text)).toBeNull());

test.each([-1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1])('%s is not an amount that can be written', (amount) =>
  expect(() => nairaDecimal(amount)).toThrow(RangeError),
);
