// Warnings about contracts whose last check does not vouch for them.
import { expect, test } from '@jest/globals';
import { checkWarnings } from '../../src/api/contractWarnings.ts';

const checked = (passed: boolean | null, adapterVersion: string | null = '1') => ({
  rail: 'monnify',
  adapterVersion,
  passed,
});

test.each([
  ['never checked', checked(null, null), /was never checked: npm run cli -- rail check monnify$/],
  ['failed', checked(false), /failed its last check/],
  ['checked with another version', checked(true, '0'), /another version of its adapter/],
])('%s: a warning', (_case, contract, warning) => {
  expect(checkWarnings(contract, '1')).toEqual([expect.stringMatching(warning)]);
});

test('a check of this version that passed is no warning; a rail without an adapter is one', () => {
  expect(checkWarnings(checked(true), '1')).toEqual([]);
  expect(checkWarnings(checked(true), null)).toEqual([expect.stringMatching(/no adapter for the rail monnify/)]);
});
