// The rules of a payment as tables: what each credit makes of it (contract, section 3.2).
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  capacityAfterRefusal,
  decideCredit,
  decideExpiry,
  type PaymentState,
  type WalletCapacity,
} from '../../src/workflows/payment/decide.ts';

const payment = (status: PaymentState['status'], amountReceived = 0): PaymentState => ({
  status,
  baseAmount: 200_000,
  fee: 2_000,
  amountReceived,
});

describe('a credit', () => {
  test.each<[string, PaymentState, number, WalletCapacity, object]>([
    ['less than payable is held', payment('pending'), 50_000, 'all', { kind: 'hold', amountReceived: 50_000 }],
    [
      'exactly payable settles',
      payment('pending'),
      202_000,
      'all',
      { kind: 'settle', amountReceived: 202_000, toWallet: 200_000, toFees: 2_000, toReview: 0, heldBefore: 0 },
    ],
    [
      'a surplus goes to the wallet',
      payment('pending'),
      203_500,
      'all',
      { kind: 'settle', amountReceived: 203_500, toWallet: 201_500, toFees: 2_000, toReview: 0, heldBefore: 0 },
    ],
    [
      'a surplus that passes a limit waits for a person',
      payment('pending'),
      203_500,
      'base_only',
      { kind: 'settle', amountReceived: 203_500, toWallet: 200_000, toFees: 2_000, toReview: 1_500, heldBefore: 0 },
    ],
    [
      'the rest of a partial payment settles it',
      payment('partial', 150_000),
      52_000,
      'all',
      { kind: 'settle', amountReceived: 202_000, toWallet: 200_000, toFees: 2_000, toReview: 0, heldBefore: 150_000 },
    ],
    [
      'one kobo short stays partial',
      payment('partial', 150_000),
      51_999,
      'all',
      { kind: 'hold', amountReceived: 201_999 },
    ],
    [
      'for a wallet that takes nothing waits for a person',
      payment('pending'),
      202_000,
      'nothing',
      { kind: 'to_suspense', reason: 'wallet_refused' },
    ],
    ['after expiry is late', payment('expired'), 202_000, 'all', { kind: 'to_suspense', reason: 'late_credit' }],
    [
      'to a payment that never opened is late',
      payment('failed'),
      1,
      'all',
      { kind: 'to_suspense', reason: 'late_credit' },
    ],
    ...(['settled', 'refunded', 'partially_refunded'] as const).map(
      (status): [string, PaymentState, number, WalletCapacity, object] => [
        `to a ${status} payment comes after settlement`,
        payment(status, 202_000),
        202_000,
        'all',
        { kind: 'to_suspense', reason: 'credit_after_settlement' },
      ],
    ),
  ])('%s', (_name, state, amount, room, expected) => {
    expect(decideCredit(state, amount, room)).toEqual(expected);
  });

  test('lands whole in wallet, fees and review, whatever the amounts', () => {
    const kobo = fc.integer({ min: 1, max: 1_000_000_000_000 });
    fc.assert(
      fc.property(
        kobo,
        fc.integer({ min: 0, max: 18_000 }),
        fc.array(kobo, { minLength: 1, maxLength: 8 }),
        fc.constantFrom<WalletCapacity>('all', 'base_only', 'nothing'),
        (baseAmount, fee, credits, room) => {
          let state: PaymentState = { status: 'pending', baseAmount, fee, amountReceived: 0 };
          let sent = 0;
          let diverted = 0;
          let settled = 0;
          let broughtBefore = 0;
          for (const amount of credits) {
            sent += amount;
            const decision = decideCredit(state, amount, room);
            if (decision.kind === 'to_suspense') diverted += amount;
            else if (decision.kind === 'hold') {
              state = { ...state, status: 'partial', amountReceived: decision.amountReceived };
            } else {
              state = { ...state, status: 'settled', amountReceived: decision.amountReceived };
              settled = decision.toWallet + decision.toFees + decision.toReview;
              broughtBefore = decision.heldBefore + amount;
            }
          }
          expect(settled).toBe(broughtBefore);
          const held = state.status === 'partial' ? state.amountReceived : 0;
          expect(settled + held + diverted).toBe(sent);
        },
      ),
    );
  });
});

describe('after the wallet refused', () => {
  const withSurplus = decideCredit(payment('pending'), 203_500, 'all');
  const exact = decideCredit(payment('pending'), 202_000, 'all');
  test.each([
    ['a surplus over a limit is tried without', 'all', withSurplus, true, 'base_only'],
    ['a frozen wallet takes nothing', 'all', withSurplus, false, 'nothing'],
    ['a base amount over a limit takes nothing', 'all', exact, true, 'nothing'],
    ['a second refusal takes nothing', 'base_only', withSurplus, true, 'nothing'],
  ] as const)('%s', (_name, room, decision, overLimit, expected) => {
    expect(capacityAfterRefusal(room, decision, overLimit, 200_000)).toBe(expected);
  });
});

test.each([
  ['pending', 0, { kind: 'expire', toReview: 0 }],
  ['partial', 150_000, { kind: 'expire', toReview: 150_000 }],
  ['settled', 202_000, { kind: 'no_change' }],
  ['expired', 0, { kind: 'no_change' }],
  ['failed', 0, { kind: 'no_change' }],
  ['refunded', 202_000, { kind: 'no_change' }],
  ['partially_refunded', 202_000, { kind: 'no_change' }],
] as const)('the end of the window makes of a %s payment with %d kobo: %o', (status, received, expected) => {
  expect(decideExpiry(payment(status, received))).toEqual(expected);
});
