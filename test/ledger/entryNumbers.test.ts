// The numbers of entries: gapless in the order in which an account was locked, and the order of statements, balances as
// of a time, reports and verification, whatever the ids of postings and accounts are. Ids go down here as they do when
// a book moves to a node whose sequence, or whose clock, is behind (docs/decisions/0005-entry-numbers.md).
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { requireUuid } from '../../src/ids.ts';
import type { AccountCode } from '../../src/ledger/chart.ts';
import { closeDays } from '../../src/ledger/closing.ts';
import { reportAccount, trialBalance } from '../../src/ledger/reports.ts';
import type { Wallet } from '../../src/resources/wallets/queries.ts';
import { balanceAt, listStatement } from '../../src/resources/wallets/statement.ts';
import { sealCheck, sealNext } from '../../src/verification/seals.ts';
import { verify } from '../../src/verification/verify.ts';
import { verifyLedger } from '../../src/verification/verifyBooks.ts';
import { type Books, expectPosted, move, newWallet, openBooks, postTogether, RAIL, transaction } from './books.ts';

let books: Books;

beforeEach(async () => {
  books = await openBooks();
});

afterEach(() => books.close());

interface Entry {
  number: number;
  id: number;
  change: number;
  balanceAfter: number;
  createdAt: Date;
}

/** The entries of an account in the order of their numbers. */
const entriesOf = async (code: AccountCode): Promise<Entry[]> => [
  ...(await books.sql<Entry[]>`
    SELECT e.number, e.posting_id AS id, e.credit - e.debit AS change, e.balance_after, e.created_at
    FROM ledger.entries e WHERE e.account = ${code} ORDER BY e.number`),
];

/** The account of a wallet, as the queries of wallets take it. */
async function walletOf(code: AccountCode): Promise<Wallet> {
  const [row] = await books.sql<
    { accountId: number }[]
  >`SELECT id AS account_id FROM ledger.accounts WHERE code = ${code}`;
  return { id: requireUuid('wallet', code.slice('wallet:'.length)), ...row } as unknown as Wallet;
}

/** The whole statement, newest first, read in pages of this size. */
async function statementOf(code: AccountCode, limit: number): Promise<number[]> {
  const wallet = await walletOf(code);
  const numbers: number[] = [];
  for (let after: { createdAt: Date; id: string } | null = null; ; ) {
    const page = await listStatement(books.sql, books.book, wallet, {}, { limit, after });
    numbers.push(...page.slice(0, limit).map(({ number }) => number));
    const last = page[limit - 1];
    if (page.length <= limit || last === undefined) return numbers;
    after = { createdAt: last.createdAt, id: String(last.number) };
  }
}

const countTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

test('the entries of an account are numbered without a gap while two processes post, also beside refusals', async () => {
  const [hot, empty] = [await newWallet(books, { balance: 100_000 }), await newWallet(books)];
  const others = await Promise.all(countTo(5).map(() => newWallet(books)));
  const journals = [books.journal, books.anotherJournal()];
  const results = await Promise.all(
    countTo(400).map(async (n) => {
      const other = others[n % others.length] as AccountCode;
      const [debit, credit] = n % 7 === 0 ? [empty, hot] : n % 3 === 0 ? [other, hot] : [hot, other];
      const postings = [
        { debit, credit, amount: 1 + (n % 5) },
        { debit, credit: 'income:fees' as const, amount: 1 },
      ];
      return (await journals[n % 2]?.post({ book: books.book, transaction: transaction(postings) }))?.outcome;
    }),
  );
  expect(new Set(results)).toEqual(new Set(['posted', 'refused']));
  let balance = 0;
  for (const code of [hot, empty, ...others]) {
    const entries = await entriesOf(code);
    expect(entries.map(({ number }) => number)).toEqual(countTo(entries.length));
    const [account] = await books.sql`SELECT last_number FROM ledger.accounts WHERE code = ${code}`;
    expect(account).toEqual({ lastNumber: entries.length });
    balance = 0;
    for (const { change, balanceAfter } of entries) {
      balance += change;
      expect(balanceAfter).toBe(balance);
    }
    const times = entries.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  }
  expect((await verifyLedger(books.owner, { pageSize: 7 })).findings).toEqual([]);
});

