// Warnings about fees that do not pay for the rail.
import { expect, test } from '@jest/globals';
import { feesBelowCharges } from '../../src/api/feeWarnings.ts';
import { DEFAULT_FEES } from '../../src/ledger/fees.ts';

const TRANSFER = [
  { below: 1_000_000, charge: 1_000 },
  { below: 5_000_000, charge: 2_000 },
  { below: null, charge: 4_000 },
];
const LIST_PRICES = { collection: { basisPoints: 150, max: 200_000 }, transfer: TRANSFER };

test('the default fee of a payment is below 1.5 %, at the smallest amount where it is', () => {
  expect(feesBelowCharges('monnify', DEFAULT_FEES, { charges: LIST_PRICES })).toEqual([
    'a payment of ₦500.00 costs ₦7.58 at the rail monnify, and its fee is ₦5.00',
  ]);
});

test('a transfer that costs more than its fee is a warning of its own', () => {
  const free = { basisPoints: 0, min: 0, max: 0, flat: 0 };
  const warnings = feesBelowCharges(
    'monnify',
    { ...DEFAULT_FEES, bankTransfer: free },
    { charges: { ...LIST_PRICES, collection: null } },
  );
  expect(warnings).toEqual(['a bank transfer of ₦10.00 costs ₦10.00 at the rail monnify, and its fee is ₦0.00']);
});

test('fees that cover the charges, or unknown charges, are no warning', () => {
  const covering = { ...DEFAULT_FEES, collection: { basisPoints: 155, min: 500, max: 250_000, flat: 0 } };
  expect(feesBelowCharges('monnify', covering, { charges: LIST_PRICES })).toEqual([]);
  expect(feesBelowCharges('sandbox', DEFAULT_FEES, { charges: null })).toEqual([]);
});
