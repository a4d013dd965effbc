// The wallets that a payment is for: its target and those of its splits, checked before a payer gets payment details.
import { z } from 'zod';
import { parseId, publicId } from '../ids.ts';
import type { Kobo } from '../money.ts';
import { findSplitTemplate, type SavedSplit } from '../resources/splitTemplates.ts';
import { findWallets, type Wallet } from '../resources/wallets/queries.ts';
import { netAmount, type Price } from '../workflows/payment/decide.ts';
import {
  BASIS_POINTS_MAX,
  type HoldTerms,
  SPLITS_MAX,
  type Split,
  splitAmounts,
  splitsBearing,
  totalOf,
  type WantedSplit,
} from '../workflows/payment/splits.ts';
import { ApiError, invalidField, notFound } from './errors.ts';
import { holdField, releaseTimeOf } from './holdRequest.ts';
import { requireRow } from './requireRow.ts';
import type { Call } from './route.ts';
import { amount, id, optional, optionalOrNull, reference, text } from './schemas.ts';
import { repeatedWallet, requireRoom } from './walletRefusal.ts';

const splitBody = z
  .strictObject({
    walletId: id,
    amount: optionalOrNull(amount),
    basisPoints: optionalOrNull(z.number().int().min(1).max(BASIS_POINTS_MAX)),
    reference: optionalOrNull(reference),
    description: optionalOrNull(text(500)),
    hold: optional(holdField),
    bearsFee: optional(z.boolean()),
  })
  .refine((split) => (split.amount === null) !== (split.basisPoints === null), {
    message: 'must have exactly one of amount and basisPoints',
  });

export const splitsBody = z.array(splitBody).max(SPLITS_MAX);

type SplitBody = z.infer<typeof splitBody>;

interface Wanted {
  targetWalletId: string;
  baseAmount: Kobo;
  splits: readonly SplitBody[];
  splitTemplateId?: string | undefined;
}

/** The terms of a hold that a request names. Throws as `releaseTimeOf`. */
export const termsOf = (hold: z.output<typeof holdField>, now: Date, field?: string): HoldTerms => ({
  releaseAt: releaseTimeOf(hold, now, field)?.toISOString() ?? null,
});

/** The target of a payment, its splits before the fee, their wallets, and the field that named them. */
interface PaymentWallets {
  target: Wallet;
  splits: readonly Split[];
  others: readonly Wallet[];
  field: SplitsField;
}

/**
 * The wallets of a payment and its splits, its own or those of a template, with their amounts. Throws VALIDATION_FAILED
 * where a wallet is named twice or the splits exceed the base amount, SPLIT_TEMPLATE_NOT_FOUND and WALLET_NOT_FOUND.
 */
export async function requireWallets(
  call: Pick<Call, 'sql' | 'book' | 'params' | 'now'>,
  body: Wanted,
): Promise<PaymentWallets> {
  const { targetWalletId, baseAmount } = body;
  const { splits, field } = await readSplits(call, body);
  const ids = [targetWalletId, ...splits.map(({ walletId }) => walletId)];
  requireDistinct(ids, field);
  const amounts = requireWithin(baseAmount, splits, field);
  const [target, ...others] = (await readWallets(call, ids)) as [Wallet, ...Wallet[]];
  return {
    target,
    others,
    field,
    splits: splits.map(({ hold, bearsFee, ...split }, position) => ({
      ...split,
      walletId: (others[position] as Wallet).id,
      amount: amounts[position] ?? 0,
      ...(bearsFee === true && { feeBorne: 0 }),
      ...(hold && { hold: termsOf(hold, call.now, field === 'splits' ? `splits.${position}.hold.releaseAt` : field) }),
      amountCredited: 0,
      amountRefunded: 0,
    })),
  };
}

/**
 * The splits with what each bears of the fee. Throws VALIDATION_FAILED where `feeBearer` says otherwise, a split would
 * be left nothing or the target less than its fee, and the refusals that the credit of a wallet would meet.
 */
export function requireParts({ target, splits, others, field }: PaymentWallets, price: Price): readonly Split[] {
  const bearing = requireBearing(splits, price, field);
  const ofTarget = netAmount(price) - totalOf(bearing);
  if (ofTarget < 0) {
    const message = 'must together be at most baseAmount less the fee';
    throw invalidField({ field, code: 'too_big', message, constraint: { maximum: netAmount(price) } });
  }
  requireRoom(target, ofTarget);
  for (const [position, { amount: part }] of bearing.entries()) requireRoom(others[position] as Wallet, part);
  return bearing;
}

