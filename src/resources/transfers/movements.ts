// Ledger movements of a transfer between two wallets: one transaction, after which the transfer is complete.
import { publicId } from '../../ids.ts';
import { FEE_INCOME, walletAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book } from '../../money.ts';
import { newEvent } from '../events.ts';
import { transferView } from '../views.ts';
import type { Transfer } from './queries.ts';

/** Debits amount and fee from the source, credits the amount. A refusal is returned to the caller. */
export function transferMovement(book: Book, transfer: Transfer): Movement {
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
          { account: walletAccount(transfer.destinationWalletId), amount: transfer.amount },
          { account: FEE_INCOME, amount: transfer.fee },
        ],
      ),
    },
    rows: { transfers: [transfer] },
    events: [newEvent('transfer.completed', id, transferView(transfer))],
  };
}
