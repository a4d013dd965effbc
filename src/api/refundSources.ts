// Which wallets give a refund: by default each wallet of the payment in proportion, those that the request names, or
// another wallet in their place.
import { z } from 'zod';
import { parseId, publicId } from '../ids.ts';
import type { Kobo } from '../money.ts';
import { takeHeld } from '../resources/holds/movements.ts';
import type { Hold } from '../resources/holds/queries.ts';
import type { Payment } from '../resources/payments/queries.ts';
import type { RefundSource } from '../resources/refunds/queries.ts';
import { findWallet, type Wallet } from '../resources/wallets/queries.ts';
import { refundableParts, refundParts, SPLITS_MAX, type WalletAmount } from '../workflows/payment/splits.ts';
import { ApiError, type FieldError, invalidField } from './errors.ts';
import { requireRow } from './requireRow.ts';
import { type Call, requireScope } from './route.ts';
import { amount, id, optional } from './schemas.ts';
import { repeatedWallet, requireTransaction, requireUsable } from './walletRefusal.ts';

/** Of a request: how much, and from which wallets. */
export const refundSourceFields = {
  amount: optional(amount),
  from: optional(
    z
      .array(z.strictObject({ walletId: id, amount }))
      .min(1)
      .max(SPLITS_MAX + 1),
  ),
  fundedBy: optional(id),
  recover: optional(z.boolean()),
};

type Wanted = z.output<z.ZodObject<typeof refundSourceFields>>;

/** The amount that a request names, also by its wallets; undefined: all that is left. Throws VALIDATION_FAILED. */
export function requestedAmount({ amount: wanted, from }: Wanted): Kobo | undefined {
  const sum = from?.reduce((total, part) => total + part.amount, 0);
  if (wanted === undefined || sum === undefined || wanted === sum) return wanted ?? sum;
  const message = 'must be the sum of from, or left out';
  throw invalidField({ field: 'amount', code: 'custom', message, constraint: { equals: sum } });
}

/** The wallet that gives the money in place of the others. */
export interface Funding {
  wallet: Wallet;
  recovers: boolean;
}

/**
 * Throws API_KEY_SCOPE_FORBIDDEN for a key without the scope `wallet`, because any wallet can be named; and the errors
 * of a wallet that cannot pay. What is owed to another wallet than a settlement wallet would be owed to a customer.
 */
export async function readFunding(call: Call<Wanted>): Promise<Funding | null> {
  const { fundedBy, recover: recovers = false } = call.body;
  if (fundedBy === undefined) {
    if (!recovers) return null;
    throw invalidField({ field: 'recover', code: 'custom', message: 'needs fundedBy' });
  }
  requireScope(call.caller, ['wallet']);
  const wallet = await requireRow(call, 'wallet', findWallet, fundedBy);
  requireUsable(wallet);
  if (recovers && wallet.kind !== 'settlement') {
    const message = 'must be a settlement wallet where recover is true';
    throw invalidField({ field: 'fundedBy', code: 'custom', message });
  }
  return { wallet, recovers };
}

/**
 * What each wallet gives of a refund, of these open holds of the payment before its balance; empty: all of it is in the
 * target's balance. `holds`: those that give a part, afterwards. Throws for wallets that cannot give it.
 */
export function refundSources(
  payment: Payment,
  total: Kobo,
  { from }: Wanted,
  funding: Funding | null,
  open: readonly Hold[],
): { sources: RefundSource[]; holds: Hold[] } {
  if (payment.splits.length === 0 && from === undefined && funding === null && open.length === 0)
    return { sources: [], holds: [] };
  const parts = from === undefined ? refundParts(payment, total) : requireParts(payment, from);
  if (funding !== null) requireTransaction(funding.wallet, total);
  const given = parts.map(({ walletId: onBehalfOf, amount: part }) => {
    const walletId = funding?.wallet.id ?? onBehalfOf;
    const owed = funding?.recovers === true && walletId !== onBehalfOf ? part : 0;
    const { taken: held, holds } = takeHeld(walletId === onBehalfOf ? open : [], walletId, part);
    const source = { walletId, onBehalfOf, amount: part, held, clawedBack: null, suspended: 0, owed, repaid: 0 };
    return { source, holds };
  });
  return { sources: given.map(({ source }) => source), holds: given.flatMap(({ holds }) => holds) };
}

/** The named wallets of the payment, each with no more than it was credited and has not given back. */
function requireParts(payment: Payment, from: NonNullable<Wanted['from']>): WalletAmount[] {
  const refundable = refundableParts(payment);
  const ids = from.map(({ walletId }) => walletId);
  const fieldOf = (position: number): string => `from.${position}.walletId`;
  const fields = ids.flatMap((walletId, position): FieldError[] => {
    const repeated = repeatedWallet(ids, position, fieldOf);
    if (repeated !== null) return [repeated];
    const isKnown = refundable.some((part) => publicId('wallet', part.walletId) === walletId);
    return isKnown
      ? []
      : [{ field: fieldOf(position), code: 'custom', message: 'must be a wallet that the payment credited' }];
  });
  if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
  return from.map(({ walletId, amount: attemptedAmount }) => {
    const part = refundable.find((one) => one.walletId === parseId('wallet', walletId)) as WalletAmount;
    if (attemptedAmount <= part.amount) return { walletId: part.walletId, amount: attemptedAmount };
    throw new ApiError('REFUND_AMOUNT_EXCEEDED', {
      paymentId: publicId('payment', payment.id),
      walletId,
      refundableAmount: part.amount,
      attemptedAmount,
    });
  });
}
