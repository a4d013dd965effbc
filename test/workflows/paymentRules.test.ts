// The rules of a payment as tables: the decision on each credit (contract, section 3.2).
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  capacityAfterRefusal,
  decideCancellation,
  decideCredit,
  decideExpiry,
  decideReviewedCredit,
  FEE_BEARERS,
  netAmount,
  type PaymentState,
  payableAmount,
  type ReviewedPayment,
  type WalletCapacity,
} from '../../src/workflows/payment/decide.ts';

const EXPIRES = new Date('2026-01-01T12:00:00.000Z');
const AFTER = new Date('2026-01-01T12:00:00.001Z');
const on = (receivedAt: Date) => (amount: number) => ({ amount, receivedAt });
const inTime = on(EXPIRES);

const payment = (status: PaymentState['status'], amountReceived = 0): PaymentState & { expiresAt: Date } => ({
  status,
  expiresAt: EXPIRES,
  baseAmount: 200_000,
  fee: 2_000,
  feeBearer: 'payer',
  amountReceived,
});

const borne = (status: PaymentState['status'], amountReceived = 0) =>
  ({ ...payment(status, amountReceived), feeBearer: 'merchant' }) as const;

const hold = (amountReceived: number) => ({ kind: 'hold', amountReceived });
const settle = (amountReceived: number, toWallet: number, toSuspense = 0, alreadyHeld = 0) => ({
  kind: 'settle',
  amountReceived,
  toWallet,
  toFees: 2_000,
  toSuspense,
  alreadyHeld,
});
const suspended = (reason: string) => ({ kind: 'to_suspense', reason });

describe('money of a review case that is credited to its payment', () => {
  const reviewed = (state: PaymentState, amountCredited = 0, feeCharged = 0): ReviewedPayment => ({
    ...state,
    amountCredited,
    feeCharged,
  });
  const decide = (state: ReviewedPayment, amount: number, more: { isCounted?: true; waivesFee?: true } = {}) =>
    decideReviewedCredit(state, { amount, isCounted: false, waivesFee: false, ...more });

  test.each<[string, ReviewedPayment, number, object | string]>([
    [
      'settles an open payment',
      reviewed(payment('pending')),
      202_000,
      { settles: true, toWallet: 200_000, toFees: 2_000 },
    ],
    [
      'settles an open payment with what it holds',
      reviewed(payment('partial', 150_000)),
      52_500,
      { settles: true, amountReceived: 202_500, withHeld: 150_000, toWallet: 200_500, toFees: 2_000 },
    ],
    ['leaves an open payment that it would not settle', reviewed(payment('partial', 100)), 201_899, 'incomplete'],
    ['is charged the fee after expiry', reviewed(payment('expired')), 202_000, { settles: false, toFees: 2_000 }],
    ['is charged a share after expiry', reviewed(payment('expired')), 50_500, { toWallet: 50_000, toFees: 500 }],
    ['is charged what is left', reviewed(payment('expired'), 100_000, 1_000), 101_000, { toFees: 1_000 }],
    ['settles with the fee out of the base', reviewed(borne('pending')), 200_000, { toWallet: 198_000, toFees: 2_000 }],
    ['is charged a share out of the base', reviewed(borne('expired')), 50_000, { toWallet: 49_500, toFees: 500 }],
    ['is charged nothing after the fee', reviewed(payment('settled', 202_000), 200_000, 2_000), 9, { toFees: 0 }],
  ])('%s', (_name, state, amount, expected) => {
    expect({ decision: decide(state, amount) }).toMatchObject({ decision: expected });
  });

  test('however it is split, an expired payment is charged the fee once, and a waived share never', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000_000 }),
        fc.integer({ min: 0, max: 18_000 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 1_000_000_000 }), fc.boolean()), { minLength: 1, maxLength: 10 }),
        fc.constantFrom(...FEE_BEARERS),
        (baseAmount, fee, amounts, feeBearer) => {
          const price = { baseAmount, fee, feeBearer };
          fc.pre(netAmount(price) > 0);
          let state: ReviewedPayment = reviewed({ status: 'expired', ...price, amountReceived: 0 });
          let isWaived = false;
          for (const [amount, waivesFee] of amounts) {
            const decision = decideReviewedCredit(state, { amount, isCounted: false, waivesFee });
            if (decision === 'incomplete') throw new Error('an expired payment takes any amount');
            expect(decision.toWallet + decision.toFees).toBe(amount);
            expect(Math.min(decision.toWallet, decision.toFees)).toBeGreaterThanOrEqual(0);
            isWaived ||= waivesFee;
            state = {
              ...state,
              amountReceived: decision.amountReceived,
              amountCredited: state.amountCredited + decision.toWallet,
              feeCharged: state.feeCharged + decision.toFees,
            };
          }
          const total = amounts.reduce((sum, [amount]) => sum + amount, 0);
          expect(state.amountReceived).toBe(total);
          const payable = payableAmount(price);
          const share = total >= payable ? fee : Math.floor((fee * total) / payable);
          expect(state.feeCharged).toBeLessThanOrEqual(share);
          expect(isWaived || state.feeCharged === share).toBe(true);
        },
      ),
    );
  });
});

