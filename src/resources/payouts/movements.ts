// Ledger movements of a payout: all of its money goes to a reserve account when it is accepted; each item moves from
// there into transit when it is sent, and is then completed by the rail or returned to the wallet.
import { publicId, type Uuid } from '../../ids.ts';
import { FEE_INCOME, IN_TRANSIT_PAYOUTS, payoutReserveAccount, walletAccount } from '../../ledger/chart.ts';
import { PAYOUT_RESERVE } from '../../ledger/components.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { type ItemCounts, rollUp } from '../../workflows/payout/decide.ts';
import {
  type BankTransfer,
  clawable,
  clawBack,
  completeTransfer,
  currentLegs,
  returnFunds,
  stepTransaction,
  type TransferMoney,
} from '../bankTransfers/movements.ts';
import { paidRow, unpaidRow } from '../bankTransfers/rows.ts';
import { nextVersion } from '../bookTable.ts';
import { type EventType, newEvent, walletCredited } from '../events.ts';
import type { TransferFailure } from '../failureCodes.ts';
import { newTransaction } from '../movement.ts';
import type { ReturnRefusal } from '../reviewCases/movements.ts';
import { payoutItemOfEvent, payoutSummaryView } from '../views.ts';
import type { ItemWithWallet, Payout, PayoutItem } from './queries.ts';

/** Moves all amounts and fees from the wallet into the payout's reserve. A refusal is returned to the caller. */
export function reservePayout(payout: Payout, items: readonly PayoutItem[]): Transaction {
  const kind = payout.totalFee > 0 ? PAYOUT_RESERVE.withFees : PAYOUT_RESERVE.free;
  const [debit, credit] = [walletAccount(payout.sourceWalletId), payoutReserveAccount(payout.id)];
  // One posting per item, because the tier1 limit applies to each amount without its fee; one posting for all fees.
  const amounts = [...items.map(({ amount }) => amount), ...(payout.totalFee > 0 ? [payout.totalFee] : [])];
  const postings = amounts.map((amount) => ({ debit, credit, amount }));
  const about = { id: payout.id, effectiveAt: payout.createdAt };
  return newTransaction(publicId('payout', payout.id), 'reserve', kind, postings, about);
}

const moneyOf = (item: PayoutItem): TransferMoney => ({
  ...item,
  kind: 'payout_item',
  id: publicId('payoutItem', item.id),
  heldIn: item.status === 'pending' ? payoutReserveAccount(item.payoutId) : IN_TRANSIT_PAYOUTS,
});

const transferOf = ({ item, sourceWalletId }: ItemWithWallet): BankTransfer => ({
  ...moneyOf(item),
  walletId: sourceWalletId,
});

/** Before an item is sent: moves amount and fee from the reserve into transit, and stores the bank's account name. */
export function holdItem(book: Book, item: PayoutItem, accountName: string | null): Movement {
  const money = moneyOf(item);
  const next = nextVersion(item, { status: 'processing', accountName });
  const transit = { account: IN_TRANSIT_PAYOUTS, amount: item.amount + item.fee };
  return {
    book,
    transaction: stepTransaction(money, 'hold', allocate(currentLegs(money), [transit])),
    rows: { payout_items: [next] },
  };
}

/** After the rail has paid out an item. */
export function completeItem(book: Book, item: PayoutItem, report: TransferReport): Movement {
  const written = withItemEvent(paidRow(item, report), 'payout.item_completed');
  return { book, transaction: completeTransfer(moneyOf(item)), ...written };
}

/** Credits the destination wallet within the book. Its limits apply, as to any credit. */
export function completeInside(book: Book, item: PayoutItem, destinationWalletId: Uuid): Movement {
  const money = moneyOf(item);
  const { rows, events } = withItemEvent(nextVersion(item, { status: 'completed' }), 'payout.item_completed');
  const postings = allocate(currentLegs(money), [
    { account: walletAccount(destinationWalletId), amount: item.amount },
    { account: FEE_INCOME, amount: item.fee },
  ]);
  return {
    book,
    transaction: stepTransaction(money, 'completion', postings),
    rows,
    events: [...events, walletCredited(destinationWalletId, item.amount, { payoutItemId: money.id })],
  };
}

/** After the rail has paid an item that it reported as failed. `balance`: of the wallet. */
export function clawBackItem(book: Book, sourced: ItemWithWallet, report: TransferReport, balance: Kobo): Movement {
  const transfer = transferOf(sourced);
  const taken = clawable(transfer, balance);
  const next = { ...paidRow(sourced.item, report, taken), unreported: true };
  return clawBack(book, transfer, taken, withItemEvent(next, 'payout.item_completed'));
}

/** Why an item failed, as the kind of the transaction that returns its money. */
export interface ItemFailure extends TransferFailure {
  kind: 'payout_item_refusal' | 'payout_item_failure' | 'payout_item_return';
}

export function returnItemFunds(
  book: Book,
  sourced: ItemWithWallet,
  failure: ItemFailure,
  refusal: ReturnRefusal,
): Movement {
  const isReturned = failure.kind === 'payout_item_return';
  const next: PayoutItem = {
    ...unpaidRow(sourced.item, failure),
    status: 'failed',
    returnedAt: isReturned ? new Date() : null,
    unreported: isReturned,
  };
  const written = withItemEvent(next, isReturned ? 'payout.item_returned' : 'payout.item_failed');
  return returnFunds(book, transferOf(sourced), failure.kind, () => refusal, written);
}

/** The row of an item that has ended, with the event that says so. */
const withItemEvent = (next: PayoutItem, type: Extract<EventType, `payout.item_${string}`>) => ({
  rows: { payout_items: [next] },
  events: [newEvent(type, publicId('payoutItem', next.id), payoutItemOfEvent(next))],
});

/** Updates the payout's status from its items, and emits an event with their counts. `late`: the unreported ones. */
export function rollUpMovement(book: Book, payout: Payout, counts: ItemCounts, late: readonly PayoutItem[]): Movement {
  const next = nextVersion(payout, { status: rollUp(counts) });
  const reported = late.map((item) => nextVersion(item, { unreported: false }));
  return {
    book,
    rows: { payouts: [next], ...(reported.length > 0 && { payout_items: reported }) },
    events: [payoutEvent(next, counts)],
  };
}

function payoutEvent(payout: Payout, counts: ItemCounts): EventRow {
  if (payout.status === 'processing') throw new Error('a payout in progress has no event');
  return newEvent(`payout.${payout.status}`, publicId('payout', payout.id), payoutSummaryView(payout, counts));
}
