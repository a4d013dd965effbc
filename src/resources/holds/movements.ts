// Ledger movements of a hold: money that was credited beside a wallet is released to it, whole or in parts. What a
// transfer has posted there can go back to the wallet that paid; what a payment has, by a refund. And what is held of a
// payment: beside which wallets its money is credited, and what refunds and recalls take of it.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, heldAccount, walletAccount } from '../../ledger/chart.ts';
import type { Decision, Movement } from '../../ledger/movement.ts';
import type { Leg } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import type { WalletAmount } from '../../workflows/payment/splits.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { startHold, wakeHold } from '../flows.ts';
import { newTransaction, together } from '../movement.ts';
import type { Payment } from '../payments/queries.ts';
import { holdView } from '../views.ts';
import { amountHeld, type Hold } from './queries.ts';

export type NewHold = Omit<Hold, 'id' | 'version' | 'status' | 'amountReleased' | 'amountCancelled' | 'endedAt'>;

export const newHold = (request: NewHold): Hold => ({
  ...request,
  id: newUuid(),
  version: 1,
  status: 'held',
  amountReleased: 0,
  amountCancelled: 0,
  endedAt: null,
});

/** The hold after a part, or all, of what it holds was released. */
export function releasedHold(hold: Hold, amount: Kobo): Hold {
  const amountReleased = hold.amountReleased + amount;
  const isLast = amount === amountHeld(hold);
  return nextVersion(hold, { amountReleased, ...(isLast && { status: 'released', endedAt: new Date() }) });
}

/** Releases to the wallet, under its rules. `next`: the hold afterwards. */
export function releaseHold(book: Book, hold: Hold, next: Hold, decision?: Decision): Movement {
  const amount = next.amountReleased - hold.amountReleased;
  return {
    book,
    transaction: newTransaction(publicId('hold', hold.id), `release/${next.version}`, 'hold_release', [
      { debit: heldAccount(hold.walletId), credit: walletAccount(hold.walletId), amount },
    ]),
    rows: { holds: [next] },
    events: [holdEvent('hold.released', next)],
    ...(decision && { decision }),
  };
}

/** The hold after a part, or all, of what it holds went back. */
export function cancelledHold(hold: Hold, amount: Kobo = amountHeld(hold)): Hold {
  const amountCancelled = hold.amountCancelled + amount;
  const isLast = amount === amountHeld(hold);
  return nextVersion(hold, { amountCancelled, ...(isLast && { status: 'cancelled', endedAt: new Date() }) });
}

/** Adds holds to a movement: new ones, and those of which it takes what goes back. */
export const withHolds = (movement: Movement, holds: readonly Hold[]): Movement =>
  together(movement, {
    rows: { holds },
    events: holds.map((hold) => holdEvent(hold.version === 1 ? 'hold.created' : 'hold.cancelled', hold)),
    outbox: holds.map((hold) => (hold.version === 1 ? startHold : wakeHold)(movement.book, hold)),
  });

export const holdEvent = (type: 'hold.created' | 'hold.released' | 'hold.cancelled', hold: Hold) =>
  newEvent(type, publicId('hold', hold.id), holdView(hold));

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
