// Own money never spends what customers are owed: the posting statement refuses it beyond bank - customer - statutory,
// whatever is posted at the same time. What the bank takes is not refused, and is a shortfall.
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid } from '../../src/ids.ts';
import {
  type AccountCode,
  BANK_RECEIVABLE,
  DRAWINGS,
  FEE_INCOME,
  IN_TRANSIT_WITHDRAWALS,
  OPERATING_LOSS,
  OWN_FUNDS,
  RAIL_EXPENSE,
  settlementAccount,
  walletAccount,
} from '../../src/ledger/chart.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import { listShortfalls, readSafeguarding } from '../../src/ledger/safeguarding.ts';
import type { Kobo } from '../../src/money.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  type Books,
  expectPosted,
  move,
  newWallet,
  openAccount,
  openBooks,
  postTogether,
  RAIL,
  transaction,
} from './books.ts';
import './seed.ts';

const opened: Books[] = [];
let books: Books;
let customer: AccountCode;
let own: AccountCode;

/** A customer with 50,000, and an own wallet with 20,000. */
beforeEach(async () => {
  books = await openBooks();
  opened.push(books);
  customer = await newWallet(books, { balance: 50_000 });
  own = await ownWallet(20_000);
});
afterAll(() => Promise.all(opened.map((each) => each.close())));

async function ownWallet(balance: Kobo): Promise<AccountCode> {
  const code = walletAccount(newUuid());
  await openAccount(books, code, { class: 'own' });
  if (balance > 0) await post(RAIL, code, balance);
  return code;
}

const moved = (debit: AccountCode, credit: AccountCode, amount: Kobo, more: Partial<Transaction> = {}): Movement =>
  move(books.book, debit, credit, amount, more);
const post = (debit: AccountCode, credit: AccountCode, amount: Kobo, more: Partial<Transaction> = {}) =>
  expectPosted(books.journal.post(moved(debit, credit, amount, more)));
const attempt = (debit: AccountCode, credit: AccountCode, amount: Kobo, more: Partial<Transaction> = {}) =>
  books.journal.post(moved(debit, credit, amount, more));
const headroom = async (): Promise<Kobo> =>
  (await readSafeguarding(books.sql, books.book, new Date(Date.now() + 60_000))).headroom;
const recordedShortfall = async (): Promise<Kobo | null> => {
  const [row] = await books.sql<{ shortfall: Kobo }[]>`
    SELECT shortfall FROM ledger.own_funds WHERE organisation_id = ${books.book.organisationId}`;
  return row?.shortfall ?? null;
};

/** A wallet owes only what it does not have. */
const debtOfEmptyWallet = async (): Promise<AccountCode> => `receivable:${await newWallet(books)}`;

const safeguarded = (account: AccountCode, attemptedAmount: Kobo, availableAmount: Kobo): PostResult => ({
  outcome: 'refused',
  code: 'WALLET_INSUFFICIENT_FUNDS',
  account,
  detail: { attemptedAmount, availableAmount, reason: 'safeguarding' },
});

test('after a charge, own money is spent up to what is over, and no further', async () => {
  await post(RAIL_EXPENSE, RAIL, 15_000);
  expect(await attempt(own, IN_TRANSIT_WITHDRAWALS, 20_000)).toEqual(safeguarded(own, 20_000, 5_000));
  await post(own, IN_TRANSIT_WITHDRAWALS, 5_000);
  expect(await attempt(own, customer, 1)).toEqual(safeguarded(own, 1, 0));
  expect(await headroom()).toBe(0);
  // Between own wallets, and of customers, everything goes on.
  await post(own, await ownWallet(0), 1_000);
  await post(customer, await newWallet(books), 1_000);
  await post(customer, IN_TRANSIT_WITHDRAWALS, 49_000);
});

test('income that was not swept can be spent, also what was earned since it was last added up', async () => {
  await post(RAIL_EXPENSE, RAIL, 15_000);
  expect(await attempt(own, customer, 6_000)).toEqual(safeguarded(own, 6_000, 5_000));
  await post(customer, FEE_INCOME, 1_000);
  await post(own, customer, 6_000);
  await post(RAIL_EXPENSE, RAIL, 100);
  expect(await attempt(own, customer, 1)).toEqual(safeguarded(own, 1, 0));
  expect(await headroom()).toBe(-100);
});

