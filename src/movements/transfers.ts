// How a transfer between two wallets stands in the books: one transaction, complete in the moment it is written.
import { newUuid, publicId } from '../ids.ts';
import { FEE_INCOME, walletAccount } from '../ledger/chart.ts';
import type { EventRow, Movement } from '../ledger/journal.ts';
import { pairShares } from '../ledger/postings.ts';
import { type Book, CURRENCY } from '../money.ts';
import type { Transfer } from '../records/transfers.ts';

/** The source pays amount and fee, the destination gets the amount. Its refusals are the caller's. */
export function transferMovement(book: Book, transfer: Transfer): Movement {
  return {
    book,
    transaction: {
      id: transfer.id,
      key: `${publicId('transfer', transfer.id)}/transfer`,
      kind: 'transfer',
      resource: publicId('transfer', transfer.id),
      effectiveAt: transfer.createdAt,
      rules: 'enforced',
      postings: pairShares(
        [{ account: walletAccount(transfer.sourceWalletId), amount: transfer.amount + transfer.fee }],
        [
          { account: walletAccount(transfer.destinationWalletId), amount: transfer.amount },
          { account: FEE_INCOME, amount: transfer.fee },
        ],
      ),
    },
    rows: { transfers: [transfer] },
    events: [transferCompleted(transfer)],
  };
}

function transferCompleted(transfer: Transfer): EventRow {
  return {
    id: newUuid(),
    type: 'transfer.completed',
    resource: publicId('transfer', transfer.id),
    data: {
      id: publicId('transfer', transfer.id),
      status: transfer.status,
      sourceWalletId: publicId('wallet', transfer.sourceWalletId),
      destinationWalletId: publicId('wallet', transfer.destinationWalletId),
      amount: transfer.amount,
      fee: transfer.fee,
      currency: CURRENCY,
      createdAt: transfer.createdAt.toISOString(),
    },
    createdAt: new Date(),
  };
}
