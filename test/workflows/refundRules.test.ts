// The rules of refunds as tables: what may be refunded, and what it makes of the payment.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decideRefund, statusAfterRefunds } from '../../src/workflows/refund/decide.ts';

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
