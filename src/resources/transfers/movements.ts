// Ledger movements of a transfer between two wallets: one transaction, after which the transfer is complete.
import { publicId } from '../../ids.ts';
import { FEE_INCOME, heldAccount, walletAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book } from '../../money.ts';
import { newEvent } from '../events.ts';
import { startHold } from '../flows.ts';
import { holdEvent } from '../holds/movements.ts';
import type { Hold } from '../holds/queries.ts';
import { transferView } from '../views.ts';
import type { Transfer } from './queries.ts';

/** Debits amount and fee from the source, credits the amount: to the destination, or beside it with a hold. */
export function transferMovement(book: Book, transfer: Transfer, hold: Hold | null = null): Movement {
  const id = publicId('transfer', transfer.id);
  return {
    book,
    transaction: {
      id: transfer.id,
      key: `${id}/transfer`,
      kind: 'transfer',
      resource: id,
      effectiveAt: transfer.createdAt,
      rules: 'enforced',
      postings: allocate(
        [{ account: walletAccount(transfer.sourceWalletId), amount: transfer.amount + transfer.fee }],
        [
          {
            account: (hold === null ? walletAccount : heldAccount)(transfer.destinationWalletId),
            amount: transfer.amount,
          },
          { account: FEE_INCOME, amount: transfer.fee },
        ],
      ),
    },
    rows: { transfers: [transfer], ...(hold && { holds: [hold] }) },
    events: [
      newEvent('transfer.completed', id, transferView(transfer)),
      ...(hold === null ? [] : [holdEvent('hold.created', hold)]),
    ],
    ...(hold && { outbox: [startHold(book, hold)] }),
  };
}
