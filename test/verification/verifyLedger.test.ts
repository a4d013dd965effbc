// `ledger verify` finds and names every kind of violation, and reports none in a consistent ledger.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { connect } from '../../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { AccountCode } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Checkpoint, Finding, Progress } from '../../src/verification/verify.ts';
import { verifyLedger } from '../../src/verification/verifyBooks.ts';
import { type Books, move, newWallet, openBooks, RAIL, transaction } from '../ledger/books.ts';
import { adminOf, nodeOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

interface SmallLedger {
  books: Books;
  a: AccountCode;
  b: AccountCode;
  /** RAIL → a 1,000; a → b 300; b → unclaimed 20; a → b 100. */
  ids: [Uuid, Uuid, Uuid, Uuid];
}

/** Two wallets and four transactions with known balances: a 600, b 380, unclaimed 20, the rail −1,000. */
async function smallLedger(): Promise<SmallLedger> {
  const books = await openBooks();
  const [a, b] = [await newWallet(books), await newWallet(books)];
  const movements = [
    move(books.book, RAIL, a, 1_000),
    move(books.book, a, b, 300),
    move(books.book, b, 'unclaimed:credits', 20),
    move(books.book, a, b, 100),
  ];
  for (const movement of movements) await books.journal.post(movement);
  return { books, a, b, ids: movements.map(({ transaction: { id } = { id: '' } }) => id) as SmallLedger['ids'] };
}

const POSTING_KINDS: ReadonlySet<string> = new Set([
  'RUNNING_BALANCE_MISMATCH',
  'ACCOUNT_OUTSIDE_BOOK',
  'TRANSACTION_OUTSIDE_BOOK',
]);

/** Findings as text: kind, account, transaction, expected and found. */
const short = (findings: Finding[], books: Books) =>
  findings.map(({ organisation, environment, posting, resource, kind, account, transaction, expected, found }) => {
    expect([resource, organisation, environment]).toEqual([
      null,
      publicId('organisation', books.book.organisationId),
      'test',
    ]);
    if (kind !== 'ENTRY_MISSING') expect(posting !== null).toBe(POSTING_KINDS.has(kind));
    return `${kind} ${account ?? '-'} ${transaction ?? '-'}: ${expected}, found ${found}`;
  });

/** The id of no transaction. */
const UNKNOWN_ID: Uuid = '00000000-0000-7000-8000-000000000001';

const txn = (id: Uuid) => publicId('transaction', id);

describe('consistent ledgers', () => {
  test('a consistent ledger has no findings, and its contents are counted', async () => {
    const { books } = await smallLedger();
    const reported: Progress[] = [];
    const verification = await verifyLedger(books.owner, {
      onProgress: (progress) => reported.push(progress),
      pageSize: 3,
    });
    expect(verification).toEqual({
      books: 1,
      accounts: 4,
      postings: 4,
      transactions: 4,
      findings: [],
      truncated: false,
    });
    expect(reported[0]).toMatchObject({ done: 0, checkpoint: null });
    expect(reported.at(-1)).toMatchObject({ done: 20, total: 20 });
    await books.close();
  });

  test('an empty database has no findings', async () => {
    const books = await openBooks();
    expect(await verifyLedger(books.owner)).toMatchObject({ books: 0, postings: 0, findings: [] });
    await books.close();
  });

  test('a ledger with a negative rail balance, both environments and several organisations has no findings', async () => {
    const { books } = await smallLedger();
    const live = { ...books.book, environment: 'live' as const };
    const other = { organisationId: newUuid(), environment: 'test' as const };
    for (const book of [live, other]) {
      const wallet = await newWallet(books, { book, balance: 10 });
      await books.journal.post(move(book, wallet, 'unclaimed:credits', 4));
    }
    expect(await verifyLedger(books.owner, { pageSize: 2 })).toMatchObject({ books: 3, findings: [] });
    await books.close();
  });

  test('verification has no findings while other processes are posting', async () => {
    const { books, a, b } = await smallLedger();
    let running = true;
    let posted = 0;
    const posting = Promise.all(
      [books.journal, books.anotherJournal()].map(async (journal) => {
        while (running) {
          await Promise.all([journal.post(move(books.book, a, b, 3)), journal.post(move(books.book, b, a, 3))]);
          posted += 2;
        }
      }),
    );
    // Only runs during which something was posted count.
    for (let runs = 0; runs < 5; ) {
      const before = posted;
      // Pages of which a verification reads more than is posted meanwhile, on Citus too.
      expect((await verifyLedger(books.owner, { pageSize: 100 })).findings).toEqual([]);
      if (posted > before) runs += 1;
    }
    running = false;
    await posting;
    await books.close();
  });
});

test('verification waits for a statement that took lower ids and has not committed', async () => {
  const { books, a } = await smallLedger();
  const slow = connect(await nodeOf(books.url, books.book.organisationId), { connectionsMax: 1 });
  await slow`BEGIN`;
  await new Journal(slow).post(move(books.book, RAIL, a, 5));
  await newWallet(books, { balance: 7 });
  const verifying = verifyLedger(books.sql, { pageSize: 1 });
  const admin = postgres(adminOf(books.url), { max: 1 });
  await waitFor('the verification to wait', async () => {
    const [waiting] = await admin`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
        AND query LIKE '%FROM ledger.last_final_posting(%'`;
    return waiting !== undefined;
  });
  await admin.end();
  await slow`COMMIT`;
  expect((await verifying).findings).toEqual([]);
  await slow.end();
  await books.close();
});

describe('interruptions', () => {
  /** Verifies, interrupted after every page, with the checkpoints as a heartbeat keeps them. */
  async function interrupted(books: Books, pageSize: number) {
    const checkpoints: (Checkpoint | null)[] = [];
    let from: Checkpoint | null = null;
    for (let pages = 1; ; ) {
      let read = 0;
      const onProgress = ({ checkpoint }: Progress): void => {
        from = JSON.parse(JSON.stringify(checkpoint));
        if (read++ === pages) throw new Error('interrupted');
      };
      try {
        const verification = await verifyLedger(books.owner, { pageSize, from, onProgress });
        return { verification, checkpoints };
      } catch (error) {
        if ((error as Error).message !== 'interrupted') throw error;
        // Where something was found, the checkpoint stays: then one page more is read.
        pages = JSON.stringify(from) === JSON.stringify(checkpoints.at(-1)) ? pages + 1 : 1;
        checkpoints.push(from);
      }
    }
  }

  test('an interrupted verification goes on from its checkpoint, with the result of one that was not', async () => {
    const { books } = await smallLedger();
    for (const pageSize of [1, 3]) {
      const { verification, checkpoints } = await interrupted(books, pageSize);
      expect(verification).toEqual(await verifyLedger(books.owner));
      expect(new Set(checkpoints.flatMap((checkpoint) => Object.keys(checkpoint?.checks ?? {})))).toEqual(
        new Set(['postings', 'transactions', 'entries', 'debts', 'reversals']),
      );
    }
    await books.close();
  });

  test('checks that run at once are interrupted and go on as one after the other', async () => {
    const { books, ids } = await smallLedger();
    const checkpoints: Checkpoint[] = [];
    const onProgress = ({ checkpoint }: Progress): void => {
      if (checkpoint !== null) checkpoints.push(structuredClone(checkpoint));
    };
    const whole = await verifyLedger(books.owner, { pageSize: 1, jobs: 3, onProgress });
    expect(whole).toEqual(await verifyLedger(books.owner));
    for (const from of checkpoints) {
      expect(await verifyLedger(books.owner, { pageSize: 1, jobs: 2, from })).toEqual(whole);
    }
    await books.asSuperuser((sql) => sql`DELETE FROM ledger.postings WHERE transaction_id = ${ids[1]}`);
    expect(await verifyLedger(books.owner, { pageSize: 1, jobs: 3 })).toEqual(
      await verifyLedger(books.owner, { pageSize: 1 }),
    );
    await books.close();
  });

  test('what was found before an interruption is found again', async () => {
    const { books, ids } = await smallLedger();
    await books.asSuperuser((sql) => sql`DELETE FROM ledger.postings WHERE transaction_id = ${ids[1]}`);
    const { verification } = await interrupted(books, 1);
    expect(verification).toEqual(await verifyLedger(books.owner, { pageSize: 1 }));
    expect(verification.findings).toHaveLength(7);
    await books.close();
  });
});

describe('corruptions', () => {
  interface Case {
    corruption: string;
    corrupt: (sql: postgres.Sql, ledger: SmallLedger) => Promise<unknown>;
    findings: (ledger: SmallLedger) => string[];
  }
  const cases: Case[] = [
    {
      corruption: 'an edited balance',
      corrupt: (sql, { a }) => sql`UPDATE ledger.accounts SET balance = balance + 5 WHERE code = ${a}`,
      findings: ({ a }) => [`BALANCE_MISMATCH ${a} -: 600, found 605`, 'BOOK_UNBALANCED - -: 0, found 5'],
    },
    {
      corruption: 'an edited amount',
      corrupt: (sql, { ids }) => sql`UPDATE ledger.postings SET amount = 301 WHERE transaction_id = ${ids[1]}`,
      findings: ({ a, b, ids }) => [
        `RUNNING_BALANCE_MISMATCH ${a} ${txn(ids[1])}: 699, found 700`,
        `BALANCE_MISMATCH ${a} -: 599, found 600`,
        `RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[1])}: 301, found 300`,
        `BALANCE_MISMATCH ${b} -: 381, found 380`,
      ],
    },
    {
      corruption: 'an edited running balance',
      corrupt: (sql, { ids }) =>
        sql`UPDATE ledger.postings SET credit_balance_after = 299 WHERE transaction_id = ${ids[1]}`,
      findings: ({ b, ids }) => [
        `RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[1])}: 300, found 299`,
        `RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[2])}: 279, found 280`,
      ],
    },
    {
      corruption: 'a removed running balance',
      corrupt: (sql, { ids }) =>
        sql`UPDATE ledger.postings SET credit_balance_after = NULL WHERE transaction_id = ${ids[3]}`,
      findings: ({ b, ids }) => [`RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[3])}: 380, found no balance`],
    },
    {
      corruption: 'a deleted posting',
      corrupt: (sql, { ids }) => sql`DELETE FROM ledger.postings WHERE transaction_id = ${ids[1]}`,
      findings: ({ a, b, ids }) => [
        `RUNNING_BALANCE_MISMATCH ${a} ${txn(ids[3])}: 900, found 600`,
        `BALANCE_MISMATCH ${a} -: 900, found 600`,
        `RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[2])}: -20, found 280`,
        `BALANCE_MISMATCH ${b} -: 80, found 380`,
        `ENTRY_MISSING ${a} ${txn(ids[3])}: 3 after 2, found after 1`,
        `ENTRY_MISSING ${b} ${txn(ids[2])}: 2 after 1, found after 0`,
        `TRANSACTION_EMPTY - ${txn(ids[1])}: 1, found 0`,
      ],
    },
    {
      corruption: 'a deleted last posting of an account',
      corrupt: (sql, { ids }) => sql`DELETE FROM ledger.postings WHERE transaction_id = ${ids[3]}`,
      findings: ({ a, b, ids }) => [
        `BALANCE_MISMATCH ${a} -: 700, found 600`,
        `BALANCE_MISMATCH ${b} -: 280, found 380`,
        `ENTRY_MISSING ${a} -: 3 as the last number, found 2`,
        `ENTRY_MISSING ${b} -: 3 as the last number, found 2`,
        `TRANSACTION_EMPTY - ${txn(ids[3])}: 1, found 0`,
      ],
    },
    {
      corruption: 'a deleted last transaction, with balances that agree',
      corrupt: async (sql, { a, b, ids }) => {
        await sql`DELETE FROM ledger.postings WHERE transaction_id = ${ids[3]}`;
        await sql`DELETE FROM ledger.transactions WHERE id = ${ids[3]}`;
        await sql`UPDATE ledger.accounts SET balance = CASE code WHEN ${a} THEN 700 ELSE 280 END WHERE code IN (${a}, ${b})`;
      },
      findings: ({ a, b }) => [
        `ENTRY_MISSING ${a} -: 3 as the last number, found 2`,
        `ENTRY_MISSING ${b} -: 3 as the last number, found 2`,
      ],
    },
    {
      corruption: 'an account whose last number was lowered',
      corrupt: (sql, { b }) => sql`UPDATE ledger.accounts SET last_number = 2 WHERE code = ${b}`,
      findings: ({ b }) => [`ENTRY_MISSING ${b} -: 2 as the last number, found 3`],
    },
    {
      corruption: 'a negative account of unclaimed money',
      corrupt: (sql, { ids }) =>
        sql`
        UPDATE ledger.postings SET debit_account_id = credit_account_id, credit_account_id = debit_account_id,
          debit_balance_after = NULL, credit_balance_after = 320, debit_number = credit_number,
          credit_number = debit_number WHERE transaction_id = ${ids[2]}`,
      findings: ({ b, ids }) => [
        `RUNNING_BALANCE_MISMATCH ${b} ${txn(ids[3])}: 420, found 380`,
        `BALANCE_MISMATCH ${b} -: 420, found 380`,
        'NEGATIVE_BALANCE unclaimed:credits -: >= 0, found -20',
        'BOOK_UNBALANCED - -: 0, found -40',
      ],
    },
    {
      corruption: 'a negative wallet balance written without the constraint',
      corrupt: async (sql, { a, ids }) => {
        await sql`ALTER TABLE ledger.accounts DROP CONSTRAINT balance_in_range`;
        await sql`ALTER TABLE ledger.postings DROP CONSTRAINT postings_debit_balance_after_check`;
        await sql`UPDATE ledger.accounts SET balance = -1 WHERE code = ${a}`;
        await sql`UPDATE ledger.postings SET debit_balance_after = -1, amount = 701 WHERE transaction_id = ${ids[3]}`;
        await sql`UPDATE ledger.postings SET credit_balance_after = 981 WHERE transaction_id = ${ids[3]}`;
        await sql`UPDATE ledger.accounts SET balance = 981 WHERE balance = 380`;
      },
      findings: ({ a }) => [`NEGATIVE_BALANCE ${a} -: >= 0, found -1`],
    },
    {
      corruption: 'a posting to an account that does not exist',
      corrupt: (sql, { ids }) =>
        sql`UPDATE ledger.postings SET credit_account_id = 999999 WHERE transaction_id = ${ids[2]}`,
      findings: ({ ids }) => [
        `ACCOUNT_OUTSIDE_BOOK - ${txn(ids[2])}: credit account 999999 in the test book, found no such account`,
        'BOOK_UNBALANCED - -: 0, found -20',
      ],
    },
    {
      corruption: 'a deleted transaction',
      corrupt: (sql, { ids }) => sql`DELETE FROM ledger.transactions WHERE id = ${ids[2]}`,
      findings: ({ ids }) => [
        `TRANSACTION_OUTSIDE_BOOK - ${txn(ids[2])}: a transaction of the test book, found no such transaction`,
      ],
    },
    {
      corruption: 'a reversal of an unknown transaction',
      corrupt: (sql, { ids }) => sql`UPDATE ledger.transactions SET reverses = ${UNKNOWN_ID} WHERE id = ${ids[3]}`,
      findings: ({ ids }) => [
        `REVERSAL_OUTSIDE_BOOK - ${txn(ids[3])}: ${txn(UNKNOWN_ID)} in the same book, found no such transaction`,
      ],
    },
    {
      corruption: 'a completion and a reversal of one transaction',
      corrupt: async (sql, { ids }) => {
        await sql`DROP INDEX ledger.resolved_or_reversed_once`;
        await sql`UPDATE ledger.transactions SET reverses = ${ids[0]} WHERE id = ${ids[2]}`;
        await sql`UPDATE ledger.transactions SET resolves = ${ids[0]} WHERE id = ${ids[3]}`;
      },
      findings: ({ ids }) => [`REVERSED_TWICE - ${txn(ids[0])}: 1, found 2`],
    },
  ];

  test.each(cases)('verification finds $corruption', async ({ corrupt, findings }) => {
    const ledger = await smallLedger();
    await ledger.books.asSuperuser((sql) => corrupt(sql, ledger));
    // The findings do not depend on the page size, but for their order.
    for (const pageSize of [1, 3, 10_000]) {
      const verification = await verifyLedger(ledger.books.owner, { pageSize });
      expect(short(verification.findings, ledger.books).toSorted()).toEqual(findings(ledger).toSorted());
    }
    await ledger.books.close();
  });

  test('money moved between books makes both of them unbalanced', async () => {
    const { books, ids } = await smallLedger();
    const live = { ...books.book, environment: 'live' as const };
    const wallet = await newWallet(books, { book: live });
    await books.asSuperuser(async (sql) => {
      const [account] = await sql<{ id: string }[]>`SELECT id FROM ledger.accounts WHERE code = ${wallet}`;
      await sql`
        UPDATE ledger.postings SET credit_account_id = ${account?.id ?? ''}::bigint, credit_balance_after = 20, credit_number = 1
        WHERE transaction_id = ${ids[2]}`;
      await sql`UPDATE ledger.accounts SET balance = 20, last_number = 1 WHERE code = ${wallet}`;
    });
    const { findings } = await verifyLedger(books.owner);
    expect(findings.map(({ kind, environment, found }) => [kind, environment, found])).toEqual([
      ['ACCOUNT_OUTSIDE_BOOK', 'test', 'an account of the live book'],
      ['BOOK_UNBALANCED', 'test', '-20'],
      ['BOOK_UNBALANCED', 'live', '20'],
    ]);
    await books.close();
  });

  test('findings are truncated at a thousand, and the result is marked as truncated', async () => {
    const books = await openBooks();
    const wallet = await newWallet(books);
    const postings = Array.from({ length: 1_001 }, () => ({ debit: RAIL, credit: wallet, amount: 1 }));
    await books.journal.post({ book: books.book, transaction: transaction(postings) });
    await books.asSuperuser((sql) => sql`UPDATE ledger.postings SET credit_balance_after = NULL`);
    const { findings, truncated } = await verifyLedger(books.owner, { pageSize: 300 });
    expect([findings.length, truncated]).toEqual([1_000, true]);
    await books.close();
  });
});

describe('required privileges', () => {
  let books: Books;
  beforeAll(async () => {
    books = await openBooks();
  });
  afterAll(() => books.close());

  test('verification works with the application role', async () => {
    expect((await verifyLedger(books.sql)).findings).toEqual([]);
  });
});
