// Whose money a book has: the balances of its classes add up, at any time, with many accounts of customers.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid } from '../../src/ids.ts';
import { BANK_RECEIVABLE, FEE_INCOME, RAIL_EXPENSE, settlementAccount, walletAccount } from '../../src/ledger/chart.ts';
import { readSafeguarding, safeguardingOf } from '../../src/ledger/safeguarding.ts';
import { type Books, expectPosted, move, newWallet, openAccount, openBooks, RAIL } from './books.ts';
import './seed.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

test('what banks hold is what customers and the state are owed, and the headroom', () => {
  const amount = fc.integer({ min: -1_000_000, max: 1_000_000 });
  fc.assert(
    fc.property(amount, amount, amount, amount, (bank, statutory, own, receivable) => {
      const found = safeguardingOf({ bank, statutory, own, receivable });
      expect(found.bank).toBe(found.customer + found.statutory + found.headroom);
      expect(found.headroom).toBe(found.own - found.receivable);
    }),
  );
  expect(safeguardingOf({})).toEqual({ bank: 0, customer: 0, statutory: 0, own: 0, receivable: 0, headroom: 0 });
});

test('the classes of a book at a time: a settlement wallet is own money, a settlement at our bank is in the pool', async () => {
  const customer = await newWallet(books, { balance: 50_000 });
  const own = walletAccount(newUuid());
  await openAccount(books, own, { class: 'own' });
  const post = (debit: string, credit: string, amount: number) =>
    expectPosted(books.journal.post(move(books.book, debit, credit, amount)));
  await post(RAIL, own, 20_000);
  await post(customer, FEE_INCOME, 1_000);
  await post(RAIL_EXPENSE, RAIL, 300);
  await post(settlementAccount('sandbox'), RAIL, 5_000);
  await post(customer, 'liability:vat', 75);
  const at = new Date(Date.now() + 1_000);
  const before = { bank: 69_700, customer: 48_925, statutory: 75, own: 20_700, receivable: 0, headroom: 20_700 };
  expect(await readSafeguarding(books.sql, books.book, at)).toEqual(before);
  await post(BANK_RECEIVABLE, RAIL, 4_000);
  expect(await readSafeguarding(books.sql, books.book, new Date(Date.now() + 1_000))).toEqual({
    ...before,
    bank: 65_700,
    receivable: 4_000,
    headroom: 16_700,
  });
  expect((await readSafeguarding(books.sql, books.book, new Date(0))).bank).toBe(0);
});