describe('credits', () => {
  const [pending, partial] = [payment('pending'), payment('partial', 150_000)];
  test.each<[string, PaymentState & { expiresAt: Date }, number, WalletCapacity, object]>([
    ['below the payable amount is held', pending, 50_000, 'all', hold(50_000)],
    ['of exactly the payable amount settles the payment', pending, 202_000, 'all', settle(202_000, 200_000)],
    ['with a surplus puts it into the wallet', pending, 203_500, 'all', settle(203_500, 201_500)],
    [
      'with a surplus over a limit goes to review in part',
      pending,
      203_500,
      'base_only',
      settle(203_500, 200_000, 1_500),
    ],
    ['of the rest of a partial payment settles it', partial, 52_000, 'all', settle(202_000, 200_000, 0, 150_000)],
    [
      'of the base settles where the merchant bears the fee',
      borne('pending'),
      200_000,
      'all',
      settle(200_000, 198_000),
    ],
    ['with a surplus there', borne('pending'), 200_100, 'all', settle(200_100, 198_100)],
    ['with a surplus over a limit there', borne('pending'), 200_100, 'base_only', settle(200_100, 198_000, 100)],
    ['of the rest there', borne('partial', 150_000), 50_000, 'all', settle(200_000, 198_000, 0, 150_000)],
    ['of one kobo less there is held', borne('pending'), 199_999, 'all', hold(199_999)],
    ['of one kobo less than the rest is held', partial, 51_999, 'all', hold(201_999)],
    ['for a wallet that refuses it goes to suspense', pending, 202_000, 'nothing', suspended('wallet_refused')],
    ['after expiry is a late credit', payment('expired'), 202_000, 'all', suspended('late_credit')],
    ['to a cancelled payment is a late credit', payment('cancelled'), 202_000, 'all', suspended('late_credit')],
    ['to a failed payment is a late credit', payment('failed'), 1, 'all', suspended('late_credit')],
  ])('a credit %s', (_name, state, amount, room, expected) => {
    expect(decideCredit(state, inTime(amount), room)).toEqual(expected);
  });

  test.each(['settled', 'refunded', 'partially_refunded'] as const)(
    'a credit to a %s payment is a credit after settlement',
    (status) => {
      expect(decideCredit(payment(status, 202_000), on(AFTER)(202_000), 'all')).toEqual(
        suspended('credit_after_settlement'),
      );
    },
  );

  test.each([
    ['pending', 0],
    ['partial', 150_000],
  ] as const)(
    'a credit that the bank dates after the window is late, although the payment is still %s',
    (status, received) => {
      expect(decideCredit(payment(status, received), on(AFTER)(202_000), 'all')).toEqual(suspended('late_credit'));
    },
  );

  test('random credits are allocated completely to wallet, fees, review and suspense', () => {
    const kobo = fc.integer({ min: 1, max: 1_000_000_000_000 });
    fc.assert(
      fc.property(
        kobo,
        fc.integer({ min: 0, max: 18_000 }),
        fc.array(kobo, { minLength: 1, maxLength: 8 }),
        fc.constantFrom<WalletCapacity>('all', 'base_only', 'nothing'),
        (baseAmount, fee, credits, room) => {
          let state = { ...payment('pending'), baseAmount, fee };
          let sent = 0;
          let diverted = 0;
          let settled = 0;
          let usedForSettlement = 0;
          for (const amount of credits) {
            sent += amount;
            const decision = decideCredit(state, inTime(amount), room);
            if (decision.kind === 'to_suspense') diverted += amount;
            else if (decision.kind === 'hold') {
              state = { ...state, status: 'partial', amountReceived: decision.amountReceived };
            } else {
              state = { ...state, status: 'settled', amountReceived: decision.amountReceived };
              settled = decision.toWallet + decision.toFees + decision.toSuspense;
              usedForSettlement = decision.alreadyHeld + amount;
            }
          }
          expect(settled).toBe(usedForSettlement);
          const held = state.status === 'partial' ? state.amountReceived : 0;
          expect(settled + held + diverted).toBe(sent);
        },
      ),
    );
  });
});

describe('wallet capacity after a refusal', () => {
  const withSurplus = decideCredit(payment('pending'), inTime(203_500), 'all');
  const exact = decideCredit(payment('pending'), inTime(202_000), 'all');
  test.each([
    ['a surplus over a limit is retried with the base amount only', 'all', withSurplus, true, 'base_only'],
    ['a frozen wallet accepts nothing', 'all', withSurplus, false, 'nothing'],
    ['a base amount over a limit is not accepted', 'all', exact, true, 'nothing'],
    ['after a second refusal nothing is accepted', 'base_only', withSurplus, true, 'nothing'],
  ] as const)('%s', (_name, room, decision, overLimit, expected) => {
    expect(capacityAfterRefusal(room, decision, overLimit, 200_000)).toBe(expected);
  });
});

test.each([
  ['pending', 0, { kind: 'expire', toSuspense: 0 }],
  ['partial', 150_000, { kind: 'expire', toSuspense: 150_000 }],
  ['settled', 202_000, { kind: 'no_change' }],
  ['expired', 0, { kind: 'no_change' }],
  ['cancelled', 0, { kind: 'no_change' }],
  ['failed', 0, { kind: 'no_change' }],
  ['refunded', 202_000, { kind: 'no_change' }],
  ['partially_refunded', 202_000, { kind: 'no_change' }],
] as const)('the expiry decision for a %s payment with %d kobo is %o', (status, received, expected) => {
  expect(decideExpiry(payment(status, received))).toEqual(expected);
});

test.each([
  ['pending', 'cancel'],
  ['cancelled', 'no_change'],
  ['partial', 'refuse'],
  ['settled', 'refuse'],
  ['expired', 'refuse'],
  ['failed', 'refuse'],
  ['refunded', 'refuse'],
  ['partially_refunded', 'refuse'],
] as const)('the cancellation decision for a %s payment is %s', (status, expected) => {
  expect(decideCancellation({ status })).toBe(expected);
});
