// How a transfer between two wallets stands in the books: one transaction, complete in the moment it is written.
import { newUuid, publicId } from '../../ids.ts';
import { FEE_INCOME, walletAccount } from '../../ledger/chart.ts';
import { isoTime } from '../../ledger/isoTime.ts';
import type { EventRow, Movement } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import { type Book, CURRENCY } from '../../money.ts';
import type { Transfer } from './queries.ts';

/** The source pays amount and fee, the destination gets the amount. Its refusals are the caller's. */
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
    events: [transferCompleted(id, transfer)],
  };
}

function transferCompleted(id: string, transfer: Transfer): EventRow {
  return {
    id: newUuid(),
    type: 'transfer.completed',
    resource: id,
    data: {
      id,
      status: transfer.status,
      sourceWalletId: publicId('wallet', transfer.sourceWalletId),
      destinationWalletId: publicId('wallet', transfer.destinationWalletId),
      amount: transfer.amount,
      fee: transfer.fee,
      currency: CURRENCY,
      createdAt: isoTime(transfer.createdAt),
    },
    createdAt: new Date(),
  };
}
