// The movements of a payout beyond their table (movements.test.ts): postings per item, session ids, refused calls, the
// counts in events, and random item outcomes.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid, publicId } from '../../src/ids.ts';
import { clearingAccount, FEE_INCOME, payoutReserveAccount, walletAccount } from '../../src/ledger/chart.ts';
import type { Movement, Transaction } from '../../src/ledger/movement.ts';
import type { Book } from '../../src/money.ts';
import type { TransferReport } from '../../src/rail/port.ts';
import {
  completeItem,
  holdItem,
  type ItemFailure,
  reservePayout,
  returnItemFunds,
  rollUpMovement,
} from '../../src/resources/payouts/movements.ts';
import type { Payout, PayoutItem } from '../../src/resources/payouts/queries.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { itemToBank } from './movementTables/payouts.ts';

const book: Book = { organisationId: newUuid(), environment: 'test' };
const sourceWalletId = newUuid();
const REPORT: TransferReport = { ...reportOf('reference', 'completed'), sessionId: 'session' };
const FAILURE: ItemFailure = {
  kind: 'payout_item_failure',
  code: 'bank_refused',
  reason: 'No such account',
  sessionId: null,
};

function batchOf(amounts: readonly number[]): { payout: Payout; items: PayoutItem[] } {
  const payoutId = newUuid();
  const items = amounts.map((amount, position) => itemToBank({ id: newUuid(), payoutId, position, amount }));
  const payout: Payout = {
    id: payoutId,
    version: 1,
    sourceWalletId,
    totalAmount: amounts.reduce((sum, amount) => sum + amount, 0),
    totalFee: items.reduce((sum, { fee }) => sum + fee, 0),
    itemCount: items.length,
    status: 'processing',
    reference: null,
    metadata: null,
    createdAt: new Date(),
  };
  return { payout, items };
}

/** The non-zero account balances after these transactions. */
function balancesAfter(transactions: readonly Transaction[]): Record<string, number> {
  const balances = new Map<string, number>();
  for (const { debit, credit, amount } of transactions.flatMap(({ postings }) => postings)) {
    expect(amount).toBeGreaterThan(0);
    balances.set(debit, (balances.get(debit) ?? 0) - amount);
    balances.set(credit, (balances.get(credit) ?? 0) + amount);
  }
  return Object.fromEntries([...balances].filter(([, balance]) => balance !== 0));
}

/** The item after a movement, and the movement's transaction. */
function applied(movement: Movement): { item: PayoutItem; transaction: Transaction } {
  const item = movement.rows?.payout_items?.[0] as PayoutItem | undefined;
  if (item === undefined || movement.transaction === undefined) throw new Error('not a movement of an item');
  return { item, transaction: movement.transaction };
}

const oneItem = () => {
  const [pending] = batchOf([100_000]).items as [PayoutItem];
  const held = applied(holdItem(book, pending, 'ADA OBI'));
  const completed = applied(completeItem(book, held.item, REPORT));
  return { held, completed };
};

const wallet = walletAccount(sourceWalletId);
const putBack = (item: PayoutItem, failure = FAILURE) => returnItemFunds(book, { item, sourceWalletId }, failure, null);

test('the reserve has one posting per item and one for all fees, so that limits apply to each amount', () => {
  const { payout, items } = batchOf([100_000, 50_000, 1]);
  const transaction = reservePayout(payout, items);
  expect(transaction).toMatchObject({
    id: payout.id,
    key: `${publicId('payout', payout.id)}/reserve`,
    rules: 'enforced',
  });
  expect(transaction.postings.map(({ amount }) => amount)).toEqual([100_000, 50_000, 1, 3_000 + 2_500 + 2_500]);
  expect(balancesAfter([transaction])).toEqual({
    [wallet]: -158_001,
    [payoutReserveAccount(payout.id)]: 158_001,
  });
});

describe('items of a payout', () => {
  test("an item stores the bank's account name, the session id of its transfer and the reason of its failure", () => {
    const { held, completed } = oneItem();
    expect(held.item.accountName).toBe('ADA OBI');
    expect(completed.item).toMatchObject({ accountName: 'ADA OBI', sessionId: 'session', failureReason: null });
    expect(applied(putBack(held.item)).item).toMatchObject({ failureReason: 'No such account', returnedAt: null });
    const returned = putBack(completed.item, { ...FAILURE, kind: 'payout_item_return' });
    expect(applied(returned).item.returnedAt).toEqual(expect.any(Date));
  });

  test('the funds of an item are returned at most once', () => {
    const failed = applied(putBack(oneItem().held.item)).item;
    expect(() => putBack(failed)).toThrow('were already returned');
  });

  test('a returned item keeps the session id of its transfer, unless the failure has another', () => {
    const { completed } = oneItem();
    expect(applied(putBack(completed.item)).item.sessionId).toBe('session');
    expect(applied(putBack(completed.item, { ...FAILURE, sessionId: 'other' })).item.sessionId).toBe('other');
  });
});

test('for random item outcomes the reserve is used up and every kobo is in one account', () => {
  const ending = fc.constantFrom('refused', 'failed', 'completed', 'returned');
  fc.assert(
    fc.property(
      fc.array(fc.record({ amount: fc.integer({ min: 1, max: 5_000_000 }), ending }), { minLength: 1, maxLength: 30 }),
      (cases) => {
        const { payout, items } = batchOf(cases.map(({ amount }) => amount));
        const transactions = [reservePayout(payout, items)];
        let paid = 0;
        let fees = 0;
        const record = (movement: Movement): PayoutItem => {
          const { item, transaction } = applied(movement);
          transactions.push(transaction);
          return item;
        };
        for (const [position, pending] of items.entries()) {
          const outcome = cases[position]?.ending;
          if (outcome === 'refused') {
            record(putBack(pending));
            continue;
          }
          const held = record(holdItem(book, pending, null));
          const ended = record(outcome === 'failed' ? putBack(held) : completeItem(book, held, REPORT));
          if (outcome === 'returned') record(putBack(ended));
          if (outcome !== 'completed') continue;
          paid += pending.amount;
          fees += pending.fee;
        }
        expect(new Set(transactions.map(({ key }) => key)).size).toBe(transactions.length);
        expect(balancesAfter(transactions)).toEqual(
          paid === 0 ? {} : { [wallet]: -(paid + fees), [clearingAccount('sandbox')]: paid, [FEE_INCOME]: fees },
        );
      },
    ),
  );
});

test('a payout with open items cannot be rolled up as ended', () => {
  const { payout } = batchOf([1]);
  expect(() => rollUpMovement(book, payout, { open: 1, completed: 0, failed: 0 }, [])).toThrow(
    'in progress has no event',
  );
});
