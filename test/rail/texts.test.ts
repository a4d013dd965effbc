// The words of a provider as the reason of a failure, which customers read.
import { expect, test } from '@jest/globals';
import { reasonOf } from '../../src/rail/texts.ts';

test.each([
  'SUCCESS',
  'Success.',
  'Successful',
  'Transaction successful',
  'Transaction was completed successfully',
  'Approved or completed successfully',
  'Transaction in progress',
  'Processing in progress',
  'Your transfer is being processed',
  'REVERSED',
  'Transaction failed',
  'PENDING',
  'OK',
  '00',
  'null',
  '  ',
  null,
])('%j says of no failure why', (words) => {
  expect(reasonOf(words)).toBeNull();
});

test.each([
  'Dormant beneficiary account',
  'Successful login from another device is needed',
  'Transaction unsuccessful',
  'Processor Malfunction - Transaction transmission failed',
  'Insufficient funds',
  'BLACKLISTED',
])('"%s" is a reason', (words) => {
  expect(reasonOf(words)).toBe(words);
});
