// The wallets that a payment is for: its target and those of its splits, checked before a payer gets payment details.
import { z } from 'zod';
import { parseId, publicId } from '../ids.ts';
import type { Kobo } from '../money.ts';
import { findWallets, type Wallet } from '../resources/wallets/queries.ts';
import { BASIS_POINTS_MAX, SPLITS_MAX, type Split, splitAmounts } from '../workflows/payment/splits.ts';
import { ApiError, type FieldError, invalidField, notFound } from './errors.ts';
import type { Call } from './route.ts';
import { amount, id, optional, reference, text } from './schemas.ts';
import { requireRoom } from './walletRefusal.ts';

const splitBody = z
  .strictObject({
    walletId: id,
    amount: optional(amount),
    basisPoints: optional(z.number().int().min(1).max(BASIS_POINTS_MAX)),
    reference: optional(reference),
    description: optional(text(500)),
  })
  .refine((split) => (split.amount === undefined) !== (split.basisPoints === undefined), {
    message: 'must have exactly one of amount and basisPoints',
  });

export const splitsBody = z.array(splitBody).max(SPLITS_MAX);

interface PaymentWallets {
  targetWalletId: string;
  baseAmount: Kobo;
  splits: readonly z.infer<typeof splitBody>[];
}

/**
 * The target of a payment and its splits, with their amounts. Throws VALIDATION_FAILED where a wallet is named twice or
 * the splits exceed the base amount, WALLET_NOT_FOUND, and the refusals that the credit of a wallet would meet.
 */
export async function requireWallets(
  { sql, book }: Pick<Call, 'sql' | 'book'>,
  { targetWalletId, baseAmount, splits }: PaymentWallets,
): Promise<{ target: Wallet; splits: Split[] }> {
  const ids = [targetWalletId, ...splits.map(({ walletId }) => walletId)];
  requireDistinct(ids);
  const amounts = requireWithin(baseAmount, splits);
  const found = await findWallets(
    sql,
    book,
    ids.flatMap((walletId) => parseId('wallet', walletId) ?? []),
  );
  const wallets = ids.map((walletId) => {
    const wallet = found.find((one) => publicId('wallet', one.id) === walletId);
    if (wallet === undefined) throw notFound('wallet', walletId);
    return wallet;
  });
  const [target, ...others] = wallets as [Wallet, ...Wallet[]];
  const rest = amounts.reduce((left, part) => left - part, baseAmount);
  requireRoom(target, rest);
  return {
    target,
    splits: others.map((wallet, position) => {
      const { basisPoints = null, reference = null, description = null } = splits[position] ?? {};
      const part = amounts[position] ?? 0;
      requireRoom(wallet, part);
      return {
        walletId: wallet.id,
        amount: part,
        basisPoints,
        reference,
        description,
        amountCredited: 0,
        amountRefunded: 0,
      };
    }),
  };
}

/** Throws VALIDATION_FAILED, which names each split whose wallet is the target or that of an earlier split. */
function requireDistinct(ids: readonly string[]): void {
  const fieldOf = (position: number): string => (position === 0 ? 'targetWalletId' : `splits.${position - 1}.walletId`);
  const fields = ids.flatMap((walletId, position): FieldError[] => {
    const sameAs = fieldOf(ids.indexOf(walletId));
    if (sameAs === fieldOf(position)) return [];
    const message = `must be another wallet than ${sameAs}`;
    return [{ field: fieldOf(position), code: 'duplicate', message, constraint: { sameAs } }];
  });
  if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
}

/** The amounts of the splits. Throws VALIDATION_FAILED if they exceed the base amount together. */
function requireWithin(maximum: Kobo, splits: PaymentWallets['splits']): Kobo[] {
  const amounts = splitAmounts(maximum, splits);
  if (amounts !== null) return amounts;
  const message = 'must together be at most baseAmount';
  throw invalidField({ field: 'splits', code: 'too_big', message, constraint: { maximum } });
}
