// The book of the benchmark: its statements are those of the service, so a change of either must fit the other.
import { expect, test } from '@jest/globals';
import { openBook, postOne } from '../../bench/book.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';

test('opens in a migrated database, and its transfers are posted', async () => {
  const { url, drop } = await createDatabase();
  const book = await openBook(ownerOf(url), { wallets: 3 });
  try {
    expect(book.wallets).toHaveLength(3);
    await postOne(book, 'hot');
    await postOne(book, 'uniform');
  } finally {
    await book.close();
    await drop();
  }
});
