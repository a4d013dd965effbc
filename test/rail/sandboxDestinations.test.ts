// Who the sandbox bank finds behind an account number: a table of the presets, and names that never change.
import { describe, expect, test } from '@jest/globals';
import { BANKS } from '../../src/rail/sandbox/banks.ts';
import { destinationOf } from '../../src/rail/sandbox/destinations.ts';

const usual = (accountNumber: string) => destinationOf(accountNumber, null, null);

describe('the name made from a number', () => {
  // Integrators write these into their own tests: a release that changes them breaks those.
  test.each([
    ['0123456789', 'DANJUMA CHIDI'],
    ['0000000000', 'ABUBAKAR SADE'],
    ['2087654321', 'WILLIAMS FOLAKE'],
  ])('%s is %s, in every release', (accountNumber, name) => {
    expect(usual(accountNumber)).toEqual({ behaviour: 'complete', name });
  });

  test('differs between numbers, so that a mistyped number is noticed', () => {
    const names = Array.from({ length: 1_000 }, (_, number) => usual(String(number).padStart(10, '0')).name);
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
] as const)('%s is set to %s and has the name %s', (accountNumber, behaviour, name) => {
  expect(usual(accountNumber)).toEqual({ behaviour, name });
});

describe('what a customer chose', () => {
  test('goes before the preset, the name too', () => {
    const choice = { behaviour: 'complete', name: 'ADA OBI' } as const;
    expect(destinationOf('9999999001', choice, null)).toEqual(choice);
  });

  test('without a name leaves the name that the account would have', () => {
    const choice = { behaviour: 'hold', name: null } as const;
    expect(destinationOf('0123456789', choice, null).name).toBe(usual('0123456789').name);
    expect(destinationOf('6000000001', choice, 'Ada Obi').name).toBe('Ada Obi');
    expect(destinationOf('9999999007', choice, null).name).toBe('SOMEBODY ELSE');
    expect(destinationOf('9999999006', choice, null).name).toEqual(expect.any(String));
  });
});

test('an account that the sandbox bank gave out has its holder as its name', () => {
  expect(destinationOf('6000000001', null, 'Ada Obi')).toEqual({ behaviour: 'complete', name: 'Ada Obi' });
});

test('every bank has a code of its own in the form that requests take, and the list is in the order of the names', () => {
  expect(new Set(BANKS.map(({ code }) => code)).size).toBe(BANKS.length);
  for (const { code } of BANKS) expect(code).toMatch(/^[0-9]{3,6}$/);
  const names = BANKS.map(({ name }) => name);
  expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
});
