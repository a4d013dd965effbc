// Ledger movements of a hold: money that was credited beside a wallet is released to it, whole or in parts. What a
// transfer has posted there can go back to the wallet that paid; what a payment has, by a refund.
import { newUuid, publicId } from '../../ids.ts';
import { heldAccount, walletAccount } from '../../ledger/chart.ts';
import type { Decision, Movement, Transaction } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { startHold, wakeHold } from '../flows.ts';
import { holdView } from '../views.ts';
import { amountHeld, type Hold } from './queries.ts';

export type NewHold = Pick<
  Hold,
  'walletId' | 'sourceWalletId' | 'transferId' | 'paymentId' | 'amount' | 'releaseAt' | 'createdAt'
>;

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
    transaction: {
      ...transactionOf(next, `release/${next.version}`, 'hold_release'),
      rules: 'enforced',
      postings: [{ debit: heldAccount(hold.walletId), credit: walletAccount(hold.walletId), amount }],
    },
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

export const transactionOf = ({ id }: Hold, step: string, kind: string): Omit<Transaction, 'rules' | 'postings'> => ({
  id: newUuid(),
  key: `${publicId('hold', id)}/${step}`,
  kind,
  resource: publicId('hold', id),
  effectiveAt: new Date(),
});

/** Adds holds to a movement: new ones, and those of which it takes what goes back. */
export const withHolds = (movement: Movement, holds: readonly Hold[]): Movement => ({
  ...movement,
  rows: { ...movement.rows, holds },
  events: [
    ...(movement.events ?? []),
    ...holds.map((hold) => holdEvent(hold.version === 1 ? 'hold.created' : 'hold.cancelled', hold)),
  ],
  outbox: [
    ...(movement.outbox ?? []),
    ...holds.map((hold) => (hold.version === 1 ? startHold : wakeHold)(movement.book, hold)),
  ],
});

export const holdEvent = (type: 'hold.created' | 'hold.released' | 'hold.cancelled', hold: Hold) =>
  newEvent(type, publicId('hold', hold.id), holdView(hold));
