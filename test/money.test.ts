// Money for people: exact, with thousands separated.
import { expect, test } from '@jest/globals';
import { nairaText } from '../src/money.ts';

test.each([
  [0, '₦0.00'],
  [5, '₦0.05'],
  [-50, '-₦0.50'],
  [2_500_000, '₦25,000.00'],
  [123_456, '₦1,234.56'],
  [Number.MAX_SAFE_INTEGER, '₦90,071,992,547,409.91'],
  [-(10n ** 20n), '-₦1,000,000,000,000,000,000.00'],
])('%d kobo are %s', (amount, text) => {
  expect(nairaText(amount)).toBe(text);
});
