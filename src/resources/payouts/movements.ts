// How a payout stands in the books: its whole money in a reserve of its own when accepted; each item from there into
// transit when it is sent, then paid out by the rail, or put back into the wallet.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import {
  clearingAccount,
  FEE_INCOME,
  IN_TRANSIT_PAYOUTS,
  payoutReserveAccount,
  UNMATCHED,
  walletAccount,
} from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { allocate, type Leg } from '../../ledger/postings.ts';
import { type Book, CURRENCY } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { type ItemCounts, type PayoutState, rollUp } from '../../workflows/payout/decide.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { ItemWithWallet, Payout, PayoutItem } from './queries.ts';

/** The transaction that takes all amounts and fees out of the wallet. Its refusals are the caller's. */
export function reservePayout(payout: Payout, items: readonly PayoutItem[]): Transaction {
  return {
    id: payout.id,
    key: `${publicId('payout', payout.id)}/reserve`,
    kind: 'payout_reserve',
    resource: publicId('payout', payout.id),
    effectiveAt: payout.createdAt,
    rules: 'enforced',
    // One posting an item: a tier1 limit is on each amount, and not on the fees, which are one posting for all.
    postings: [...items.map(({ amount }) => amount), payout.totalFee].map((amount) => ({
      debit: walletAccount(payout.sourceWalletId),
      credit: payoutReserveAccount(payout.id),
      amount,
    })),
  };
}

const total = (item: PayoutItem) => item.amount + item.fee;

function itemTransaction(item: PayoutItem, step: 'hold' | 'completion', sources: Leg[], to: Leg[]): Transaction {
  return {
    id: newUuid(),
    key: `${publicId('payoutItem', item.id)}/${step}`,
    kind: `payout_item_${step}`,
    resource: publicId('payoutItem', item.id),
    effectiveAt: new Date(),
    rules: 'enforced',
    postings: allocate(sources, to),
  };
}

/**
 * The item is about to be given to the rail, under the name that the bank has: amount and fee leave the reserve for
 * transit. The transaction has the item's own UUID, by which a failure or return names what it reverses.
 */
export function holdItem(book: Book, item: PayoutItem, accountName: string | null): Movement {
  const next: PayoutItem = { ...item, version: item.version + 1, status: 'processing', accountName };
  return {
    book,
    transaction: {
      ...itemTransaction(
        item,
        'hold',
        [{ account: payoutReserveAccount(item.payoutId), amount: total(item) }],
        [{ account: IN_TRANSIT_PAYOUTS, amount: total(item) }],
      ),
      id: item.id,
    },
    rows: { payout_items: [next] },
  };
}

/** It is paid out: the amount leaves through the rail, the fee is earned. */
export function completeItem(book: Book, item: PayoutItem, report: TransferReport): Movement {
  const next: PayoutItem = { ...item, version: item.version + 1, status: 'completed', sessionId: report.sessionId };
  return {
    book,
    transaction: itemTransaction(item, 'completion', currentLegs(item), [
      { account: clearingAccount(item.rail), amount: item.amount },
      { account: FEE_INCOME, amount: item.fee },
    ]),
    rows: { payout_items: [next] },
  };
}

/** Why an item failed, and the interbank identity of its transfer if there ever was one. */
export interface ItemFailure {
  kind: 'payout_item_refusal' | 'payout_item_failure' | 'payout_item_return';
  reason: string;
  sessionId: string | null;
}

/**
 * Amount and fee go back to the wallet, once, from where they stand: the reserve when the item was never sent, transit
 * while the rail has it, and where the completion had put them when the bank returns it late. A wallet that was closed
 * meanwhile takes nothing; then the money waits for a person.
 */
export function returnItemFunds(
  book: Book,
  { item, sourceWalletId }: ItemWithWallet,
  failure: ItemFailure,
  walletIsClosed: boolean,
): Movement {
  const destination = walletIsClosed ? UNMATCHED : walletAccount(sourceWalletId);
  return withCaseFlows({
    book,
    transaction: {
      id: newUuid(),
      key: `${publicId('payoutItem', item.id)}/return`,
      kind: failure.kind,
      resource: publicId('payoutItem', item.id),
      effectiveAt: new Date(),
      rules: 'credit_exempt',
      ...(item.status !== 'pending' && { reverses: item.id }),
      postings: allocate(currentLegs(item), [{ account: destination, amount: total(item) }]),
    },
    rows: {
      payout_items: [
        {
          ...item,
          version: item.version + 1,
          status: 'failed',
          failureReason: failure.reason,
          sessionId: failure.sessionId ?? item.sessionId,
          returnedAt: failure.kind === 'payout_item_return' ? new Date() : null,
        } satisfies PayoutItem,
      ],
      review_cases: walletIsClosed ? [closedWalletCase(item, sourceWalletId)] : [],
    },
  });
}

/** Where the money of an item stands. An operator may decide one that never left the reserve. */
function currentLegs(item: PayoutItem): Leg[] {
  switch (item.status) {
    case 'pending':
      return [{ account: payoutReserveAccount(item.payoutId), amount: total(item) }];
    case 'processing':
      return [{ account: IN_TRANSIT_PAYOUTS, amount: total(item) }];
    case 'completed':
      return [
        { account: clearingAccount(item.rail), amount: item.amount },
        { account: FEE_INCOME, amount: item.fee },
      ];
    case 'failed':
      throw new Error(`the money of payout item ${item.id} is back already`);
  }
}

const closedWalletCase = (item: PayoutItem, walletId: Uuid) =>
  openReviewCase({
    reason: 'wallet_closed',
    amount: total(item),
    accountCode: UNMATCHED,
    inboundCreditId: null,
    paymentId: null,
    walletId,
  });

/** What the items have become is told: the status, and an event with their counts. */
export function rollUpMovement(book: Book, payout: Payout, counts: ItemCounts): Movement {
  const status = rollUp(counts);
  const next: Payout = { ...payout, version: payout.version + 1, status, failuresReported: counts.failed };
  return { book, rows: { payouts: [next] }, events: [payoutEvent(next, counts)] };
}

const EVENTS: Record<Exclude<PayoutState, 'processing'>, string> = {
  completed: 'payout.completed',
  partially_completed: 'payout.partially_completed',
  failed: 'payout.failed',
};

function payoutEvent(payout: Payout, counts: ItemCounts): EventRow {
  if (payout.status === 'processing') throw new Error('there is no event about a payout that goes on');
  return {
    id: newUuid(),
    type: EVENTS[payout.status],
    resource: publicId('payout', payout.id),
    data: {
      id: publicId('payout', payout.id),
      status: payout.status,
      totalAmount: payout.totalAmount,
      totalFee: payout.totalFee,
      itemCount: payout.itemCount,
      successCount: counts.completed,
      failureCount: counts.failed,
      currency: CURRENCY,
    },
    createdAt: new Date(),
  };
}
