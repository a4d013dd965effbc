// What leaves a wallet in a day and a month of Lagos: the posting statement holds the sums exactly, whatever is posted
// at the same time, and nothing is read or written where a wallet has no such limit.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AccountCode } from '../../src/ledger/chart.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import type { Kobo } from '../../src/money.ts';
import { DAY_MS, dayOf, dayStart } from '../../src/times.ts';
import { type Books, balanceOf, expectPosted, move, newWallet, openBooks, postTogether, setAccount } from './books.ts';
import './seed.ts';

type Maxima = [
  dailyAmount: Kobo | null,
  dailyCount: number | null,
  monthlyAmount: Kobo | null,
  monthlyCount: number | null,
];

let books: Books;
let shop: AccountCode;

beforeAll(async () => {
  books = await openBooks();
  shop = await newWallet(books);
});
afterAll(() => books.close());

async function limited(maxima: Maxima, balance = 1_000_000): Promise<AccountCode> {
  const wallet = await newWallet(books, { balance });
  await setAccount(books, wallet, { period_maxima: maxima });
  return wallet;
}

const transfer = (wallet: AccountCode, amount: Kobo, more: Partial<Transaction> = {}): Movement =>
  move(books.book, wallet, shop, amount, { kind: 'transfer', ...more });
const send = (wallet: AccountCode, amount: Kobo, more: Partial<Transaction> = {}): Promise<PostResult> =>
  books.journal.post(transfer(wallet, amount, more));

/** `ok`, or the limit that is exceeded with what is left of it. */
const verdict = (result: PostResult): string =>
  result.outcome === 'refused'
    ? [result.code, result.detail.limit, result.detail.remaining].join(' ').trim()
    : result.outcome;

/** The next times of the books are from this one on, a microsecond a statement. */
const setClock = (at: Date, microseconds = 0) =>
  books.asSuperuser((sql) => sql`SELECT setval('ledger.clock', ledger.posting_id(${at}) + ${microseconds}::bigint)`);

const POSTED = 'posted';

describe('sums', () => {
  test.each<[name: string, maxima: Maxima, amounts: Kobo[], verdicts: string[]]>([
    [
      'a day, exact to the kobo',
      [100, null, null, null],
      [60, 41, 40, 1],
      [POSTED, 'WALLET_LIMIT_EXCEEDED daily_amount 40', POSTED, 'WALLET_LIMIT_EXCEEDED daily_amount 0'],
    ],
    ['transactions a day', [null, 2, null, null], [1, 1, 1], [POSTED, POSTED, 'WALLET_LIMIT_EXCEEDED daily_count 0']],
    ['a month', [null, null, 100, null], [100, 1], [POSTED, 'WALLET_LIMIT_EXCEEDED monthly_amount 0']],
    ['transactions a month', [null, null, null, 1], [1, 1], [POSTED, 'WALLET_LIMIT_EXCEEDED monthly_count 0']],
    [
      'the limit that resets last is named',
      [10, 5, 10, 5],
      [11, 10],
      ['WALLET_LIMIT_EXCEEDED monthly_amount 10', POSTED],
    ],
  ])('of %s', async (_, maxima, amounts, verdicts) => {
    const one = await limited(maxima);
    const results: string[] = [];
    for (const amount of amounts) results.push(verdict(await send(one, amount)));
    expect(results).toEqual(verdicts);
    const together = await limited(maxima);
    expect(
      (
        await postTogether(
          books,
          amounts.map((amount) => transfer(together, amount)),
        )
      ).map(verdict),
    ).toEqual(verdicts);
    expect(await balanceOf(books, together)).toBe(await balanceOf(books, one));
  });

  test('the refusal has the limit, the attempt with its fee, what is left, and when the limit resets', async () => {
    const wallet = await limited([100, null, null, null]);
    const { transaction, ...rest } = transfer(wallet, 95);
    const fee = { debit: wallet, credit: 'income:fees', amount: 6 };
    const postings = [...(transaction?.postings ?? []), fee];
    const result = await books.journal.post({ ...rest, transaction: { ...transaction, postings } as Transaction });
    const resetsAt = new Date(dayStart(dayOf(new Date())).getTime() + DAY_MS).toISOString();
    const detail = { limit: 'daily_amount', maximum: 100, attempted: 101, remaining: 100, resetsAt };
    expect(result).toEqual({ outcome: 'refused', code: 'WALLET_LIMIT_EXCEEDED', account: wallet, detail });
  });

  test('what the wallet receives, a refund and a correction do not count; a repeat counts once', async () => {
    const wallet = await limited([100, 1, null, null]);
    const once = transfer(wallet, 100);
    expect(verdict(await books.journal.post(once))).toBe(POSTED);
    expect(verdict(await books.journal.post(once))).toBe('duplicate');
    for (const kind of ['refund_hold', 'adjustment', 'withdrawal_clawback'])
      expect(verdict(await send(wallet, 50, { kind, rules: 'exempt' }))).toBe(POSTED);
    await expectPosted(books.journal.post(move(books.book, shop, wallet, 100)));
    expect(verdict(await send(wallet, 1))).toMatch(/daily_(amount|count) 0$/);
  });

  test('a withdrawal that the bank sends back gives its amount back, one that is in transit or paid does not', async () => {
    const wallet = await limited([100, 1, 100, 1]);
    const of = (step: string, kind: string, resource: string) => ({ key: `${resource}/${step}`, kind, resource });
    const hold = move(books.book, wallet, 'in_transit:withdrawals', 100, of('hold', 'withdrawal_hold', 'svc_one_wdl'));
    await expectPosted(books.journal.post(hold));
    expect(verdict(await send(wallet, 1))).toMatch(/monthly_/);
    const back = { ...of('return', 'withdrawal_failure', 'svc_one_wdl'), reverses: 'svc_one_wdl/hold' };
    await expectPosted(books.journal.post(move(books.book, 'in_transit:withdrawals', wallet, 100, back)));
    expect(verdict(await send(wallet, 100))).toBe(POSTED);
  });

  test('of movements at once, one that is refused for another reason leaves its part to the next ones', async () => {
    const wallet = await limited([100, null, null, null], 80);
    const results = await postTogether(
      books,
      [90, 50, 40, 30].map((amount) => transfer(wallet, amount)),
    );
    expect(results.map(verdict)).toEqual([
      expect.stringContaining('WALLET_INSUFFICIENT_FUNDS'),
      POSTED,
      expect.stringContaining('WALLET_INSUFFICIENT_FUNDS'),
      POSTED,
    ]);
  });
});

