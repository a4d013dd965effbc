// The rules of splits as pure functions: how the base amount of a payment is divided among wallets, and what each of
// them gets of the money, and gives back of it.
import type { Uuid } from '../../ids.ts';
import { apportion, type Kobo, sumOf } from '../../money.ts';
import type { RefundablePayment } from '../refund/decide.ts';

export const SPLITS_MAX = 20;
/** All of an amount: a basis point is a hundredth of a per cent. */
export const BASIS_POINTS_MAX = 10_000;

/** How long a part of a payment is held for its wallet: until a time, ISO 8601; null: until a request releases it. */
export interface HoldTerms {
  releaseAt: string | null;
}

/** A part of the base amount of a payment that goes to another wallet than its target. */
export interface Split {
  walletId: Uuid;
  amount: Kobo;
  /** Null: the request named the amount. */
  basisPoints: number | null;
  reference: string | null;
  description: string | null;
  /** What it bears of the fee, and `amount` is without; left out: it bears none. */
  feeBorne?: Kobo | undefined;
  /** Left out: what the wallet gets is in its balance at once. */
  hold?: HoldTerms | undefined;
  /** All of `amount` once the payment is settled, unless the wallet did not take it. */
  amountCredited: Kobo;
  /** What refunds that have not failed give back of it. */
  amountRefunded: Kobo;
}

/** A split as it is requested: `amount` or `basisPoints`. */
export interface WantedSplit {
  amount?: Kobo | null;
  basisPoints?: number | null;
}

/**
 * The amounts of splits, in their order; null: together they exceed the base amount. Amounts by basis points and the
 * rest, which is the target's, are rounded by largest remainder.
 */
export function splitAmounts(base: Kobo, wanted: readonly WantedSplit[]): Kobo[] | null {
  const open = base - sumOf(wanted.map(({ amount }) => amount ?? 0));
  const weights = wanted.map(({ basisPoints }) => BigInt(base) * BigInt(basisPoints ?? 0));
  const rest = weights.reduce((left, weight) => left - weight, BigInt(open) * BigInt(BASIS_POINTS_MAX));
  if (rest < 0n) return null;
  const parts = apportion(open, [...weights, rest]);
  return wanted.map(({ amount }, position) => amount ?? parts[position] ?? 0);
}

/**
 * The splits, where those that bear the fee of their payment bear it in proportion to their amounts, by largest
 * remainder. Null: one of them would be left nothing.
 */
export function splitsBearing(splits: readonly Split[], fee: Kobo): Split[] | null {
  const weights = splits.map(({ amount, feeBorne }) => (feeBorne === undefined ? 0 : amount));
  if (sumOf(weights) <= fee) return null;
  const fees = apportion(fee, weights);
  const bearing = splits.map((split, position) => {
    const feeBorne = fees[position] ?? 0;
    return split.feeBorne === undefined ? split : { ...split, amount: split.amount - feeBorne, feeBorne };
  });
  return bearing.every(({ amount }) => amount > 0) ? bearing : null;
}

/** The splits of a payment that settles, where these wallets do not take their parts. */
export const settledSplits = (splits: readonly Split[], refusing: ReadonlySet<Uuid>): Split[] =>
  splits.map((split) => (refusing.has(split.walletId) ? split : { ...split, amountCredited: split.amount }));

/**
 * The splits of a payment that is credited with `amount` more of its `net` amount, after `credited`: each wallet, the
 * target too, gets its share of what it is still due, by largest remainder. What exceeds `net` is the target's.
 */
export function splitsCreditedBy(
  splits: readonly Split[],
  { amount, credited, net }: { amount: Kobo; credited: Kobo; net: Kobo },
): Split[] {
  const due = splits.map((split) => split.amount - split.amountCredited);
  const open = Math.max(0, net - credited);
  const parts = apportion(Math.min(amount, open), [...due, Math.max(0, open - sumOf(due))]);
  return splits.map((split, position) => ({
    ...split,
    amountCredited: split.amountCredited + (parts[position] ?? 0),
  }));
}

/** What wallets are credited when the splits of a payment change, without those that are not. */
export const creditsOf = (before: readonly Split[], after: readonly Split[]): WalletAmount[] =>
  after
    .map(({ walletId, amountCredited }, position) => ({
      walletId,
      amount: amountCredited - (before[position]?.amountCredited ?? 0),
    }))
    .filter(({ amount }) => amount > 0);

/** The parts of a payment whose wallets did not take them when it settled. */
export const refusedParts = (splits: readonly Split[]): WalletAmount[] =>
  splits
    .map(({ walletId, amount, amountCredited }) => ({ walletId, amount: amount - amountCredited }))
    .filter(({ amount }) => amount > 0);

export const totalOf = (amounts: readonly WalletAmount[]): Kobo => sumOf(amounts.map(({ amount }) => amount));

export interface WalletAmount {
  walletId: Uuid;
  amount: Kobo;
}

/** The fields of a payment that say what each wallet can give back. */
export interface SplitPayment extends Omit<RefundablePayment, 'status'> {
  targetWalletId: Uuid;
  splits: readonly Split[];
}

/** What each wallet of a payment was credited and has not given back. The target bears recalls. */
export function refundableParts(payment: SplitPayment): WalletAmount[] {
  const { targetWalletId, splits, amountCredited, amountRecalled, amountRefunding, amountRefunded } = payment;
  const ofTarget =
    amountCredited -
    sumOf(splits.map((split) => split.amountCredited)) -
    amountRecalled -
    (amountRefunding + amountRefunded - sumOf(splits.map((split) => split.amountRefunded)));
  const parts = splits.map((split) => ({
    walletId: split.walletId,
    amount: split.amountCredited - split.amountRefunded,
  }));
  return [{ walletId: targetWalletId, amount: ofTarget }, ...parts].map(({ walletId, amount }) => ({
    walletId,
    amount: Math.max(0, amount),
  }));
}

/** What each wallet gives of a refund: in proportion to what it can give back. */
export function refundParts(payment: SplitPayment, amount: Kobo): WalletAmount[] {
  const refundable = refundableParts(payment);
  const parts = apportion(
    amount,
    refundable.map((part) => part.amount),
  );
  return refundable
    .map(({ walletId }, position) => ({ walletId, amount: parts[position] ?? 0 }))
    .filter((part) => part.amount > 0);
}
