// The rules of refunds as tables: what may be refunded, and what it makes of the payment.
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
  ['all of a settled payment', payment('settled'), undefined, { kind: 'refund', amount: 200_000 }],
  ['a part', payment('settled'), 50_000, { kind: 'refund', amount: 50_000 }],
  ['what is left', payment('partially_refunded', 20_000, 30_000), undefined, { kind: 'refund', amount: 150_000 }],
  ['one kobo too much', payment('settled'), 200_001, { kind: 'too_much', refundable: 200_000 }],
  ['more than what other refunds leave', payment('settled', 150_000), 50_001, { kind: 'too_much', refundable: 50_000 }],
  ['nothing, when the rest is under way', payment('settled', 200_000), undefined, { kind: 'too_much', refundable: 0 }],
  ['a refunded payment', payment('refunded', 0, 200_000), undefined, { kind: 'not_refundable' }],
  ['a pending payment', payment('pending'), 1, { kind: 'not_refundable' }],
  ['a partial payment', payment('partial'), 1, { kind: 'not_refundable' }],
  ['an expired payment', payment('expired'), 1, { kind: 'not_refundable' }],
  ['a failed payment', payment('failed'), 1, { kind: 'not_refundable' }],
] as const)('asked to refund %s', (_name, state, amount, expected) => {
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
const NOBODY = { accountNumber: null, bankCode: null };
const to = (payer: typeof ADA) => ({ kind: 'payer', ...payer });
const unclear = (reason: string) => ({ kind: 'unclear', reason });

test.each([
  ['the one payer', [{ ...ADA, amount: 100 }], 0, 100, to(ADA)],
  ['the one payer, again', [{ ...ADA, amount: 100 }], 60, 40, to(ADA)],
  ['a payer who paid less', [{ ...ADA, amount: 100 }], 0, 101, unclear('payer_paid_less')],
  ['a payer who was given the most of it', [{ ...ADA, amount: 100 }], 61, 40, unclear('payer_paid_less')],
  [
    'two payers',
    [
      { ...ADA, amount: 100_900 },
      { ...BOLA, amount: 100 },
    ],
    0,
    50,
    unclear('several_payers'),
  ],
  [
    'one number at two banks',
    [
      { ...ADA, amount: 50 },
      { ...ADA, bankCode: '044', amount: 50 },
    ],
    0,
    10,
    unclear('several_payers'),
  ],
  ['a payer who is not known', [{ ...NOBODY, amount: 100 }], 0, 100, unclear('payer_unknown')],
  ['a payer at a bank that is not known', [{ ...ADA, bankCode: null, amount: 100 }], 0, 1, unclear('payer_unknown')],
  ['a payer whose number is not known', [{ ...ADA, accountNumber: null, amount: 100 }], 0, 1, unclear('payer_unknown')],
  [
    'one payer beside one who is not known',
    [
      { ...ADA, amount: 100 },
      { ...NOBODY, amount: 1 },
    ],
    0,
    1,
    unclear('payer_unknown'),
  ],
  ['nobody at a bank', [], 0, 1, unclear('not_paid_by_bank')],
] as const)('a refund that names no account, of what %s paid', (_name, payers, refundedBefore, amount, expected) => {
  expect(decideRefundAccount(payers, refundedBefore, amount)).toEqual(expected);
});

test('however it is asked for, refunds never pass what was credited', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.array(fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined }), { maxLength: 20 }),
      (amountCredited, asks) => {
        let state = { status: 'settled', amountCredited, amountRefunding: 0, amountRefunded: 0 };
        for (const asked of asks) {
          const decision = decideRefund(state, asked);
          if (decision.kind === 'refund')
            state = { ...state, amountRefunding: state.amountRefunding + decision.amount };
        }
        expect(state.amountRefunding).toBeLessThanOrEqual(amountCredited);
      },
    ),
  );
});
