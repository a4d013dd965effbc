// Ledger movements of a payout: all of its money goes to a reserve account when it is accepted; each item moves from
// there into transit when it is sent, and is then completed by the rail or returned to the wallet.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { FEE_INCOME, IN_TRANSIT_PAYOUTS, payoutReserveAccount, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { allocate, type Leg } from '../../ledger/postings.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { type ItemCounts, type PayoutState, rollUp } from '../../workflows/payout/decide.ts';
import { type BankTransferStep, clawable, clawBack, undoClawback } from '../clawbacks/movements.ts';
import { type EventType, newEvent } from '../events.ts';
import type { FailureCode } from '../failureCodes.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { closedWalletCase, withCaseFlows } from '../reviewCases/movements.ts';
import { payoutSummaryView } from '../views.ts';
import type { ItemWithWallet, Payout, PayoutItem } from './queries.ts';

/** Moves all amounts and fees from the wallet into the payout's reserve. A refusal is returned to the caller. */
export function reservePayout(payout: Payout, items: readonly PayoutItem[]): Transaction {
  return {
    id: payout.id,
    key: `${publicId('payout', payout.id)}/reserve`,
    kind: 'payout_reserve',
    resource: publicId('payout', payout.id),
    effectiveAt: payout.createdAt,
    rules: 'enforced',
    // One posting per item, because the tier1 limit applies to each amount without its fee; one posting for all fees.
    postings: [...items.map(({ amount }) => amount), payout.totalFee].map((amount) => ({
      debit: walletAccount(payout.sourceWalletId),
      credit: payoutReserveAccount(payout.id),
      amount,
    })),
  };
}

const total = (item: PayoutItem) => item.amount + item.fee;

const keyOf = (item: PayoutItem, step: BankTransferStep): string => `${publicId('payoutItem', item.id)}/${step}`;

function itemTransaction(
  item: PayoutItem,
  step: 'hold' | 'completion',
  sources: Leg[],
  destinations: Leg[],
): Transaction {
  return {
    id: newUuid(),
    key: keyOf(item, step),
    kind: `payout_item_${step}`,
    resource: publicId('payoutItem', item.id),
    effectiveAt: new Date(),
    rules: 'enforced',
    postings: allocate(sources, destinations),
  };
}

/** Before an item is sent: moves amount and fee from the reserve into transit, and stores the bank's account name. */
export function holdItem(book: Book, item: PayoutItem, accountName: string | null): Movement {
  const next: PayoutItem = { ...item, version: item.version + 1, status: 'processing', accountName };
  return {
    book,
    transaction: itemTransaction(
      item,
      'hold',
      [{ account: payoutReserveAccount(item.payoutId), amount: total(item) }],
      [{ account: IN_TRANSIT_PAYOUTS, amount: total(item) }],
    ),
    rows: { payout_items: [next] },
  };
}

/** After the rail has paid out an item: the amount leaves through the clearing account, the fee becomes income. */
export function completeItem(book: Book, item: PayoutItem, report: TransferReport): Movement {
  const next: PayoutItem = { ...item, version: item.version + 1, status: 'completed', sessionId: report.sessionId };
  return {
    book,
    transaction: {
      ...itemTransaction(item, 'completion', currentLegs(item), [
        { account: payoutAccount(item.rail), amount: item.amount },
        { account: FEE_INCOME, amount: item.fee },
      ]),
      ...(item.status === 'processing' && { resolves: keyOf(item, 'hold') }),
    },
    rows: { payout_items: [next] },
  };
}

/** Credits the destination wallet within the book. Its limits apply, as to any credit. */
export function completeInside(book: Book, item: PayoutItem, destinationWalletId: Uuid): Movement {
  const next: PayoutItem = { ...item, version: item.version + 1, status: 'completed' };
  const walletId = publicId('wallet', destinationWalletId);
  const data = {
    walletId,
    inboundCreditId: null,
    payoutItemId: publicId('payoutItem', item.id),
    amount: item.amount,
    currency: CURRENCY,
    sessionId: null,
  };
  return {
    book,
    transaction: itemTransaction(item, 'completion', currentLegs(item), [
      { account: walletAccount(destinationWalletId), amount: item.amount },
      { account: FEE_INCOME, amount: item.fee },
    ]),
    rows: { payout_items: [next] },
    events: [newEvent('wallet.credited', walletId, data)],
  };
}