test.each([
  ['a charge', (amount: Kobo) => post(RAIL_EXPENSE, RAIL, amount)],
  ['a loss', (amount: Kobo) => post(OPERATING_LOSS, RAIL, amount, { kind: 'adjustment' })],
  [
    'a recall that leaves a debt',
    async (amount: Kobo) => post(await debtOfEmptyWallet(), RAIL, amount, { rules: 'exempt' }),
  ],
  ['money that the bank owes', (amount: Kobo) => post(BANK_RECEIVABLE, RAIL, amount)],
  ['a recall from an own wallet', (amount: Kobo) => post(own, RAIL, Math.min(amount, 20_000), { rules: 'exempt' })],
])('%s is never refused, and what own money cannot bear is recorded as a shortfall', async (_, take) => {
  await post(own, customer, 5_000);
  await take(15_000);
  expect([await headroom(), await recordedShortfall()]).toEqual([0, 0]);
  await post(RAIL_EXPENSE, RAIL, 700);
  expect([await headroom(), await recordedShortfall()]).toEqual([-700, 700]);
  expect(await listShortfalls(books.sql)).toEqual([{ ...books.book, amount: 700 }]);
  // Customers are still paid.
  await post(customer, IN_TRANSIT_WITHDRAWALS, 20_000);
  await post(RAIL, OWN_FUNDS, 1_000);
  expect(await listShortfalls(books.sql)).toEqual([]);
  const left = await ownWallet(0);
  await post(RAIL, left, 500);
  await post(left, customer, 500);
  expect([await headroom(), await recordedShortfall()]).toEqual([300, 0]);
});

test('an adjustment moves own money out within the bound, and corrects costs beyond it', async () => {
  await post(settlementAccount('sandbox'), RAIL, 60_000);
  expect(await headroom()).toBe(20_000);
  const adjustment = { kind: 'adjustment' };
  expect(await attempt(DRAWINGS, settlementAccount('sandbox'), 20_001, adjustment)).toEqual(
    safeguarded(DRAWINGS, 20_001, 20_000),
  );
  await post(DRAWINGS, settlementAccount('sandbox'), 20_000, adjustment);
  await post(OPERATING_LOSS, settlementAccount('sandbox'), 1, adjustment);
  expect(await headroom()).toBe(-1);
});

test('movements of a batch are decided in their order: what one earns the next can spend', async () => {
  await post(RAIL_EXPENSE, RAIL, 20_000);
  const results = await postTogether(books, [
    moved(own, customer, 10),
    moved(customer, FEE_INCOME, 500),
    moved(own, customer, 400),
    moved(own, customer, 101),
    moved(own, customer, 100),
  ]);
  expect(
    results.map((result) => (result.outcome === 'refused' ? result.detail.availableAmount : result.outcome)),
  ).toEqual([0, 'posted', 'posted', 100, 'posted']);
});

test('a movement of several postings is refused as a whole, before any code of less weight', async () => {
  await post(RAIL_EXPENSE, RAIL, 15_000);
  const split = transaction([
    { debit: own, credit: customer, amount: 3_000 },
    { debit: own, credit: IN_TRANSIT_WITHDRAWALS, amount: 2_001 },
  ]);
  expect(await books.journal.post({ book: books.book, transaction: split })).toEqual(safeguarded(own, 3_000, 5_000));
  const frozen = await newWallet(books);
  await books.owner`UPDATE ledger.accounts SET status = 'frozen' WHERE code = ${frozen}`;
  expect(await attempt(own, frozen, 10_000)).toMatchObject({ code: 'WALLET_FROZEN' });
});

