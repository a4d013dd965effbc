// What a payment page says, by status and time: tables of its states, and of every amount in its words.
import { describe, expect, test } from '@jest/globals';
import { durationText, type PagePayment, pageContent, pageState } from '../../src/api/checkout/decide.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';

const NOW = new Date('2026-11-23T12:00:00.000Z');
const inSeconds = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);

/** ₦2,020.00 to pay within five minutes. */
const pending = {
  status: 'pending',
  version: 1,
  baseAmount: 200_000,
  fee: 2_000,
  feeBearer: 'payer',
  amountReceived: 0,
  amountCredited: 0,
  amountInReview: 0,
  amountRecalled: 0,
  amountRefunded: 0,
  amountReturned: 0,
  onMismatch: 'hold',
  expiresAt: inSeconds(300),
  description: 'Order 7',
  returnUrl: null,
  account: { accountNumber: '0123456789', bankName: 'Sandbox Bank', accountName: 'Ada Obi', acceptsAmount: 'any' },
} as PagePayment;
const page = (more: Partial<PagePayment> = {}) => pageContent({ ...pending, ...more }, 'Ada Shoes', NOW);
const wordsOf = (more: Partial<PagePayment> = {}): string => {
  const { headline, explanation } = page(more);
  return [headline, ...explanation].join('\n');
};

describe('the state', () => {
  const states: [Payment['status'], number, string][] = [
    ['pending', 1, 'awaiting'],
    ['pending', 0, 'overdue'],
    ['pending', -1, 'overdue'],
    ['partial', 1, 'partial'],
    ['partial', 0, 'overdue'],
    ['settled', -1, 'paid'],
    ['settled', 1, 'paid'],
    ['refunded', 1, 'refunded'],
    ['partially_refunded', 1, 'refunded'],
    ['expired', 1, 'expired'],
    ['expired', -1, 'expired'],
    ['failed', 1, 'expired'],
    ['cancelled', 1, 'expired'],
  ];
  test.each(states)('of a payment that is %s, %i seconds before its end, is %s', (status, seconds, state) => {
    expect(pageState({ ...pending, status, expiresAt: inSeconds(seconds) }, NOW)).toBe(state);
  });

  test.each(states)('%s, %i seconds before the end: money is asked for while it is taken', (status, seconds, state) => {
    const takesMoney = state === 'awaiting' || state === 'partial';
    const { transfer, deadline, isLive } = page({ status, expiresAt: inSeconds(seconds) });
    expect([transfer !== null, deadline !== null]).toEqual([takesMoney, takesMoney]);
    expect(isLive).toBe(takesMoney || state === 'overdue');
  });
});