/** Why an item failed, and the interbank session id of its transfer, if it has one. */
export interface ItemFailure {
  kind: 'payout_item_refusal' | 'payout_item_failure' | 'payout_item_return';
  code: FailureCode;
  reason: string;
  sessionId: string | null;
}

/** After the rail has paid an item that it reported as failed. `balance`: of the wallet. */
export function clawBackItem(
  book: Book,
  { item, sourceWalletId }: ItemWithWallet,
  report: TransferReport,
  balance: Kobo,
): Movement {
  const taken = clawable(item, balance);
  const movement = clawBack({
    ...item,
    book,
    transfer: publicId('payoutItem', item.id),
    kind: 'payout_item_clawback',
    walletId: sourceWalletId,
    taken,
  });
  const next: PayoutItem = {
    ...item,
    version: item.version + 1,
    status: 'completed',
    failureCode: null,
    failureReason: null,
    sessionId: report.sessionId ?? item.sessionId,
    clawedBack: taken,
  };
  return { ...movement, rows: { ...movement.rows, payout_items: [next] } };
}

/**
 * Returns amount and fee of an item to the wallet, once: from the reserve if the item was never sent, from transit
 * while the rail has it, or from clearing and fee income if the bank returns it after completion. After a clawback,
 * what that took. If the wallet has been closed, the money goes to suspense with a review case for an operator.
 */
export function returnItemFunds(
  book: Book,
  { item, sourceWalletId }: ItemWithWallet,
  failure: ItemFailure,
  walletIsClosed: boolean,
): Movement {
  const destination = walletIsClosed ? UNMATCHED : walletAccount(sourceWalletId);
  const { clawedBack } = item;
  const returned = clawedBack ?? total(item);
  return withCaseFlows({
    book,
    transaction: {
      id: newUuid(),
      key: keyOf(item, clawedBack === null ? 'return' : 'clawback_return'),
      kind: failure.kind,
      resource: publicId('payoutItem', item.id),
      effectiveAt: new Date(),
      rules: 'credit_exempt',
      ...(item.status === 'processing' && { reverses: keyOf(item, 'hold') }),
      ...(item.status === 'completed' && { reverses: keyOf(item, clawedBack === null ? 'completion' : 'clawback') }),
      postings:
        clawedBack === null
          ? allocate(currentLegs(item), [{ account: destination, amount: returned }])
          : undoClawback(item, clawedBack, destination),
    },
    rows: {
      payout_items: [
        {
          ...item,
          version: item.version + 1,
          status: 'failed',
          failureCode: failure.code,
          failureReason: failure.reason,
          sessionId: failure.sessionId ?? item.sessionId,
          returnedAt: failure.kind === 'payout_item_return' ? new Date() : null,
        } satisfies PayoutItem,
      ],
      review_cases: walletIsClosed && returned > 0 ? [closedWalletCase(returned, sourceWalletId)] : [],
    },
  });
}

/** The accounts that hold the money of an item. `pending` too: an operator may resolve an item that was never sent. */
function currentLegs(item: PayoutItem): Leg[] {
  switch (item.status) {
    case 'pending':
      return [{ account: payoutReserveAccount(item.payoutId), amount: total(item) }];
    case 'processing':
      return [{ account: IN_TRANSIT_PAYOUTS, amount: total(item) }];
    case 'completed':
      return [
        { account: payoutAccount(item.rail), amount: item.amount },
        { account: FEE_INCOME, amount: item.fee },
      ];
    case 'failed':
      throw new Error(`the funds of payout item ${item.id} were already returned`);
  }
}

/** Updates the payout's status from its items, and emits an event with their counts. */
export function rollUpMovement(book: Book, payout: Payout, counts: ItemCounts): Movement {
  const status = rollUp(counts);
  const next: Payout = { ...payout, version: payout.version + 1, status, failuresReported: counts.failed };
  return { book, rows: { payouts: [next] }, events: [payoutEvent(next, counts)] };
}

const EVENTS: Record<Exclude<PayoutState, 'processing'>, EventType> = {
  completed: 'payout.completed',
  partially_completed: 'payout.partially_completed',
  failed: 'payout.failed',
};

function payoutEvent(payout: Payout, counts: ItemCounts): EventRow {
  if (payout.status === 'processing') throw new Error('a payout in progress has no event');
  return newEvent(EVENTS[payout.status], publicId('payout', payout.id), payoutSummaryView(payout, counts));
}
