// A business key that was posted with other postings is never treated as a repeat.
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

test('an activity re-reads after a differing duplicate, and parks its flow if that does not explain it', async () => {
  const { wallet, other } = await postedWithOtherPostings();
  let attempts = 0;
  const result = retryOnConflict(books.journal, async ({ postOrPark }) => {
    attempts += 1;
    return (await postOrPark(other)) ? true : null;
  });
  await expect(result).rejects.toMatchObject({ type: 'POSTING_REFUSED', details: [{ code: 'DUPLICATE_DIFFERS' }] });
  expect(attempts).toBe(2);
  expect(await balanceOf(books, wallet)).toBe(90);
});

test('an activity continues when re-reading shows what was posted', async () => {
  const { other } = await postedWithOtherPostings();
  let isPosted = false;
  const result = await retryOnConflict(books.journal, async ({ postOrPark }) => {
    if (isPosted) return 'read';
    isPosted = true;
    return (await postOrPark(other)) ? 'posted' : null;
  });
  expect(result).toBe('read');
});

test('a request with a differing duplicate fails with an internal error rather than success', async () => {
  const { wallet, other } = await postedWithOtherPostings();
  const call = { dependencies: { journal: books.journal }, sql: books.sql, book: books.book };
  await expect(postNew(call, other, { resource: 'transfer', reference: null })).rejects.toThrow(
    'the business key was already posted with different postings',
  );
  expect(await balanceOf(books, wallet)).toBe(90);
});
