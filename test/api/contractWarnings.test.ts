// Warnings about contracts whose last check does not vouch for them.
import { expect, test } from '@jest/globals';
import { checkWarnings } from '../../src/api/contractWarnings.ts';

const checked = (passed: boolean | null, adapterVersion: string | null = '1', untried: string[] | null = []) => ({
  rail: 'monnify',
  adapterVersion,
  passed,
  untried,
});

test.each([
  [
    'never checked',
    checked(null, null),
    /was never checked with these credentials: npm run cli -- rail check monnify$/,
  ],
  ['failed', checked(false), /failed its last check/],
  ['checked without a transfer', checked(true, '1', ['transfer.ok']), /without a transfer: .* --yes-move-money$/],
  ['checked with another version', checked(true, '0'), /another version of its adapter/],
])('%s: a warning', (_case, contract, warning) => {
  expect(checkWarnings(contract, '1')).toEqual([expect.stringMatching(warning)]);
});

test('a check of this version that passed is no warning; a rail without an adapter is one', () => {
  expect(checkWarnings(checked(true), '1')).toEqual([]);
  expect(checkWarnings(checked(true, '1', ['account.permanent']), '1')).toEqual([]);
  expect(checkWarnings(checked(true), null)).toEqual([expect.stringMatching(/no adapter for the rail monnify/)]);
});
