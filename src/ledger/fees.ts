// Fees by rail; the default schedule is the contract's (sections 4.8 and 4.9). Pure functions on whole kobo.
import { z } from 'zod';
import type { Kobo } from '../money.ts';

const share = z.number().int().min(0).max(10_000);
const kobo = z.number().int().min(0).max(1_000_000_000);

/** A share of the amount in hundredths of a per cent, half a kobo rounded up, within bounds; and a flat fee on top. */
const feeRule = z
  .strictObject({ basisPoints: share, min: kobo, max: kobo, flat: kobo })
  .refine(({ min, max }) => min <= max, { message: 'min must not be greater than max', path: ['min'] });
export type FeeRule = z.infer<typeof feeRule>;

/** `collection`: of a payment by bank transfer, on top of its base amount. `bankTransfer`: of money sent to a bank. */
const feeSchedule = z.strictObject({ collection: feeRule, bankTransfer: feeRule });
export type FeeSchedule = z.infer<typeof feeSchedule>;

/** The schedules of rails by name, as a file has them. */
export const feeSchedules = z.record(z.string().min(1), feeSchedule);
export type FeeSchedules = z.infer<typeof feeSchedules>;

/** Of every rail without a schedule of its own. */
export const DEFAULT_FEES: FeeSchedule = {
  collection: { basisPoints: 100, min: 500, max: 18_000, flat: 0 },
  bankTransfer: { basisPoints: 100, min: 500, max: 18_000, flat: 2_000 },
};

/** The schedule of a rail; null: of a book without a rail. */
export const feesOf = (schedules: FeeSchedules, rail: string | null): FeeSchedule =>
  (rail === null ? undefined : schedules[rail]) ?? DEFAULT_FEES;

/** The fee by a rule. Exact for every safe integer. */
export function feeBy({ basisPoints, min, max, flat }: FeeRule, amount: Kobo): Kobo {
  const rounded = Number((BigInt(amount) * BigInt(basisPoints) + 5_000n) / 10_000n);
  return Math.min(max, Math.max(min, rounded)) + flat;
}

/** The kinds of movement that have a fee, which may be zero. */
export const CHARGED_MOVEMENTS = [
  'withdrawal',
  'payout_item',
  'bank_transfer_payment',
  'virtual_wallet_payment',
  'transfer',
] as const;

/** What moves between two wallets is free. */
export const WALLET_FEE: Kobo = 0;

/** The fee of a movement of this amount, in addition to the amount. */
export function feeOf(
  { collection, bankTransfer }: FeeSchedule,
  movement: (typeof CHARGED_MOVEMENTS)[number],
  amount: Kobo,
): Kobo {
  switch (movement) {
    case 'withdrawal':
    case 'payout_item':
      return feeBy(bankTransfer, amount);
    case 'bank_transfer_payment':
      return feeBy(collection, amount);
    case 'virtual_wallet_payment':
    case 'transfer':
      return WALLET_FEE;
  }
}
