// What is held of a payment: beside which wallets its money is credited, and what refunds and recalls take of it.
import type { Uuid } from '../../ids.ts';
import { type AccountCode, heldAccount, walletAccount } from '../../ledger/chart.ts';
import type { Leg } from '../../ledger/postings.ts';
import type { Kobo } from '../../money.ts';
import type { WalletAmount } from '../../workflows/payment/splits.ts';
import type { Payment } from '../payments/queries.ts';
import { cancelledHold, newHold } from './movements.ts';
import { amountHeld, type Hold } from './queries.ts';

/** The fields of a payment that say what is held. */
export type HeldPayment = Pick<Payment, 'id' | 'targetWalletId' | 'hold' | 'splits' | 'payerWalletId'>;

/** How long the part of a wallet is held; null: it is not. */
const termsOf = ({ targetWalletId, hold, splits }: HeldPayment, walletId: Uuid) =>
  walletId === targetWalletId ? hold : (splits.find((split) => split.walletId === walletId)?.hold ?? null);

export const isHeldFor = (payment: HeldPayment, walletId: Uuid): boolean => termsOf(payment, walletId) !== null;

/** The account on which a wallet gets money of a payment. */
const creditedAccount = (payment: HeldPayment, walletId: Uuid): AccountCode =>
  (isHeldFor(payment, walletId) ? heldAccount : walletAccount)(walletId);

export const creditLegs = (payment: HeldPayment, parts: readonly WalletAmount[]): Leg[] =>
  parts.map(({ walletId, amount }) => ({ account: creditedAccount(payment, walletId), amount }));

/** The holds of what wallets of a payment are credited. */
export const holdsOf = (payment: HeldPayment, parts: readonly WalletAmount[]): Hold[] =>
  parts.flatMap(({ walletId, amount }) => {
    const terms = termsOf(payment, walletId);
    if (terms === null || amount === 0) return [];
    const releaseAt = terms.releaseAt === null ? null : new Date(terms.releaseAt);
    const of = { sourceWalletId: payment.payerWalletId, transferId: null, paymentId: payment.id };
    return [newHold({ ...of, walletId, amount, releaseAt, createdAt: new Date() })];
  });

/** Takes up to `amount` of what is held for a wallet, in the order of the holds. `holds`: those that change. */
export function takeHeld(open: readonly Hold[], walletId: Uuid, amount: Kobo): { taken: Kobo; holds: Hold[] } {
  let left = amount;
  const holds = open.flatMap((hold) => {
    const part = hold.walletId === walletId ? Math.min(left, amountHeld(hold)) : 0;
    left -= part;
    return part === 0 ? [] : [cancelledHold(hold, part)];
  });
  return { taken: amount - left, holds };
}