/** Splits to save. Throws VALIDATION_FAILED if a wallet is named twice or they exceed 100 %, and WALLET_NOT_FOUND. */
export async function requireSavedSplits(
  call: Pick<Call, 'sql' | 'book' | 'now'>,
  splits: readonly SplitBody[],
): Promise<SavedSplit[]> {
  const ids = splits.map(({ walletId }) => walletId);
  requireDistinct(['', ...ids], 'splits');
  const shares = splits.map(({ basisPoints }) => ({ basisPoints }));
  requireWithin(BASIS_POINTS_MAX, shares, 'splits');
  const wallets = await readWallets(call, ids);
  return splits.map(({ hold, ...split }, index) => ({
    ...split,
    walletId: wallets[index]?.id ?? '',
    ...(hold && { hold: termsOf(hold, call.now, `splits.${index}.hold.releaseAt`) }),
  }));
}

/** The splits of a request, and the field that named them. */
async function readSplits(
  call: Pick<Call, 'sql' | 'book' | 'params'>,
  { splits, splitTemplateId }: Wanted,
): Promise<{ splits: readonly SplitBody[]; field: SplitsField }> {
  if (splitTemplateId === undefined) return { splits, field: 'splits' };
  const field = 'splitTemplateId' as const;
  if (splits.length > 0) throw invalidField({ field, code: 'custom', message: 'must be left out beside splits' });
  const template = await requireRow(call, 'split_template', findSplitTemplate, splitTemplateId);
  const saved = template.splits.map(({ hold, ...split }) => ({
    ...split,
    walletId: publicId('wallet', split.walletId),
    hold: hold && { releaseAt: hold.releaseAt === null ? null : new Date(hold.releaseAt) },
  }));
  return { splits: saved, field };
}

/** The wallets with these ids, in their order. Throws WALLET_NOT_FOUND. */
async function readWallets({ sql, book }: Pick<Call, 'sql' | 'book'>, ids: readonly string[]): Promise<Wallet[]> {
  const uuids = ids.flatMap((walletId) => parseId('wallet', walletId) ?? []);
  const found = await findWallets(sql, book, uuids);
  return ids.map((walletId) => {
    const wallet = found.find((one) => publicId('wallet', one.id) === walletId);
    if (wallet === undefined) throw notFound('wallet', walletId);
    return wallet;
  });
}

/** Which field named the splits. */
type SplitsField = 'splits' | 'splitTemplateId';

/** Throws VALIDATION_FAILED, which names each split whose wallet is the target or that of an earlier split. */
function requireDistinct(ids: readonly string[], field: SplitsField): void {
  const fieldOf = (position: number): string => {
    if (position === 0) return 'targetWalletId';
    return field === 'splits' ? `splits.${position - 1}.walletId` : field;
  };
  const fields = ids.flatMap((_, position) => repeatedWallet(ids, position, fieldOf) ?? []);
  if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
}

/** The splits with what each bears of the fee. */
function requireBearing(splits: readonly Split[], { fee, feeBearer }: Price, field: SplitsField): readonly Split[] {
  const isBorne = splits.some(({ feeBorne }) => feeBorne !== undefined);
  if (isBorne !== (feeBearer === 'split')) {
    const message = 'must be split if a split has bearsFee, and only then';
    throw invalidField({ field: 'feeBearer', code: 'custom', message });
  }
  const bearing = isBorne ? splitsBearing(splits, fee) : splits;
  if (bearing !== null) return bearing;
  const message = 'must get more than the fee where they bear it';
  throw invalidField({ field, code: 'too_small', message, constraint: { minimum: fee + 1 } });
}

/** The amounts of the splits. Throws VALIDATION_FAILED if they exceed the base amount together. */
function requireWithin(maximum: Kobo, splits: readonly WantedSplit[], field: SplitsField): Kobo[] {
  const amounts = splitAmounts(maximum, splits);
  if (amounts !== null) return amounts;
  const message = 'must together be at most 100 % of baseAmount';
  throw invalidField({ field, code: 'too_big', message, constraint: { maximum } });
}
