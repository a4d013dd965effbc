// The fee schedule (contract, sections 4.8 and 4.9): pure functions on whole kobo.
import type { Kobo } from '../money.ts';

/** One per cent, between these bounds, is the service fee of a collection and of a bank transfer. */
const PERCENT_DIVISOR = 100;
const SERVICE_FEE_MIN: Kobo = 500;
const SERVICE_FEE_MAX: Kobo = 18_000;

/** 1% of the amount, half a kobo rounded up, clamped to [500, 18 000] kobo. Exact for every safe integer. */
export function serviceFee(amount: Kobo): Kobo {
  const whole = Math.floor(amount / PERCENT_DIVISOR);
  const rounded = whole + (amount % PERCENT_DIVISOR >= PERCENT_DIVISOR / 2 ? 1 : 0);
  return Math.min(SERVICE_FEE_MAX, Math.max(SERVICE_FEE_MIN, rounded));
}

/** What the payer of a payment pays on top of the base amount. Paying from a wallet is free. */
export function paymentFee(method: 'bank_transfer' | 'virtual_wallet', baseAmount: Kobo): Kobo {
  return method === 'bank_transfer' ? serviceFee(baseAmount) : 0;
}

/** What a transfer between two wallets costs its source: nothing, whatever the amount. */
export function transferFee(_amount: Kobo): Kobo {
  return 0;
}

/** The flat charge of a bank transfer, on top of the service fee. */
const BANK_TRANSFER_CHARGE: Kobo = 2_000;

/** What a withdrawal or a payout item costs. */
export function bankTransferFee(amount: Kobo): Kobo {
  return serviceFee(amount) + BANK_TRANSFER_CHARGE;
}

/** The movements that have a fee of their own, be it none. */
export const CHARGED_MOVEMENTS = [
  'withdrawal',
  'payout_item',
  'bank_transfer_payment',
  'virtual_wallet_payment',
  'transfer',
] as const;

/** The fee of a movement of this amount; it comes on top. */
export function feeOf(movement: (typeof CHARGED_MOVEMENTS)[number], amount: Kobo): Kobo {
  switch (movement) {
    case 'withdrawal':
    case 'payout_item':
      return bankTransferFee(amount);
    case 'bank_transfer_payment':
      return paymentFee('bank_transfer', amount);
    case 'virtual_wallet_payment':
      return paymentFee('virtual_wallet', amount);
    case 'transfer':
      return 0;
  }
}
