// The rules of refunds as tables: refundable amounts, the payment's status, and the destination account.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decideRefund, decideRefundAccount, statusAfterRefunds } from '../../src/workflows/refund/decide.ts';

const payment = (status: string, amountRefunding = 0, amountRefunded = 0) => ({
  status,
  amountCredited: 200_000,
  amountRefunding,
  amountRefunded,
  amountRecalled: 0,
});

const allowed = (amount: number) => ({ kind: 'refund', amount });
const PARTLY = payment('partially_refunded', 20_000, 30_000);
const tooMuch = (refundable: number) => ({ kind: 'too_much', refundable });

test.each([
  ['a refund without an amount refunds all of a settled payment', payment('settled'), undefined, allowed(200_000)],
  ['a refund of a part is allowed', payment('settled'), 50_000, allowed(50_000)],
  ['a refund without an amount is of the rest', PARTLY, undefined, allowed(150_000)],
  ['a refund of one kobo more than was credited is too much', payment('settled'), 200_001, tooMuch(200_000)],
  ['a refund of more than other refunds leave is too much', payment('settled', 150_000), 50_001, tooMuch(50_000)],
  ['a refund of what is left after a recall', { ...PARTLY, amountRecalled: 60_000 }, undefined, allowed(90_000)],
  ['a refund of what the bank took back', { ...PARTLY, amountRecalled: 200_000 }, 1, tooMuch(0)],
  ['a refund of what is all being refunded is too much', payment('settled', 200_000), undefined, tooMuch(0)],
])('%s', (_name, state, amount, expected) => {
  expect(decideRefund(state, amount)).toEqual(expected);
});

test.each(['pending', 'partial', 'expired', 'failed'])('a %s payment without a credit is not refundable', (status) => {
  expect(decideRefund({ ...payment(status), amountCredited: 0 }, 1)).toEqual({ kind: 'not_refundable' });
});

test('a refunded payment is not refundable, and an expired one as far as a review case has credited it', () => {
  expect(decideRefund(payment('refunded', 0, 200_000), 1)).toEqual({ kind: 'not_refundable' });
  expect(decideRefund(payment('expired'), 1)).toEqual(allowed(1));
});

test.each([
  [0, 'settled'],
  [1, 'partially_refunded'],
  [199_999, 'partially_refunded'],
  [200_000, 'refunded'],
] as const)('with %d of 200000 kobo refunded a payment is %s', (refunded, status) => {
  expect(statusAfterRefunds(refunded, 200_000)).toBe(status);
});

/** An account that has paid, with what it has paid in all. */
const payer = (amount: number, accountNumber: string | null = '1111111111', bankCode: string | null = '058') => ({
  accountNumber,
  bankCode,
  amount,
});
const TO_PAYER = { kind: 'payer', accountNumber: '1111111111', bankCode: '058' };

test.each([
  ['a single payer receives the refund', [payer(100)], 0, 100, TO_PAYER],
  ['a single payer receives the refund also after an earlier one', [payer(100)], 60, 40, TO_PAYER],
  ['a payer who paid less than the refund', [payer(100)], 0, 101, 'payer_paid_less'],
  ['a payer with too little left after earlier refunds', [payer(100)], 61, 40, 'payer_paid_less'],
  ['two payers', [payer(100_900), payer(100, '2222222222')], 0, 50, 'several_payers'],
  ['one account number at two banks', [payer(50), payer(50, '1111111111', '044')], 0, 10, 'several_payers'],
  ['an unknown payer', [payer(100, null, null)], 0, 100, 'payer_unknown'],
  ['a payer at an unknown bank', [payer(100, '1111111111', null)], 0, 1, 'payer_unknown'],
  ['a payer with an unknown account number', [payer(100, null)], 0, 1, 'payer_unknown'],
  ['a known and an unknown payer', [payer(100), payer(1, null, null)], 0, 1, 'payer_unknown'],
  ['a payment without a paying bank account', [], 0, 1, 'not_paid_by_bank'],
])('the destination of a refund: %s', (_name, payers, refundedBefore, amount, expected) => {
  const account = typeof expected === 'string' ? { kind: 'unclear', reason: expected } : expected;
  expect(decideRefundAccount(payers, refundedBefore, amount)).toEqual(account);
});

test('random refunds never exceed what was credited', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.array(fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined }), { maxLength: 20 }),
      (amountCredited, amounts) => {
        let state = { status: 'settled', amountCredited, amountRecalled: 0, amountRefunding: 0, amountRefunded: 0 };
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
