// The times of the books when the clock of the database goes back, or that of a promoted standby lags: none is before
// an earlier one, so that seals, balances at a time and the order of entries hold. Here the last time of the books is
// ahead of the clock, as it is after that; `npm run drill -- clock` sets the clock.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sealCheck, sealNext } from '../../src/verification/seals.ts';
import { verify } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { type Books, expectPosted, move, newWallet, openBooks, RAIL } from './books.ts';

const LAG_MS = 60_000;

let books: Books;
let wallet: string;

beforeEach(async () => {
  books = await openBooks();
  wallet = await newWallet(books);
});

afterEach(() => books.close());

const post = (amount: number) => expectPosted(books.journal.post(move(books.book, RAIL, wallet, amount)));

/** The clock has gone back by this since the last movement, which was sealed. */
async function setBack(back: string): Promise<void> {
  await post(100);
  await books.asSuperuser(async (sql) => {
    // What was posted until then is moved ahead, and sealed.
    for (const table of ['ledger.postings', 'ledger.transactions']) {
      await sql`UPDATE ${sql(table)} SET created_at = created_at + ${back}::interval`;
    }
    await sql`
      INSERT INTO ledger.seals (organisation_id, environment, number, sealed_until, posting_count, amount, audit_count, digest)
      SELECT p.organisation_id, p.environment, 1, max(p.created_at), count(*), sum(p.amount), 0,
             sha256(string_agg(ledger.posting_digest(p, t), '' ORDER BY ledger.posting_digest(p, t)))
      FROM ledger.postings p JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
      GROUP BY p.organisation_id, p.environment`;
    await sql`SELECT setval('ledger.clock', ledger.posting_id(clock_timestamp() + ${back}::interval))`;
  });
}

const entries = () => books.sql<{ amount: number; createdAt: Date; movedAt: Date; written: Date }[]>`
  SELECT p.amount, p.created_at, t.moved_at, t.created_at AS written
  FROM ledger.postings p JOIN ledger.transactions t USING (organisation_id, environment)
  WHERE t.id = p.transaction_id ORDER BY p.credit_number, p.id`;

test.each(['180 s', '1 day'])('after the clock went back by %s times still rise, and seals hold', async (back) => {
  await setBack(back);
  for (const amount of [1, 2, 3]) await post(amount);
  const found = await entries();
  expect(found.map(({ amount }) => amount)).toEqual([100, 1, 2, 3]);
  for (const name of ['createdAt', 'movedAt', 'written'] as const) {
    const times = found.slice(name === 'createdAt' ? 0 : 1).map((entry) => entry[name].getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeGreaterThanOrEqual(found[0]?.createdAt.getTime() ?? Number.NaN);
  }
  const ofSeals = await verify(books.sql, [sealCheck()]);
  expect(ofSeals.findings).toEqual([]);
  expect(await sealNext(books.sql, LAG_MS)).toEqual({ seals: 0, isBehind: false });
  const { findings } = await verifyBooks(books.sql);
  expect(findings.filter(({ kind }) => kind !== 'UNEXPLAINED_TRANSACTION')).toEqual([]);
});

test('a balance at the time of the last movement before has no later one', async () => {
  await setBack('180 s');
  const [{ createdAt: at } = { createdAt: new Date() }] = await entries();
  const balanceAt = async () => {
    const [row] = await books.sql<{ balance: number }[]>`
      SELECT l.balance FROM ledger.accounts a, ledger.last_posting(${books.book.organisationId}, a.id, ${at}) l
      WHERE a.organisation_id = ${books.book.organisationId} AND a.code = ${wallet}`;
    return row?.balance;
  };
  const before = await balanceAt();
  await post(50);
  expect(await balanceAt()).toBe(before);
});

test('an audit entry is dated after those that were sealed', async () => {
  await setBack('1 day');
  await books.owner`SELECT ledger.audit_decisions(
    ${books.book.organisationId}, 'test', '{}',
    ARRAY[ROW(1, NULL, 'ada', 'wallet.freeze', 'made up', NULL, NULL, NULL, false, NULL)::ledger.audit_entry], NULL)`;
  const [row] = await books.sql<{ isAfter: boolean }[]>`
    SELECT (SELECT max(created_at) FROM audit_log) > (SELECT max(sealed_until) FROM ledger.seals) AS is_after`;
  expect(row).toEqual({ isAfter: true });
});

test('sums of accounts that are never locked include what was posted since', async () => {
  await setBack('180 s');
  await post(7);
  const [row] = await books.sql<{ isFinal: boolean }[]>`
    SELECT ledger.last_final_posting(${books.book.organisationId}) >= (SELECT max(id) FROM ledger.postings) AS is_final`;
  expect(row).toEqual({ isFinal: true });
});

test('a time is that of the clock while it goes forward', async () => {
  await post(1);
  const [row] = await books.sql<{ seconds: number }[]>`
    SELECT abs(extract(epoch FROM now() - max(created_at)))::float8 AS seconds FROM ledger.postings`;
  expect(row?.seconds).toBeLessThan(5);
});
