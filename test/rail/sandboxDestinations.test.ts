// Destination accounts of the sandbox bank: the table of presets, and the generated names.
import { describe, expect, test } from '@jest/globals';
import { BANKS } from '../../src/rail/sandbox/banks.ts';
import { destinationOf } from '../../src/rail/sandbox/destinations.ts';

const defaultOf = (accountNumber: string) => destinationOf(accountNumber, null, null);

describe('generated account names', () => {
  // Integrators use these in their own tests, so a change would break those.
  test.each([
    ['0123456789', 'DANJUMA CHIDI'],
    ['0000000000', 'ABUBAKAR SADE'],
    ['2087654321', 'WILLIAMS FOLAKE'],
  ])('the account %s has the name %s in every release', (accountNumber, name) => {
    expect(defaultOf(accountNumber)).toEqual({ behaviour: 'complete', name });
  });

  test('generated names differ between account numbers, so that a mistyped number is noticed', () => {
    const names = Array.from({ length: 1_000 }, (_, number) => defaultOf(String(number).padStart(10, '0')).name);
    expect(new Set(names).size).toBeGreaterThan(400);
    for (const name of names) expect(name).toMatch(/^[A-Z]+ [A-Z]+$/);
  });
});

test.each([
  ['9999999001', 'reject', expect.any(String)],
  ['9999999002', 'return', expect.any(String)],
  ['9999999003', 'hold', expect.any(String)],
  ['9999999004', 'timeout_delivered', expect.any(String)],
  ['9999999005', 'timeout_lost', expect.any(String)],
  ['9999999006', 'reject', null],
  ['9999999007', 'complete', 'SOMEBODY ELSE'],
  ['9999999008', 'unavailable', expect.any(String)],
  ['9999999009', 'complete', expect.any(String)],
] as const)('the preset account %s has the behaviour %s and the name %s', (accountNumber, behaviour, name) => {
  expect(defaultOf(accountNumber)).toEqual({ behaviour, name });
});

describe('destinations configured by a customer', () => {
  test('a configured destination takes precedence over a preset, including its name', () => {
    const choice = { behaviour: 'complete', name: 'ADA OBI' } as const;
    expect(destinationOf('9999999001', choice, null)).toEqual(choice);
  });

  test('a destination configured without a name keeps its default name', () => {
    const choice = { behaviour: 'hold', name: null } as const;
    expect(destinationOf('0123456789', choice, null).name).toBe(defaultOf('0123456789').name);
    expect(destinationOf('6000000001', choice, 'Ada Obi').name).toBe('Ada Obi');
    expect(destinationOf('9999999007', choice, null).name).toBe('SOMEBODY ELSE');
    expect(destinationOf('9999999006', choice, null).name).toEqual(expect.any(String));
  });
});

test('an account issued by the sandbox bank has its holder as its name', () => {
  expect(destinationOf('6000000001', null, 'Ada Obi')).toEqual({ behaviour: 'complete', name: 'Ada Obi' });
});

test('bank codes are unique and well-formed, and the list of banks is sorted by name', () => {
  expect(new Set(BANKS.map(({ code }) => code)).size).toBe(BANKS.length);
  for (const { code } of BANKS) expect(code).toMatch(/^[0-9]{3,6}$/);
  const names = BANKS.map(({ name }) => name);
  expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
});