test('an account with a derived balance has no numbers, and its entries the order of their times', async () => {
  const wallet = await newWallet(books);
  for (const amount of [1, 2, 3]) await expectPosted(books.journal.post(move(books.book, RAIL, wallet, amount)));
  const entries = await entriesOf(RAIL);
  expect(entries.map(({ change }) => change)).toEqual([-1, -2, -3]);
  for (const { number, id, createdAt } of entries) {
    expect(number).toBe(id);
    expect(Math.abs(id / 1_000 - createdAt.getTime())).toBeLessThan(1);
  }
  expect(await books.sql`SELECT DISTINCT debit_number FROM ledger.postings`).toEqual([{ debitNumber: null }]);
});

/** The ids of the next accounts, from the lowest one of the node. */
const accountsFrom = async (number: number): Promise<void> => {
  await books.onNode`
    SELECT setval(seqrelid::regclass, seqmin + ${number}::int, false) FROM pg_sequence
    WHERE seqrelid = pg_get_serial_sequence('ledger.accounts', 'id')::regclass`;
};

/** What was posted until now came from a node whose ids are higher: those of what follows are lower. */
const moveToNodeWithLowerIds = (): Promise<void> =>
  books.asSuperuser(async (sql) => {
    await sql`UPDATE ledger.postings SET id = id + 500000000000000`;
    await accountsFrom(0);
  });

/** Dates what was posted in the last ten minutes back, with its transactions and the times of their movements. */
const dateBack = (hours: number): Promise<void> =>
  books.asSuperuser(async (sql) => {
    for (const table of ['ledger.postings', 'ledger.transactions', 'ledger.accounts']) {
      await sql`
        UPDATE ${sql(table)} SET created_at = now() - make_interval(hours => ${hours}) WHERE created_at > now() - interval '10 minutes'`;
    }
    await sql`UPDATE ledger.transactions SET moved_at = created_at WHERE created_at < now() - interval '1 hour'`;
  });

