// Ledger movements of a hold: money that was credited beside a wallet is released to it, whole or in parts, or goes
// back to the wallet that paid. What created the hold has posted the money there (transfers/movements.ts).
import { newUuid, publicId } from '../../ids.ts';
import { heldAccount, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Decision, Movement, Transaction } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { openReviewCase, type ReturnRefusal, withCaseFlows } from '../reviewCases/movements.ts';
import { holdView } from '../views.ts';
import { amountHeld, type Hold } from './queries.ts';

export type NewHold = Pick<Hold, 'walletId' | 'sourceWalletId' | 'transferId' | 'amount' | 'releaseAt' | 'createdAt'>;

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

/** The hold after what it holds went back. */
export const cancelledHold = (hold: Hold): Hold =>
  nextVersion(hold, { amountCancelled: amountHeld(hold), status: 'cancelled', endedAt: new Date() });

/** Gives what is held back to the wallet that paid. `refusal`: why that takes nothing, so that it goes to suspense. */
export function cancelHold(book: Book, next: Hold, refusal: ReturnRefusal, decision?: Decision): Movement {
  const { walletId, sourceWalletId, amountCancelled: amount } = next;
  const back = { reason: refusal ?? 'over_limit', amount, accountCode: UNMATCHED, walletId: sourceWalletId } as const;
  return withCaseFlows({
    book,
    transaction: {
      ...transactionOf(next, 'cancellation', 'hold_cancellation'),
      rules: 'credit_exempt',
      postings: [
        {
          debit: heldAccount(walletId),
          credit: refusal === null ? walletAccount(sourceWalletId) : UNMATCHED,
          amount,
        },
      ],
    },
    rows: { holds: [next], review_cases: refusal === null ? [] : [openReviewCase(back)] },
    events: [holdEvent('hold.cancelled', next)],
    ...(decision && { decision }),
  });
}

const transactionOf = ({ id }: Hold, step: string, kind: string): Omit<Transaction, 'rules' | 'postings'> => ({
  id: newUuid(),
  key: `${publicId('hold', id)}/${step}`,
  kind,
  resource: publicId('hold', id),
  effectiveAt: new Date(),
});

export const holdEvent = (type: 'hold.created' | 'hold.released' | 'hold.cancelled', hold: Hold) =>
  newEvent(type, publicId('hold', hold.id), holdView(hold));
