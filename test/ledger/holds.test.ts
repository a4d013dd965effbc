// A hold is resolved once, by a completion or a reversal that takes exactly what the hold holds; the database enforces
// it, whatever the service sends.
import { afterAll, describe, expect, test } from '@jest/globals';
import { violatedCheck } from '../../src/database/errors.ts';
import { newUuid } from '../../src/ids.ts';
import type { AccountCode } from '../../src/ledger/chart.ts';
import type { Movement, Transaction } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book } from '../../src/money.ts';
import { balanceOf, expectPosted, move, newWallet, openBooks, RAIL, transaction } from './books.ts';

const TRANSIT = 'in_transit:withdrawals';
const FEES = 'income:fees';
const SUSPENSE = 'suspense:unmatched';

const books = await openBooks();

afterAll(() => books.close());

const keyOf = ({ transaction: posted }: Movement): string => posted?.key ?? '';

const of = (book: Book, postings: readonly Posting[], more: Partial<Transaction>): Movement => ({
  book,
  transaction: transaction(postings, more),
});

/** A wallet of 100 kobo, of which 60 are held in transit. */
async function held() {
  const wallet = await newWallet(books, { balance: 100 });
  const hold = move(books.book, wallet, TRANSIT, 60);
  await expectPosted(books.journal.post(hold));
  return { wallet, hold };
}

const completionOf = (hold: Movement): Movement =>
  of(
    books.book,
    [
      { debit: TRANSIT, credit: RAIL, amount: 50 },
      { debit: TRANSIT, credit: FEES, amount: 10 },
    ],
    { resolves: keyOf(hold) },
  );

const failureOf = (hold: Movement, wallet: AccountCode): Movement =>
  move(books.book, TRANSIT, wallet, 60, { reverses: keyOf(hold) });

const returnOf = (completion: Movement, destination: AccountCode): Movement =>
  of(
    books.book,
    [
      { debit: RAIL, credit: destination, amount: 50 },
      { debit: FEES, credit: destination, amount: 10 },
    ],
    { reverses: keyOf(completion) },
  );

/** The name of the rule that refuses a movement; `unique` for a hold that was resolved before. */
async function refusalOf(movement: Movement): Promise<string | null> {
  try {
    const result = await books.journal.post(movement);
    return result.outcome === 'conflict' ? result.constraint : result.outcome;
  } catch (error) {
    return violatedCheck(error);
  }
}

test('of twenty completions and twenty failures of one hold at the same time, one is posted', async () => {
  const { wallet, hold } = await held();
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      books.journal.post(index % 2 === 0 ? completionOf(hold) : failureOf(hold, wallet)),
    ),
  );
  expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
  expect(results.filter(({ outcome }) => outcome === 'conflict')).toHaveLength(39);
  expect([40, 100]).toContain(await balanceOf(books, wallet));
});

test('a completion is reversed once, to the wallet of its hold or, if that was closed, to suspense', async () => {
  for (const destination of ['wallet', SUSPENSE]) {
    const { wallet, hold } = await held();
    const completion = completionOf(hold);
    await expectPosted(books.journal.post(completion));
    const to = destination === 'wallet' ? wallet : destination;
    await expectPosted(books.journal.post(returnOf(completion, to)));
    expect(await refusalOf(returnOf(completion, to))).toBe('resolved_or_reversed_once');
    expect(await refusalOf(failureOf(hold, wallet))).toBe('resolved_or_reversed_once');
  }
});

test('a posted completion that is sent again is a duplicate', async () => {
  const { hold } = await held();
  const completion = completionOf(hold);
  await expectPosted(books.journal.post(completion));
  expect(await books.journal.post(completion)).toEqual({ outcome: 'duplicate' });
});

test('a hold of a reserve is reversed to the account that funded the reserve', async () => {
  const { wallet } = await held();
  const other = await newWallet(books);
  const reserve = `reserve:payout:${newUuid().replaceAll('-', '')}`;
  await expectPosted(books.journal.post(move(books.book, wallet, reserve, 30)));
  const hold = move(books.book, reserve, TRANSIT, 20);
  await expectPosted(books.journal.post(hold));
  const failure = (to: AccountCode) => move(books.book, TRANSIT, to, 20, { reverses: keyOf(hold) });
  expect(await refusalOf(failure(other))).toBe('mirrors_named_transaction');
  expect(await refusalOf(failure(wallet))).toBe('posted');
});

describe('the database refuses', () => {
  const cases: [string, string, (from: Awaited<ReturnType<typeof held>>) => Movement | Promise<Movement>][] = [
    [
      'a completion of more than the hold',
      'mirrors_named_transaction',
      ({ hold }) => move(books.book, TRANSIT, RAIL, 50_000, { resolves: keyOf(hold) }),
    ],
    [
      'a completion of less than the hold',
      'mirrors_named_transaction',
      ({ hold }) => move(books.book, TRANSIT, RAIL, 59, { resolves: keyOf(hold) }),
    ],
    [
      'a completion that takes the money from another account',
      'mirrors_named_transaction',
      ({ hold }) => move(books.book, 'in_transit:refunds', RAIL, 60, { resolves: keyOf(hold) }),
    ],
    ['a completion that names no hold', 'transit_names_hold', () => move(books.book, TRANSIT, RAIL, 60)],
    [
      'money whose owner is not known, credited beside a wallet',
      'decision_needed',
      ({ wallet }) => move(books.book, SUSPENSE, `held:${wallet}`, 60),
    ],
    [
      'a reversal of another amount',
      'mirrors_named_transaction',
      ({ hold, wallet }) => move(books.book, TRANSIT, wallet, 61, { reverses: keyOf(hold) }),
    ],
    [
      'a reversal that credits another wallet',
      'mirrors_named_transaction',
      async ({ hold }) => failureOf(hold, await newWallet(books)),
    ],
    [
      'a reversal of a transaction that does not exist',
      'named_transaction_exists',
      ({ wallet }) => move(books.book, TRANSIT, wallet, 60, { reverses: 'withdrawal/hold' }),
    ],
    [
      'a completion of a hold of another book',
      'named_transaction_exists',
      ({ hold }) => ({ ...completionOf(hold), book: { ...books.book, environment: 'live' } }),
    ],
  ];
  test.each(cases)('%s', async (_, constraint, movementOf) => {
    const from = await held();
    expect(await refusalOf(await movementOf(from))).toBe(constraint);
    expect(await balanceOf(books, from.wallet)).toBe(40);
  });
});

test('a batch with holds to resolve posts its other movements', async () => {
  const { wallet, hold } = await held();
  const results = await Promise.all(
    [move(books.book, wallet, RAIL, 1), completionOf(hold), move(books.book, wallet, RAIL, 2)].map((movement) =>
      books.journal.post(movement),
    ),
  );
  expect(results.map(({ outcome }) => outcome)).toEqual(['posted', 'posted', 'posted']);
  expect(await balanceOf(books, wallet)).toBe(37);
});

test('of a batch, only the movement that takes money from transit without naming its hold is refused', async () => {
  const [first, second] = [await held(), await held()];
  const results = await Promise.allSettled(
    [completionOf(first.hold), move(books.book, TRANSIT, second.wallet, 60), failureOf(second.hold, second.wallet)].map(
      (movement) => books.journal.post(movement),
    ),
  );
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value.outcome : 'failed'))).toEqual([
    'posted',
    'failed',
    'posted',
  ]);
  expect(await balanceOf(books, second.wallet)).toBe(100);
});
