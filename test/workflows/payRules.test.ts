// The rules of paying from a wallet (contract, section 4.7) as a table.
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
  feeBearer: 'payer',
  amountReceived: 0,
  targetWalletId: 'target',
  splits: [],
  expiresAt: EXPIRES,
};

const refuse = (code: string) => ({ kind: 'refuse', code });

test.each<[string, Partial<WalletPaymentState>, string, Date, object]>([
  [
    'a pending payment before its expiry is settled',
    {},
    'payer',
    BEFORE,
    { kind: 'settle', amountReceived: 1_000, toWallet: 1_000 },
  ],
  [
    'a pending payment with a fee is settled with the fee on top',
    { fee: 25 },
    'payer',
    BEFORE,
    { kind: 'settle', amountReceived: 1_025, toWallet: 1_000 },
  ],
  ['a payment at its expiry is PAYMENT_NOT_PAYABLE', {}, 'payer', EXPIRES, refuse('PAYMENT_NOT_PAYABLE')],
  ['a payment after its expiry is PAYMENT_NOT_PAYABLE', {}, 'payer', AFTER, refuse('PAYMENT_NOT_PAYABLE')],
  ['a settled payment is PAYMENT_NOT_PAYABLE', { status: 'settled' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['an expired payment is PAYMENT_NOT_PAYABLE', { status: 'expired' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['a failed payment is PAYMENT_NOT_PAYABLE', { status: 'failed' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  ['a refunded payment is PAYMENT_NOT_PAYABLE', { status: 'refunded' }, 'payer', BEFORE, refuse('PAYMENT_NOT_PAYABLE')],
  [
    'a partially refunded payment is PAYMENT_NOT_PAYABLE',
    { status: 'partially_refunded' },
    'payer',
    BEFORE,
    refuse('PAYMENT_NOT_PAYABLE'),
  ],
  [
    'a payment by bank transfer is PAYMENT_METHOD_MISMATCH',
    { method: 'bank_transfer' },
    'payer',
    BEFORE,
    refuse('PAYMENT_METHOD_MISMATCH'),
  ],
  [
    'a partial payment by bank transfer is PAYMENT_METHOD_MISMATCH',
    { method: 'bank_transfer', status: 'partial' },
    'payer',
    BEFORE,
    refuse('PAYMENT_METHOD_MISMATCH'),
  ],
  ['a payment into the paying wallet is SAME_WALLET', {}, 'target', BEFORE, refuse('SAME_WALLET')],
])('%s', (_case, change, payer, now, decision) => {
  expect(decidePay({ ...bill, ...change }, payer, now)).toEqual(decision);
});
