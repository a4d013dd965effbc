// Comparison of account names, ignoring how they are written.
import { expect, test } from '@jest/globals';
import { isSameName } from '../../src/rail/accountNames.ts';

test.each([
  ['Ada Obi', 'ADA OBI', true],
  ['Obi, Ada', 'ada obi', true],
  ['Mrs. Ada Ngozi Obi', 'OBI ADA NGOZI', true],
  ['Adé Òjó', 'ADE OJO', true],
  ["O'Brien-Smith Jo", 'jo obrien smith', false],
  ["O'Brien-Smith Jo", 'JO O BRIEN SMITH', true],
  ['Ada Obi', 'Ada Ngozi Obi', false],
  ['Ada Obi', 'Ade Obi', false],
  ['', 'Ada Obi', false],
])('the names %s and %s are equal: %s', (given, resolved, expected) => {
  expect(isSameName(given, resolved)).toBe(expected);
});
