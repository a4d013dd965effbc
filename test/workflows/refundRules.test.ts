// The rules of refunds as tables: refundable amounts, the payment's status, and the destination account.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decideRefund, decideRefundAccount, statusAfterRefunds } from '../../src/workflows/refund/decide.ts';

const payment = (status: string, amountRefunding = 0, amountRefunded = 0) => ({
  status,
  amountCredited: 200_000,
  amountRefunding,
  amountRefunded,
});

test.each([
  [
    'a refund without an amount refunds all of a settled payment',
    payment('settled'),
    undefined,
    { kind: 'refund', amount: 200_000 },
  ],
  ['a refund of a part is allowed', payment('settled'), 50_000, { kind: 'refund', amount: 50_000 }],
  [
    'a refund without an amount refunds the remainder of a partially refunded payment',
    payment('partially_refunded', 20_000, 30_000),
    undefined,
    { kind: 'refund', amount: 150_000 },
  ],
  [
    'a refund of one kobo more than was credited is too much',
    payment('settled'),
    200_001,
    { kind: 'too_much', refundable: 200_000 },
  ],
  [
    'a refund of more than other refunds leave is too much',
    payment('settled', 150_000),
    50_001,
    { kind: 'too_much', refundable: 50_000 },
  ],
  [
    'a refund while refunds in progress cover everything is too much',
    payment('settled', 200_000),
    undefined,
    { kind: 'too_much', refundable: 0 },
  ],
  ['a refunded payment is not refundable', payment('refunded', 0, 200_000), undefined, { kind: 'not_refundable' }],
  ['a pending payment is not refundable', payment('pending'), 1, { kind: 'not_refundable' }],
  ['a partial payment is not refundable', payment('partial'), 1, { kind: 'not_refundable' }],
  ['an expired payment is not refundable', payment('expired'), 1, { kind: 'not_refundable' }],
  ['a failed payment is not refundable', payment('failed'), 1, { kind: 'not_refundable' }],
] as const)('%s', (_name, state, amount, expected) => {
  expect(decideRefund(state, amount)).toEqual(expected);
});

test.each([
  [0, 'settled'],
  [1, 'partially_refunded'],
  [199_999, 'partially_refunded'],
  [200_000, 'refunded'],
] as const)('with %d of 200000 kobo refunded a payment is %s', (refunded, status) => {
  expect(statusAfterRefunds(refunded, 200_000)).toBe(status);
});

const ADA = { accountNumber: '1111111111', bankCode: '058' };
const BOLA = { accountNumber: '2222222222', bankCode: '058' };
const UNKNOWN_PAYER = { accountNumber: null, bankCode: null };
const to = (payer: typeof ADA) => ({ kind: 'payer', ...payer });
const unclear = (reason: string) => ({ kind: 'unclear', reason });

test.each([
  ['a single payer receives the refund', [{ ...ADA, amount: 100 }], 0, 100, to(ADA)],
  ['a single payer receives the refund also after an earlier one', [{ ...ADA, amount: 100 }], 60, 40, to(ADA)],
  [
    'a payer who paid less than the refund is payer_paid_less',
    [{ ...ADA, amount: 100 }],
    0,
    101,
    unclear('payer_paid_less'),
  ],
  [
    'a payer with too little left after earlier refunds is payer_paid_less',
    [{ ...ADA, amount: 100 }],
    61,
    40,
    unclear('payer_paid_less'),
  ],
  [
    'two payers are several_payers',
    [
      { ...ADA, amount: 100_900 },
      { ...BOLA, amount: 100 },
    ],
    0,
    50,
    unclear('several_payers'),
  ],
  [
    'one account number at two banks is several_payers',
    [
      { ...ADA, amount: 50 },
      { ...ADA, bankCode: '044', amount: 50 },
    ],
    0,
    10,
    unclear('several_payers'),
  ],
  ['an unknown payer is payer_unknown', [{ ...UNKNOWN_PAYER, amount: 100 }], 0, 100, unclear('payer_unknown')],
  [
    'a payer at an unknown bank is payer_unknown',
    [{ ...ADA, bankCode: null, amount: 100 }],
    0,
    1,
    unclear('payer_unknown'),
  ],
  [
    'a payer with an unknown account number is payer_unknown',
    [{ ...ADA, accountNumber: null, amount: 100 }],
    0,
    1,
    unclear('payer_unknown'),
  ],
  [
    'a known and an unknown payer are payer_unknown',
    [
      { ...ADA, amount: 100 },
      { ...UNKNOWN_PAYER, amount: 1 },
    ],
    0,
    1,
    unclear('payer_unknown'),
  ],
  ['a payment without a paying bank account is not_paid_by_bank', [], 0, 1, unclear('not_paid_by_bank')],
] as const)('%s', (_name, payers, refundedBefore, amount, expected) => {
  expect(decideRefundAccount(payers, refundedBefore, amount)).toEqual(expected);
});

test('random refunds never exceed what was credited', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.array(fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined }), { maxLength: 20 }),
      (amountCredited, amounts) => {
        let state = { status: 'settled', amountCredited, amountRefunding: 0, amountRefunded: 0 };
        for (const amount of amounts) {
          const decision = decideRefund(state, amount);
          if (decision.kind === 'refund')
            state = { ...state, amountRefunding: state.amountRefunding + decision.amount };
        }
        expect(state.amountRefunding).toBeLessThanOrEqual(amountCredited);
      },
    ),
  );
});
