// Fee schedules: their rules, which of them a movement has, and its fee by that. Pure functions on whole kobo. What no
// schedule has a rule for is charged as in the contract (section 8).
import { z } from 'zod';
import { parseId, publicId, type Uuid } from '../ids.ts';
import type { Kobo } from '../money.ts';

/** The kinds of movement that have a fee, which may be zero. */
export const CHARGED_MOVEMENTS = [
  'withdrawal',
  'payout_item',
  'bank_transfer_payment',
  'virtual_wallet_payment',
  'transfer',
] as const;
type ChargedMovement = (typeof CHARGED_MOVEMENTS)[number];

/** No rail carries these, so none has a rule for them. */
const OF_NO_RAIL: readonly ChargedMovement[] = ['virtual_wallet_payment', 'transfer'];

const share = z.number().int().min(0).max(10_000);
const kobo = z.number().int().min(0).max(1_000_000_000);

/** A share of the amount in hundredths of a per cent, half a kobo rounded up, within bounds; and a flat fee on top. */
const terms = { basisPoints: share, min: kobo, max: kobo, flat: kobo };
type Terms = Record<keyof typeof terms, number>;

const isBounded = ({ min, max }: Terms): boolean => min <= max;
const NOT_BOUNDED = { message: 'must not be greater than max', path: ['min'] };

/** Terms from a volume on. */
const tier = z
  .strictObject({ volume: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER), ...terms })
  .refine(isBounded, NOT_BOUNDED);

const rule = z
  .strictObject({
    movement: z.enum(CHARGED_MOVEMENTS),
    rail: z.string().min(1).optional(),
    walletId: z
      .string()
      .refine((id) => parseId('wallet', id) !== null, 'must be a wallet id')
      .optional(),
    ...terms,
    tiers: z.array(tier).min(1).max(20).optional(),
  })
  .refine(isBounded, NOT_BOUNDED)
  .refine(({ movement, rail }) => rail === undefined || !OF_NO_RAIL.includes(movement), {
    message: 'must be left out: no rail carries this movement',
    path: ['rail'],
  })
  .refine(({ tiers = [] }) => tiers.every(({ volume }, index) => volume > (tiers[index - 1]?.volume ?? 0)), {
    message: 'must have rising volumes',
    path: ['tiers'],
  });
export type FeeRule = z.infer<typeof rule>;

/** Whether no movement gets to a rule, because it has an earlier one already. */
const isUnreachable = (later: FeeRule, earlier: FeeRule): boolean =>
  earlier.movement === later.movement &&
  [undefined, later.rail].includes(earlier.rail) &&
  [undefined, later.walletId].includes(earlier.walletId);

/** The first rule that fits counts. `feeBearer`: of payments that do not say who bears their fee. */
export const feeSchedule = z.strictObject({
  feeBearer: z.enum(['payer', 'merchant']).optional(),
  rules: z
    .array(rule)
    .max(200)
    .default([])
    .superRefine((rules, context) => {
      for (const [index, later] of rules.entries()) {
        const before = rules.slice(0, index).findIndex((earlier) => isUnreachable(later, earlier));
        if (before === -1) continue;
        const message = `must come before rules.${before}, which applies to all that it does`;
        context.addIssue({ code: 'custom', message, path: [index] });
      }
    }),
});
export type FeeSchedule = z.infer<typeof feeSchedule>;

/** What is charged in a book: rules by precedence, and its volumes of this month, by which their tiers are chosen. */
export interface Fees {
  feeBearer: 'payer' | 'merchant';
  rules: readonly FeeRule[];
  volumes: Partial<Record<ChargedMovement, Kobo>>;
}

const COLLECTION: Terms = { basisPoints: 100, min: 500, max: 18_000, flat: 0 };
const TO_BANK: Terms = { ...COLLECTION, flat: 2_000 };
const FREE: Terms = { basisPoints: 0, min: 0, max: 0, flat: 0 };

/** The contract, section 8: where schedules have no rule. */
export const CONTRACT_FEES: Fees = {
  feeBearer: 'payer',
  rules: [
    { movement: 'bank_transfer_payment', ...COLLECTION },
    { movement: 'withdrawal', ...TO_BANK },
    { movement: 'payout_item', ...TO_BANK },
    { movement: 'virtual_wallet_payment', ...FREE },
    { movement: 'transfer', ...FREE },
  ],
  volumes: {},
};

/** The fees by these schedules, in their order, and the contract. */
export const feesBy = (schedules: readonly FeeSchedule[], volumes: Fees['volumes']): Fees => ({
  feeBearer: schedules.find(({ feeBearer }) => feeBearer !== undefined)?.feeBearer ?? CONTRACT_FEES.feeBearer,
  rules: [...schedules.flatMap(({ rules }) => rules), ...CONTRACT_FEES.rules],
  volumes,
});

export interface Charge {
  movement: ChargedMovement;
  /** The rail that carries it; null: none does. */
  rail: string | null;
  /** The target of a payment, the source of anything else; null: one without a rule of its own. */
  walletId: Uuid | null;
}

/** The fee of a movement of this amount, in addition to the amount. */
export function feeOf({ rules, volumes }: Fees, { movement, rail, walletId }: Charge, amount: Kobo): Kobo {
  const wallet = walletId === null ? null : publicId('wallet', walletId);
  const applied = rules.find(
    (one) => one.movement === movement && (one.rail ?? rail) === rail && (one.walletId ?? wallet) === wallet,
  );
  if (applied === undefined) throw new Error(`the contract has no fee of a ${movement}`);
  const volume = volumes[movement] ?? 0;
  return feeBy(applied.tiers?.findLast((one) => one.volume <= volume) ?? applied, amount);
}

/** The fee by these terms. Exact for every safe integer. */
function feeBy({ basisPoints, min, max, flat }: Terms, amount: Kobo): Kobo {
  const rounded = Number((BigInt(amount) * BigInt(basisPoints) + 5_000n) / 10_000n);
  return Math.min(max, Math.max(min, rounded)) + flat;
}