test('many movements at once that are refused for another reason than the limit are decided in one pass', async () => {
  const wallet = await limited([2, 1, 2, null], 1);
  const results = await postTogether(
    books,
    [...Array.from({ length: 13 }, () => 2), 1, 1].map((amount) => transfer(wallet, amount)),
  );
  expect(results.map(verdict)).toEqual([
    ...Array.from({ length: 13 }, () => expect.stringContaining('WALLET_INSUFFICIENT_FUNDS')),
    POSTED,
    'WALLET_LIMIT_EXCEEDED daily_count 0',
  ]);
});

test('any sends at once are decided as one after the other', async () => {
  const amount = fc.integer({ min: 1, max: 60 });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        daily: amount,
        count: fc.integer({ min: 1, max: 6 }),
        monthly: fc.integer({ min: 1, max: 120 }),
        balance: amount,
      }),
      fc.array(amount, { minLength: 1, maxLength: 12 }),
      async ({ daily, count, monthly, balance }, amounts) => {
        const wallet = await limited([daily, count, monthly, null], balance);
        const left = { daily, monthly, balance, count };
        const expected = amounts.map((sent) => {
          const exceeds = sent > left.daily || sent > left.monthly || left.count === 0;
          if (exceeds) return 'WALLET_LIMIT_EXCEEDED';
          if (sent > left.balance) return 'WALLET_INSUFFICIENT_FUNDS';
          left.daily -= sent;
          left.monthly -= sent;
          left.balance -= sent;
          left.count -= 1;
          return POSTED;
        });
        const results = await postTogether(
          books,
          amounts.map((sent) => transfer(wallet, sent)),
        );
        expect(results.map((result) => (result.outcome === 'refused' ? result.code : result.outcome))).toEqual(
          expected,
        );
      },
    ),
    { numRuns: 60 },
  );
});

test('50 callers in several processes send around midnight in Lagos: each day has exactly what it may', async () => {
  const midnight = new Date(dayStart(dayOf(new Date())).getTime() + 2 * DAY_MS);
  const wallet = await limited([1_000, null, null, null]);
  const journals = [books.journal, ...Array.from({ length: 4 }, () => books.anotherJournal())];
  // Entries have milliseconds: half of one before midnight is the next day. Some twenty statements are on each side.
  await setClock(midnight, -500 - 20);
  const results = await Promise.all(
    Array.from({ length: 50 }, async (_, caller) => {
      const own: PostResult[] = [];
      for (let round = 0; round < 2; round += 1)
        own.push(await (journals[caller % journals.length] ?? books.journal).post(transfer(wallet, 70)));
      return own;
    }),
  );
  const days = await books.sql<{ day: Date; amount: Kobo }[]>`
    SELECT date_trunc('day', p.created_at, 'Africa/Lagos') AS day, sum(p.amount)::bigint AS amount
    FROM ledger.postings p JOIN ledger.accounts a ON a.id = p.debit_account_id
    WHERE p.organisation_id = ${books.book.organisationId} AND a.code = ${wallet} GROUP BY 1 ORDER BY 1`;
  expect(days.map(({ day, amount }) => [day.getTime() - midnight.getTime(), amount])).toEqual([
    [-DAY_MS, 980],
    [0, 980],
  ]);
  const refused = results.flat().filter(({ outcome }) => outcome === 'refused');
  expect(refused).toHaveLength(100 - 28);
});
