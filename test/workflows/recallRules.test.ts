// The rule of a recall as a table: where the money of a credit is when the bank takes it back.
import { expect, test } from '@jest/globals';
import { locateMoney } from '../../src/workflows/recall/decide.ts';

const held = (status: string, amount = 5_000) => ({ status, amount });

test.each([
  ['that was not posted', 'received', null, null, 'nowhere'],
  ['that was set aside', 'set_aside', 'settled', null, 'nowhere'],
  ['that was recalled before', 'recalled', null, null, 'nowhere'],
  ['in a deposit account', 'posted', null, null, 'wallet'],
  ['of a part of a payment', 'posted', 'partial', null, 'payment'],
  ['of a settled payment', 'posted', 'settled', null, 'wallet'],
  ['of a refunded payment', 'posted', 'refunded', null, 'wallet'],
  ['of an expired payment, in review', 'posted', 'expired', held('open'), 'case'],
  ['of an expired payment, with other credits in review', 'posted', 'expired', held('open', 9_000), 'case'],
  ['of an expired payment, credited by an operator', 'posted', 'expired', held('credited', 9_000), 'wallet_of_case'],
  ['in review', 'suspense', 'settled', held('open'), 'case'],
  ['that is unclaimed', 'suspense', null, held('unclaimed'), 'case'],
  ['that an operator credited', 'suspense', null, held('credited'), 'wallet_of_case'],
  ['on its way back to the sender', 'suspense', null, held('returning'), 'elsewhere'],
  ['that was returned to its sender', 'suspense', null, held('returned_to_sender'), 'elsewhere'],
] as const)(
  'the money of a credit %s (%s, payment %s) is taken from where it is',
  (_what, status, payment, reviewCase, expected) => {
    expect(locateMoney({ status, amount: 5_000, payment, reviewCase })).toBe(expected);
  },
);
