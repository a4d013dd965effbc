// Balances as of a time: exact, the same when asked again, and as fast for an old time as for a new one.
// `AS_OF_POSTINGS` sets the number of postings.
import { afterAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { type Books, expectPosted, move, newWallet, openBooks, RAIL } from './books.ts';

const POSTINGS = Number(process.env.AS_OF_POSTINGS ?? 4_000);
const CALLERS = 32;

const balanceAt = async (at: Date): Promise<number> => {
  const [row] = await books.sql<{ balance: number }[]>`
    SELECT balance FROM ledger.last_posting(${books.book.organisationId}, ${account}, ${at})`;
  return row?.balance ?? Number.NaN;
};

const books = await openBooks();
const wallet = await newWallet(books, { balance: 1_000_000 });
const [row] = await books.sql<{ id: number }[]>`SELECT id FROM ledger.accounts WHERE code = ${wallet}`;
const account: number = row?.id ?? 0;

afterAll(() => books.close());

test('a balance as of a time that was asked while two processes post is the sum of the postings up to it', async () => {
  const answers: { at: Date; balance: number }[] = [];
  let left = POSTINGS;
  const post = async (journal: Books['journal'], turn: number): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const [debit, credit] = left % 3 === turn ? [wallet, RAIL] : [RAIL, wallet];
      await expectPosted(journal.post(move(books.book, debit, credit, 1 + (left % 7))));
    }
  };
  const ask = async (): Promise<void> => {
    while (left > 0) {
      // Now, recently, and slightly ahead of the clock of the database.
      const at = new Date(Date.now() + 2 - Math.floor(Math.random() * 300));
      answers.push({ at, balance: await balanceAt(at) });
    }
  };
  const another = books.anotherJournal();
  await Promise.all([
    ...Array.from({ length: CALLERS }, (_, index) => post(index % 2 === 0 ? books.journal : another, index % 3)),
    ask(),
  ]);

  const postings = await books.sql<{ createdAt: Date; change: number; balance: number }[]>`
    SELECT created_at, CASE WHEN credit_account_id = ${account} THEN amount ELSE -amount END AS change,
           coalesce(debit_balance_after, credit_balance_after) AS balance
    FROM ledger.postings WHERE ${account} IN (debit_account_id, credit_account_id)
    ORDER BY coalesce(debit_number, credit_number)`;
  expect(postings).toHaveLength(POSTINGS + 1);
  const inversions = postings.filter(({ createdAt }, index) => createdAt < (postings[index - 1]?.createdAt ?? 0));
  expect(inversions).toEqual([]);
  expect(answers.length).toBeGreaterThan(10);
  const times = [
    ...answers,
    ...postings.filter((_, index) => index % 100 === 0).map(({ createdAt }) => ({ at: createdAt, balance: null })),
  ];
  for (const { at, balance } of times) {
    const sum = postings.reduce((total, { createdAt, change }) => (createdAt <= at ? total + change : total), 0);
    expect([at, balance ?? sum]).toEqual([at, sum]);
    expect([at, await balanceAt(at)]).toEqual([at, sum]);
  }
});

test('a balance before the first posting, or of an account without postings, is zero', async () => {
  expect(await balanceAt(new Date(0))).toBe(0);
  const [row] = await books.sql<{ number: number; balance: number }[]>`
    SELECT number, balance FROM ledger.last_posting(${newUuid()}, ${account + 1_000}, now())`;
  expect(row).toEqual({ number: 0, balance: 0 });
});

test('the last entry up to a time is exact whatever the rate of the entries, also with many at one time', async () => {
  const own = await newWallet(books, { balance: 1 });
  await Promise.all(
    Array.from({ length: 299 }, () => expectPosted(books.journal.post(move(books.book, RAIL, own, 1)))),
  );
  const [{ id } = { id: 0 }] = await books.sql<{ id: number }[]>`SELECT id FROM ledger.accounts WHERE code = ${own}`;
  // Seconds of the entry with this number: a steady rate, bursts between pauses, a slow and a fast half, three times.
  const rates: ((number: number) => number)[] = [
    (number) => number,
    (number) => 1_000 * Math.floor(number / 50) + (number % 50) / 50,
    (number) => (number < 150 ? 600 * number : 90_000 + number / 100),
    (number) => 3_600 * Math.floor(number / 100),
  ];
  const days = [20_000, 21_000, 22_000, 23_000];
  for (const [index, secondsOf] of rates.entries()) {
    const start = (days[index] ?? 0) * 86_400;
    const times = Array.from({ length: 300 }, (_, place) => start + secondsOf(place + 1));
    await books.asSuperuser(async (sql) => {
      await sql`
        UPDATE ledger.postings p SET created_at = to_timestamp(t.at)
        FROM unnest(${times}::double precision[]) WITH ORDINALITY AS t (at, number)
        WHERE p.credit_account_id = ${id} AND p.credit_number = t.number`;
    });
    const asked = [start - 1, ...times, ...times.map((time) => time + 0.001), start + 1e6];
    const found = await books.sql<{ number: number; balance: number }[]>`
      SELECT l.number, l.balance FROM unnest(${asked}::double precision[]) WITH ORDINALITY AS a (at, place)
      CROSS JOIN LATERAL ledger.last_posting(${books.book.organisationId}, ${id}, to_timestamp(a.at)) l ORDER BY a.place`;
    const expected = asked.map((at) => times.filter((time) => time <= at).length);
    expect(found).toEqual(expected.map((number) => ({ number, balance: number })));
  }
});