describe('the words', () => {
  test('ask for the whole amount, and say where to and until when', () => {
    expect(page()).toEqual({
      state: 'awaiting',
      version: 1,
      isLive: true,
      title: 'Transfer ₦2,020.00 – Ada Shoes',
      headline: 'Transfer ₦2,020.00',
      explanation: [
        'To pay Ada Shoes, send exactly ₦2,020.00 to this account. It works for this payment only.',
        'This page updates when your money arrives, usually within a minute.',
      ],
      transfer: {
        amount: '₦2,020.00',
        amountDigits: '2020.00',
        breakdown: '₦2,000.00 and a fee of ₦20.00',
        accountNumber: '0123456789',
        bankName: 'Sandbox Bank',
        accountName: 'Ada Obi',
        accountNote: 'Receives this payment for Ada Shoes',
      },
      description: 'Order 7',
      deadline: {
        at: '2026-11-23T12:05:00.000Z',
        text: '23 November at 13:05, Lagos time',
        remainingSeconds: 300,
        remaining: '5 minutes',
      },
      returnText: null,
    });
  });

  test('explain neither an amount without a fee nor an account with the name of the payee', () => {
    const account = { ...pending.account, accountName: 'ADA SHOES' };
    expect(page({ fee: 0, account }).transfer).toMatchObject({ breakdown: null, accountNote: null });
    const { transfer } = page({ feeBearer: 'merchant', account });
    expect(transfer).toMatchObject({ breakdown: null, amount: '₦2,000.00' });
  });

  test('say it where the bank takes the exact amount only', () => {
    const exact = wordsOf({ account: { ...pending.account, acceptsAmount: 'exact' } });
    expect(exact).toContain('Send it in one transfer: your bank will reject any other amount.');
  });

  test('of a part: what was received, and what is missing', () => {
    const more = { status: 'partial', amountReceived: 100_050 } as const;
    expect(wordsOf(more)).toBe(
      '₦1,000.50 received, ₦1,019.50 to go\n' +
        'We have received ₦1,000.50 of ₦2,020.00. Send the remaining ₦1,019.50 to the same account before time runs out.',
    );
    expect(page(more).transfer?.amount).toBe('₦1,019.50');
  });

  test('after the end of the window, while a credit may be on its way: send nothing', () => {
    const late = { expiresAt: NOW };
    expect(wordsOf(late)).toContain('Please do not send money now.');
    expect(wordsOf(late)).not.toContain('so far');
    expect(wordsOf({ ...late, status: 'partial', amountReceived: 100 })).toContain(
      'We have received ₦1.00 of ₦2,020.00 so far.',
    );
  });

  test('of a payment in full, and of a surplus', () => {
    expect(wordsOf({ status: 'settled', amountReceived: 202_000 })).toBe(
      'Payment received\nAda Shoes has received your ₦2,020.00.',
    );
    expect(wordsOf({ status: 'settled', amountReceived: 252_000 })).toContain('That is ₦500.00 too much.');
  });

  test.each(['pending', 'partial', 'expired'] as const)(
    'of money in review, %s: it is being checked, and nothing is asked for',
    (status) => {
      const more = { status, amountInReview: 202_000 };
      expect(page(more)).toMatchObject({ state: 'in_review', transfer: null, deadline: null, isLive: true });
      expect(page({ ...more, expiresAt: NOW }).state).toBe('in_review');
      expect(wordsOf(more)).toContain('₦2,020.00 received, being checked');
      expect(wordsOf(more)).toContain('Do not send it again.');
      expect(wordsOf({ ...more, onMismatch: 'refund' })).toContain('It will be returned to the account');
    },
  );

  test('of an expired payment whose late money was credited: it is received', () => {
    const late = { status: 'expired', amountReceived: 202_000, amountCredited: 200_000 } as const;
    expect(wordsOf(late)).toBe('Payment received\nAda Shoes has received your ₦2,020.00.');
    expect(wordsOf({ ...late, amountReceived: 102_000 })).toContain('That is ₦1,000.00 too little.');
    expect(wordsOf({ ...late, amountRefunded: 50_000 })).toMatch(/^Payment partly refunded\n₦500.00 of/);
    expect(wordsOf({ ...late, amountRefunded: 200_000 })).toMatch(/^Payment refunded\n/);
  });

  test('of money that the bank has taken back: how much', () => {
    const words = wordsOf({
      status: 'settled',
      amountReceived: 202_000,
      amountCredited: 200_000,
      amountRecalled: 202_000,
    });
    expect(words).toBe('Payment taken back\nThe bank has taken back ₦2,020.00 of your ₦2,020.00. Contact Ada Shoes.');
  });

  test.each([
    ['refunded', 202_000, 'Payment refunded', '₦2,020.00 of your ₦2,020.00 payment has been refunded.'],
    ['partially_refunded', 50_000, 'Payment partly refunded', '₦500.00 of your ₦2,020.00 payment has been refunded.'],
  ] as const)('%s: how much', (status, amountRefunded, headline, part) => {
    const words = wordsOf({ status, amountReceived: 202_000, amountRefunded });
    expect(words).toContain(headline);
    expect(words).toContain(part);
  });

  test.each([
    ['hold', 0, ['No money arrived in time.', 'If you have already sent money, it is not lost.']],
    ['refund', 0, ['No money arrived in time.', 'If you have already sent money, it will be returned']],
    ['hold', 100, ['Only ₦1.00 of ₦2,020.00 arrived in time', 'Your ₦1.00 is not lost. Contact Ada Shoes']],
    ['refund', 100, ['Only ₦1.00 of ₦2,020.00 arrived in time', 'Your ₦1.00 will be returned']],
  ] as const)('expired with onMismatch %s and %i kobo received: what to do', (onMismatch, amountReceived, parts) => {
    const words = wordsOf({ status: 'expired', onMismatch, amountReceived });
    expect(words).toContain('ask Ada Shoes for a new payment. Do not use this account number again.');
    for (const part of parts) expect(words).toContain(part);
  });

  test.each([
    [0, 202_000],
    [100_000, 100_000],
  ])(
    'of an expired payment with %i kobo received whose %i kobo went back: sent back',
    (amountReceived, amountReturned) => {
      const words = wordsOf({ status: 'expired', amountReceived, amountReturned });
      expect(words).toContain(`We received ₦${amountReturned === 202_000 ? '2,020' : '1,000'}.00 and sent it back`);
      expect(words).not.toMatch(/arrived in time|will be returned|is not lost/);
      expect(words).toContain('ask Ada Shoes for a new payment.');
    },
  );

  test('lead back where there is a way back', () => {
    const returnUrl = 'https://shop.example/thanks';
    expect(page({ returnUrl }).returnText).toBe('Go back to Ada Shoes');
    expect(page({ returnUrl, status: 'settled' }).returnText).toBe('Continue to Ada Shoes');
  });

  test.each([
    [0, '0 seconds'],
    [1, '1 second'],
    [59, '59 seconds'],
    [60, '1 minute'],
    [119, '1 minute'],
    [3_600, '1 hour'],
    [7_260, '2 hours 1 minute'],
    [86_400, '24 hours'],
  ])('%i seconds are %s', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });
});