describe('at once', () => {
  test('a charge that commits while own money waits for it counts', async () => {
    await post(own, customer, 1); // the sum of own money is known
    const charging = await books.onNode.reserve();
    await charging`BEGIN`;
    const { organisationId, environment } = books.book;
    await charging`SELECT pg_advisory_xact_lock(hashtextextended('own_money ' || ${organisationId} || ${environment}, 0))`;
    const spent = attempt(own, customer, 19_999);
    const charged = books.anotherJournal().post(moved(RAIL_EXPENSE, RAIL, 15_000));
    await waitFor('both to wait for their turn', async () => {
      const waiting = await books.onNode`
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return waiting.length === 2;
    });
    await charging`COMMIT`;
    charging.release();
    const outcomes = [(await spent).outcome, (await charged).outcome, await headroom()];
    // In either order the charge is posted; own money is spent before it or refused.
    expect([
      ['posted', 'posted', -15_000],
      ['refused', 'posted', 4_999],
    ]).toContainEqual(outcomes);
  });

  test('many spend at once from two own wallets, exactly what is over', async () => {
    const second = await ownWallet(20_000);
    await post(RAIL_EXPENSE, RAIL, 33_000);
    const journals = [books.journal, books.anotherJournal(), books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (journals[n % 3] ?? books.journal).post(
          moved(n % 2 === 0 ? own : second, n % 4 < 2 ? customer : IN_TRANSIT_WITHDRAWALS, 1_000),
        ),
      ),
    );
    expect(results.filter((result) => result.outcome === 'posted')).toHaveLength(7);
    expect(await headroom()).toBe(0);
  });

  test('property: no phase of random movements lowers the headroom below zero by more than the bank took', async () => {
    const amount = fc.integer({ min: 1, max: 20_000 });
    const step = fc.record({ what: fc.nat({ max: 11 }), amount, journal: fc.nat({ max: 2 }) });
    const phases = fc.array(fc.array(step, { minLength: 5, maxLength: 25 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(phases, async (sequence) => {
        books = await openBooks();
        try {
          await runPhases(sequence);
        } finally {
          await books.close();
        }
      }),
      { numRuns: 8 },
    );
  });
});

interface Step {
  what: number;
  amount: Kobo;
  journal: number;
}

async function runPhases(phases: readonly (readonly Step[])[]): Promise<void> {
  customer = await newWallet(books, { balance: 60_000 });
  own = await ownWallet(20_000);
  const second = await ownWallet(10_000);
  const debtor = await debtOfEmptyWallet();
  const settlement = settlementAccount('sandbox');
  const kinds: readonly [debit: AccountCode, credit: AccountCode, more?: Partial<Transaction>][] = [
    [RAIL, customer],
    [RAIL, own],
    [customer, FEE_INCOME],
    [customer, IN_TRANSIT_WITHDRAWALS],
    [settlement, RAIL],
    [RAIL, settlement],
    [own, customer],
    [second, IN_TRANSIT_WITHDRAWALS],
    [own, second],
    // What the bank takes.
    [RAIL_EXPENSE, RAIL],
    [debtor, RAIL, { rules: 'exempt' }],
    [DRAWINGS, settlement, { kind: 'adjustment' }],
  ];
  const journals = [books.journal, books.anotherJournal(), books.anotherJournal()];
  for (const phase of phases) {
    const before = await headroom();
    const results = await Promise.all(
      phase.map(async (step) => {
        const [debit, credit, more] = kinds[step.what] as (typeof kinds)[number];
        const result = await (journals[step.journal] ?? books.journal).post(moved(debit, credit, step.amount, more));
        return { step, posted: result.outcome === 'posted' };
      }),
    );
    const taken = results.filter(({ step, posted }) => posted && (step.what === 9 || step.what === 10));
    expect(taken).toHaveLength(phase.filter(({ what }) => what === 9 || what === 10).length);
    const sum = taken.reduce((total, { step }) => total + step.amount, 0);
    expect(await headroom()).toBeGreaterThanOrEqual(Math.min(before, 0) - sum);
  }
  // At rest, exactly what is over can be spent.
  const left = await headroom();
  await post(RAIL, own, Math.max(-left, 0) + 100);
  await post(RAIL_EXPENSE, RAIL, Math.max(left, 0) + 60);
  expect(await attempt(own, customer, 41)).toEqual(safeguarded(own, 41, 40));
  await post(own, customer, 40);
  expect(await headroom()).toBe(0);
}
