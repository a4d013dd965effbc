// A business key that was posted with other postings is never taken for a repeat by whoever posts.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retryOnConflict } from '../../src/activities/posting.ts';
import { postNew } from '../../src/api/postOutcome.ts';
import { type Books, balanceOf, expectPosted, move, newWallet, openBooks, RAIL } from '../ledger/books.ts';

let books: Books;

beforeAll(async () => {
  books = await openBooks();
});

afterAll(() => books.close());

async function postedWithOtherPostings() {
  const wallet = await newWallet(books, { balance: 100 });
  const first = move(books.book, wallet, RAIL, 10);
  await expectPosted(books.journal.post(first));
  const other = move(books.book, wallet, RAIL, 20, { key: first.transaction?.key ?? '' });
  return { wallet, other };
}

test('an activity reads again, and parks its flow when that does not explain it', async () => {
  const { wallet, other } = await postedWithOtherPostings();
  let rounds = 0;
  const decided = retryOnConflict(books.journal, async ({ postOrPark }) => {
    rounds += 1;
    return (await postOrPark(other)) ? true : null;
  });
  await expect(decided).rejects.toMatchObject({ type: 'POSTING_REFUSED', details: [{ code: 'DUPLICATE_DIFFERS' }] });
  expect(rounds).toBe(2);
  expect(await balanceOf(books, wallet)).toBe(90);
});

test('an activity whose second reading shows what was posted goes on', async () => {
  const { other } = await postedWithOtherPostings();
  let isPosted = false;
  const decided = await retryOnConflict(books.journal, async ({ postOrPark }) => {
    if (isPosted) return 'read';
    isPosted = true;
    return (await postOrPark(other)) ? 'posted' : null;
  });
  expect(decided).toBe('read');
});

test('a request fails with a fault, and is not told that it succeeded', async () => {
  const { wallet, other } = await postedWithOtherPostings();
  await expect(postNew(books.journal, other)).rejects.toThrow(
    'the business key was already posted with different postings',
  );
  expect(await balanceOf(books, wallet)).toBe(90);
});
