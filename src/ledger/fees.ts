// The fee schedule (contract, sections 4.8 and 4.9): pure functions on whole kobo.
import type { Kobo } from '../money.ts';

/** The service fee of a collection and of a bank transfer: one per cent, within these bounds. */
const PERCENT_DIVISOR = 100;
const SERVICE_FEE_MIN: Kobo = 500;
const SERVICE_FEE_MAX: Kobo = 18_000;

/** 1% of the amount, half a kobo rounded up, clamped to [500, 18 000] kobo. Exact for every safe integer. */
export function serviceFee(amount: Kobo): Kobo {
  const percent = Math.floor(amount / PERCENT_DIVISOR);
  const rounded = percent + (amount % PERCENT_DIVISOR >= PERCENT_DIVISOR / 2 ? 1 : 0);
  return Math.min(SERVICE_FEE_MAX, Math.max(SERVICE_FEE_MIN, rounded));
}

/** The fee of a payment, paid on top of the base amount. A payment from a wallet is free. */
export function paymentFee(method: 'bank_transfer' | 'virtual_wallet', baseAmount: Kobo): Kobo {
  return method === 'bank_transfer' ? serviceFee(baseAmount) : 0;
}

/** The fee of a transfer between two wallets: always zero. */
export function transferFee(_amount: Kobo): Kobo {
  return 0;
}

/** The flat charge of a bank transfer, in addition to the service fee. */
const BANK_TRANSFER_CHARGE: Kobo = 2_000;

/** The fee of a withdrawal or of a payout item. */
export function bankTransferFee(amount: Kobo): Kobo {
  return serviceFee(amount) + BANK_TRANSFER_CHARGE;
}

/** The kinds of movement that have a fee, which may be zero. */
export const CHARGED_MOVEMENTS = [
  'withdrawal',
  'payout_item',
  'bank_transfer_payment',
  'virtual_wallet_payment',
  'transfer',
] as const;

/** The fee of a movement of this amount, in addition to the amount. */
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