test('ids that go down change no statement, balance, report, closing, seal or verification', async () => {
  await accountsFrom(1_000_000);
  const wallet = await newWallet(books);
  for (const amount of [100, 200, 300]) await expectPosted(books.journal.post(move(books.book, RAIL, wallet, amount)));
  await moveToNodeWithLowerIds();
  await dateBack(80);
  const [cut] = await books.sql<{ at: Date }[]>`SELECT now() - interval '50 hours' AS at`;
  const at = cut?.at ?? new Date();
  const late = await newWallet(books);
  for (const amount of [1, 2, 3]) await expectPosted(books.journal.post(move(books.book, wallet, late, amount)));
  await moveToNodeWithLowerIds();
  await dateBack(30);
  await expectPosted(books.journal.post(move(books.book, wallet, 'income:fees', 4)));

  const entries = await entriesOf(wallet);
  expect(entries.map(({ change }) => change)).toEqual([100, 200, 300, -1, -2, -3, -4]);
  const ids = entries.map(({ id }) => id);
  expect(Math.max(...ids.slice(3))).toBeLessThan(Math.min(...ids.slice(0, 3)));
  const [account] = await books.sql`
    SELECT min(id) FILTER (WHERE code = ${late}) < min(id) FILTER (WHERE code = ${wallet}) AS is_lower FROM ledger.accounts`;
  expect(account).toEqual({ isLower: true });

  for (const limit of [1, 3, 100]) expect(await statementOf(wallet, limit)).toEqual(countTo(7).toReversed());
  const of = await walletOf(wallet);
  const period = async (filters: object): Promise<number[]> =>
    (await listStatement(books.sql, books.book, of, filters, { limit: 100, after: null })).map(({ number }) => number);
  expect(await period({ createdAtTo: at })).toEqual([3, 2, 1]);
  expect(await period({ createdAtFrom: at })).toEqual([7, 6, 5, 4]);
  expect(await balanceAt(books.sql, books.book, of, at)).toBe(600);
  expect(await balanceAt(books.sql, books.book, of, new Date())).toBe(590);

  // The first day is that of the oldest account, which does not have the lowest id.
  expect(await closeDays(books.sql, books.book, { accountsMax: 1, postingsMax: 2 })).toBeGreaterThanOrEqual(3);
  const balances = async (before: Date) =>
    Object.fromEntries((await trialBalance(books.sql, books.book, before)).map((row) => [row.account, row.balance]));
  expect(await balances(at)).toEqual({ [RAIL]: -600, [wallet]: 600 });
  expect(await balances(new Date(Date.now() + 1_000))).toEqual({
    [RAIL]: -600,
    [wallet]: 590,
    [late]: 6,
    'income:fees': 4,
  });
  const report = await reportAccount(books.sql, books.book, wallet, {
    from: new Date(0),
    to: new Date(Date.now() + 1_000),
  });
  expect(report?.entries.map(({ number, balance }) => [number, balance])).toEqual(
    [100, 300, 600, 599, 597, 594, 590].map((balance, index) => [index + 1, balance]),
  );

  expect(await sealNext(books.sql, 60_000)).toEqual({ seals: 1, isBehind: false });
  await moveToNodeWithLowerIdsAfterSeals();
  expect((await verify(books.sql, [sealCheck()])).findings).toEqual([]);
  for (const pageSize of [1, 4, 10_000]) {
    expect((await verifyLedger(books.owner, { pageSize })).findings).toEqual([]);
  }
});

/** Sealed postings keep their ids; what follows has lower ones. */
async function moveToNodeWithLowerIdsAfterSeals(): Promise<void> {
  const wallet = await newWallet(books, { balance: 5 });
  await books.asSuperuser(
    (sql) => sql`UPDATE ledger.postings SET id = 1 WHERE created_at > now() - interval '10 minutes'`,
  );
  expect((await entriesOf(wallet)).map(({ number }) => number)).toEqual([1]);
}

test('random movements keep the order of the book however the ids change between them', async () => {
  const wallets = await Promise.all(countTo(3).map(() => newWallet(books, { balance: 1_000 })));
  const pairs = fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 50 }));
  const expected = new Map(wallets.map((code) => [code, [1_000]]));
  await fc.assert(
    fc.asyncProperty(
      fc.array(pairs, { minLength: 1, maxLength: 6 }),
      // Twelve of these leave every id above zero.
      fc.integer({ min: -140, max: 140 }),
      async (moves, shift) => {
        const movements = moves.map(([from, step, amount]) =>
          move(books.book, wallets[from] as AccountCode, wallets[(from + step) % 3] as AccountCode, amount),
        );
        const results = await postTogether(books, movements);
        for (const [index, { outcome }] of results.entries()) {
          const [posting] = movements[index]?.transaction?.postings ?? [];
          if (outcome !== 'posted' || posting === undefined) continue;
          expected.get(posting.debit)?.push(-posting.amount);
          expected.get(posting.credit)?.push(posting.amount);
        }
        await books.asSuperuser((sql) => sql`UPDATE ledger.postings SET id = id + ${shift}::bigint * 1000000000000`);
        for (const [code, changes] of expected) {
          const entries = await entriesOf(code);
          expect(entries.map(({ change }) => change)).toEqual(changes);
          expect(entries.map(({ number }) => number)).toEqual(countTo(changes.length));
        }
      },
    ),
    { numRuns: 12 },
  );
  expect((await verifyLedger(books.owner, { pageSize: 5 })).findings).toEqual([]);
});
