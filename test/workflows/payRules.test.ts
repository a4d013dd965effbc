// The rules of paying from a wallet (contract, section 4.7), as a table.
import { expect, test } from '@jest/globals';
import { decidePay, type WalletPaymentState } from '../../src/workflows/payment/decide.ts';

const EXPIRES = new Date('2026-01-01T12:00:00.000Z');
const BEFORE = new Date('2026-01-01T11:59:59.999Z');
const AFTER = new Date('2026-01-01T12:00:00.001Z');

const bill: WalletPaymentState = {
  method: 'virtual_wallet',
  status: 'pending',
  baseAmount: 1_000,
  fee: 0,
  amountReceived: 0,
  targetWalletId: 'target',
  expiresAt: EXPIRES,
};

const refuse = (code: string) => ({ kind: 'refuse', code });

test.each<[string, Partial<WalletPaymentState>, string, Date, object]>([
  ['a pending payment, in time', {}, 'payer', BEFORE, { kind: 'settle', amountReceived: 1_000, toWallet: 1_000 }],
  ['with a fee on top', { fee: 25 }, 'payer', BEFORE, { kind: 'settle', amountReceived: 1_025, toWallet: 1_000 }],
  ['at the very end of its window', {}, 'payer', EXPIRES, refuse('PAYMENT_NOT_PAYABLE')],
  ['after its window', {}, 'payer', AFTER, refuse('PAYMENT_NOT_PAYABLE')],
  ['settled', { status: 'settled' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['expired', { status: 'expired' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['failed', { status: 'failed' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['refunded', { status: 'refunded' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['refunded in part', { status: 'partially_refunded' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['by bank transfer', { method: 'bank_transfer' }, 'payer', BEFORE, refuse('PAYMENT_METHOD_MISMATCH')],
  [
    'by bank transfer, in part',
    { method: 'bank_transfer', status: 'partial' },
    'payer',
    BEFORE,
    refuse('PAYMENT_METHOD_MISMATCH'),
  ],
  ['into the payer itself', {}, 'target', BEFORE, refuse('SAME_WALLET')],
])('a payment %s', (_case, change, payer, now, decision) => {
  expect(decidePay({ ...bill, ...change }, payer, now)).toEqual(decision);
});
