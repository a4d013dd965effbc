// Ledger movements of a transfer between two wallets: one transaction, after which the transfer is complete; and the
// cancellation of what it holds.
import { publicId } from '../../ids.ts';
import { FEE_INCOME, heldAccount, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Decision, Movement } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book } from '../../money.ts';
import { newEvent } from '../events.ts';
import { holdEvent, withHolds } from '../holds/movements.ts';
import type { Hold, HoldOfTransfer } from '../holds/queries.ts';
import { newTransaction } from '../movement.ts';
import { openReviewCase, type ReturnRefusal, withCaseFlows } from '../reviewCases/movements.ts';
import { transferView } from '../views.ts';
import type { Transfer } from './queries.ts';

/** Debits amount and fee from the source, credits the amount: to the destination, or beside it with a hold. */
export function transferMovement(
  book: Book,
  transfer: Transfer,
  hold: Hold | null = null,
  view = transferView(transfer),
): Movement {
  const id = publicId('transfer', transfer.id);
  const destination = (hold === null ? walletAccount : heldAccount)(transfer.destinationWalletId);
  const postings = allocate(
    [{ account: walletAccount(transfer.sourceWalletId), amount: transfer.amount + transfer.fee }],
    [
      { account: destination, amount: transfer.amount },
      { account: FEE_INCOME, amount: transfer.fee },
    ],
  );
  const movement: Movement = {
    book,
    transaction: newTransaction(id, 'transfer', 'transfer', postings, {
      id: transfer.id,
      effectiveAt: transfer.createdAt,
    }),
    rows: { transfers: [transfer] },
    events: [newEvent('transfer.completed', id, view)],
  };
  const { events = [], ...others } = hold === null ? movement : withHolds(movement, [hold]);
  // By the time of the transfer its event is found (listEvents).
  return { ...others, events: events.map((event) => ({ ...event, createdAt: transfer.createdAt })) };
}

/** Gives what is held back to the wallet that paid. `next`: the hold afterwards. `refusal`: why that takes nothing. */
export function cancelHold(book: Book, next: HoldOfTransfer, refusal: ReturnRefusal, decision?: Decision): Movement {
  const { walletId, sourceWalletId, amountCancelled: amount } = next;
  const back = { reason: refusal ?? 'over_limit', amount, accountCode: UNMATCHED, walletId: sourceWalletId } as const;
  const credit = refusal === null ? walletAccount(sourceWalletId) : UNMATCHED;
  const postings = [{ debit: heldAccount(walletId), credit, amount }];
  return withCaseFlows({
    book,
    transaction: newTransaction(publicId('hold', next.id), 'cancellation', 'hold_cancellation', postings, {
      rules: 'credit_exempt',
    }),
    rows: { holds: [next], review_cases: refusal === null ? [] : [openReviewCase(back)] },
    events: [holdEvent('hold.cancelled', next)],
    ...(decision && { decision }),
  });
}
