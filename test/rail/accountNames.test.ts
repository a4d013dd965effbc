// Comparison of account names, ignoring how they are written.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isSameName } from '../../src/rail/accountNames.ts';
import { NAMES } from './nigerianNames.ts';

test.each([
  ['Ada Obi', 'ADA OBI', true],
  ['Obi, Ada', 'ada obi', true],
  ['Mrs. Ada Ngozi Obi', 'OBI ADA NGOZI', true],
  ['Adé Òjó', 'ADE OJO', true],
  ['Ọlábísí Ṣóyínká', 'OLABISI SOYINKA', true],
  ['Chị́nọ́nso Ụ́zọ̀', 'CHINONSO UZO', true],
  ['Ɓala Ɗanladi', 'BALA DANLADI', true],
  ["Ya'u Ƙwairanga", 'YAU KWAIRANGA', true],
  ["O'Brien Ada", 'OBRIEN ADA', true],
  ['O’Brien Ada', "ADA O'BRIEN", true],
  ["O'Brien-Smith Jo", 'jo obrien smith', true],
  ["O'Brien-Smith Jo", 'JO O BRIEN SMITH', true],
  ['Obi-Eze Ada', 'OBIEZE ADA', true],
  ['A.B. Obi', 'AB OBI', true],
  ['Acme Ltd.', 'ACME LIMITED', true],
  ['Acme Foods Nig. Ltd', 'ACME FOODS NIGERIA LIMITED', true],
  ['Bello & Sons', 'BELLO AND SONS', true],
  ['Mallam Bala Musa', 'BALA MUSA', true],
  ['Hajia Amina Bello', 'AMINA BELLO', true],
  ['Barr. Tunde Cole', 'TUNDE COLE', true],
  ['Chief', 'CHIEF', true],
  ['Chief', 'Pastor', false],
  ['Rev Sir', '---', false],
  ['---', '...', false],
  ['Ada Obi', 'Ada Ngozi Obi', false],
  ['Ada Obi', 'Ade Obi', false],
  ['Acme Ltd', 'Acme Plc', false],
  ['', 'Ada Obi', false],
])('the names %s and %s are equal: %s', (given, resolved, expected) => {
  expect(isSameName(given, resolved)).toBe(expected);
  expect(isSameName(resolved, given)).toBe(expected);
});

test('each of 200 names, written with its marks or decomposed, is what the bank stores, and no other of them', () => {
  expect(NAMES.length).toBeGreaterThan(200);
  const wrong = NAMES.flatMap(([written, stored]) =>
    [
      ...['NFC', 'NFD'].filter((form) => !isSameName(`Ada ${written.normalize(form)}`, `${stored} ADA`)),
      ...NAMES.filter(([, other]) => other !== stored && isSameName(`Ada ${written}`, `${other} ADA`)).map(
        ([, name]) => name,
      ),
    ].map((what) => `${written} ${stored} ${what}`),
  );
  expect(wrong).toEqual([]);
});

test('however a name is written, and in whatever order, it is the name that the bank stores, and no other', () => {
  const separators = fc.constantFrom(' ', ', ', '  ', ' / ');
  const titles = fc.constantFrom('', 'Mr. ', 'Alhaji ', 'DR ');
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(NAMES.length - 1), { minLength: 2, maxLength: 4 }),
      separators,
      titles,
      fc.boolean(),
      (chosen, separator, title, isNfc) => {
        const given = title + chosen.map((index) => NAMES[index]?.[0]).join(separator);
        const stored = chosen.toReversed().map((index) => NAMES[index]?.[1]);
        const text = given.normalize(isNfc ? 'NFC' : 'NFD');
        expect(isSameName(text, stored.join(' '))).toBe(true);
        expect(isSameName(text, stored.slice(1).join(' '))).toBe(false);
      },
    ),
  );
});
