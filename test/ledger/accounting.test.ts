// Accounting: reports at any time are the sum of the postings dated before it, closed days and periods never change,
// and an accountant reads the views and nothing else.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import postgres from 'postgres';

import { closeDays, closePeriod, listBooksToClose } from '../../src/ledger/closing.ts';
import { addIncome, incomeOf, NO_INCOME, reportAccount, reportIncome, trialBalance } from '../../src/ledger/reports.ts';
import { readSafeguarding } from '../../src/ledger/safeguarding.ts';
import { listDays, proveDay } from '../../src/reconciliation/dayProofs.ts';
import { dayAfter, dayOf, dayStart } from '../../src/times.ts';
import { OPERATORS } from '../support/operators.ts';
import { adminOf, nodeOf, testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Books, expectPosted, move, newWallet, openBooks, RAIL } from './books.ts';
import './seed.ts';

const NGOZI = { id: OPERATORS.ngozi.id, name: 'ngozi' };

let books: Books;

beforeEach(async () => {
  books = await openBooks();
  await books.owner`INSERT INTO organisations (organisation_id, name) VALUES (${books.book.organisationId}, 'Ada')`;
});

afterEach(() => books.close());

/** A day is closed when it has been over for this long. */
const CLOSED_AFTER = { ms: 120_000, sql: "interval '2 minutes'" };

/** Dates the book back: its accounts to `days` ago, and each posting by `date`, SQL with `p.place`, from 1. */
const dateBack = (days: number, date: string) =>
  books.asSuperuser(async (sql) => {
    await sql.unsafe(`UPDATE ledger.accounts SET created_at = now() - interval '${days} days' - ${CLOSED_AFTER.sql}`);
    await sql.unsafe(`
      UPDATE ledger.postings o SET created_at = n.at
      FROM (
        SELECT organisation_id, transaction_id, id, ${date} AS at
        FROM (SELECT *, row_number() OVER (PARTITION BY organisation_id ORDER BY id) AS place FROM ledger.postings) p
        OFFSET 0
      ) n
      WHERE o.organisation_id = n.organisation_id AND o.transaction_id = n.transaction_id AND o.id = n.id`);
  });

/** The balances before a time as the postings say. */
async function sums(before: Date): Promise<Record<string, number>> {
  const rows = await books.owner<{ code: string; balance: number }[]>`
    SELECT a.code, sum(CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END)::bigint AS balance
    FROM ledger.postings p
    JOIN ledger.accounts a ON a.organisation_id = p.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
    WHERE p.created_at < ${before} GROUP BY a.code`;
  return Object.fromEntries(rows.filter(({ balance }) => balance !== 0).map(({ code, balance }) => [code, balance]));
}

const reported = async (before: Date): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await trialBalance(books.sql, books.book, before)).map(({ account, balance }) => [account, balance]),
  );

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);

/** The number of a month and the months around it, as `2026-11`. */
const monthOf = (at: Date): string => new Date(at.getTime() + 3_600_000).toISOString().slice(0, 7);

describe('closed days', () => {
  test('income by day is what the trial balance changed on that day, and its sum is the trial balance', async () => {
    const posted = [
      [RAIL, 'income:fees', 10_000],
      ['expense:rail', RAIL, 1_200],
      [RAIL, 'income:interest', 250],
      ['own:drawings', 'settlement:sandbox', 5_000],
      ['loss:operations', RAIL, 30],
      ['expense:tax', 'liability:vat', 700],
      [RAIL, 'income:fees', 900],
      ['income:fees', RAIL, 40],
    ] as const;
    for (const [debit, credit, amount] of [...posted, ...posted])
      await expectPosted(books.journal.post(move(books.book, debit, credit, amount)));
    await dateBack(40, 'now() - make_interval(days => 40) * (1 - p.place / 16.0)');
    await closeDays(books.sql, books.book);
    const period = { from: dayOf(daysAgo(41)), to: dayOf(new Date()) };
    const days = await reportIncome(books.sql, books.book, period);
    const total = days.reduce((sum, day) => addIncome(sum, day), NO_INCOME);
    expect(total).toEqual({ income: 22_220, railCosts: 2_400, losses: 60, tax: 1_400, net: 18_360 });
    expect(total).toEqual(incomeOf(await trialBalance(books.sql, books.book, new Date(Date.now() + 1_000))));
    const balancesAt = async (at: Date) =>
      incomeOf(Object.entries(await sums(at)).map(([account, balance]) => ({ account, balance })));
    expect(days).toHaveLength(42);
    for (const { day, ...income } of days) {
      expect(income).toEqual(addIncome(await balancesAt(dayStart(dayAfter(day))), await balancesAt(dayStart(day)), -1));
    }
    // What own money can spend starts from the last closed day too.
    const [own] = await books.sql<{ balance: number }[]>`
      SELECT ledger.own_platform_balance(${books.book.organisationId}, 'test') AS balance`;
    expect(own?.balance).toBe(8_360);
    expect((await readSafeguarding(books.sql, books.book, new Date(Date.now() + 1_000))).headroom).toBe(8_360);
  });

  test('a closed day has the volumes of what was sent and settled on it, by kind, without what failed', async () => {
    await newWallet(books);
    await dateBack(3, 'p.created_at');
    const [wallet, ends] = [randomUUID(), dayStart(dayOf(new Date(Date.now() - CLOSED_AFTER.ms)))];
    const insert = (table: string, amount: number, at: Date, columns: object) =>
      books.owner`
        INSERT INTO ${books.owner(table)} ${books.owner({
          organisation_id: books.book.organisationId,
          environment: 'test',
          id: randomUUID(),
          created_at: at,
          ...(table === 'payments' ? { base_amount: amount } : { amount }),
          ...columns,
        })}`;
    const account = { account_number: '0123456789', bank_code: '058', rail: 'sandbox', fee: 0, version: 1 };
    const payment = {
      method: 'bank_transfer',
      version: 1,
      fee: 0,
      amount_received: 0,
      amount_credited: 0,
      amount_refunding: 0,
    };
    const pay = (amount: number, at: Date, settledAt: Date | null) =>
      insert('payments', amount, at, {
        ...payment,
        amount_refunded: 0,
        target_wallet_id: wallet,
        expires_at: at,
        status: settledAt === null ? 'pending' : 'settled',
        settled_at: settledAt,
      });
    const ago = (ms: number) => new Date(ends.getTime() - ms);
    for (const [amount, beforeMs, status] of [
      [1, 86_400_001, 'completed'],
      [20, 86_400_000, 'completed'],
      [300, 1, 'processing'],
      [4_000, 1, 'failed'],
      [50_000, 0, 'completed'],
    ] as const)
      await insert('withdrawals', amount, ago(beforeMs), { ...account, source_wallet_id: wallet, status });
    const between = { source_wallet_id: wallet, destination_wallet_id: wallet, fee: 0, status: 'completed' };
    await insert('transfers', 7, ago(1), between);
    await pay(80, ago(86_400_001), ago(1));
    await pay(900, ago(2), null);
    await pay(1_000, ago(2), ago(0));
    const payoutId = randomUUID();
    await books.owner`
      INSERT INTO payouts (organisation_id, environment, id, created_at, version, source_wallet_id, total_amount, total_fee, item_count, status)
      VALUES (${books.book.organisationId}, 'test', ${payoutId}, ${ago(1)}, 1, ${wallet}, 1, 0, 3, 'processing')`;
    for (const [position, status, inside] of [
      [0, 'completed', false],
      [1, 'failed', false],
      [2, 'pending', true],
    ] as const)
      await books.owner`
        INSERT INTO payout_items (organisation_id, environment, id, version, payout_id, position, amount, fee, status, inside,
                                  destination_wallet_id, account_number, bank_code, rail)
        VALUES (${books.book.organisationId}, 'test', ${randomUUID()}, 1, ${payoutId}, ${position}, ${10 ** position}, 0, ${status},
                ${inside}, ${wallet}, '0123456789', '058', 'sandbox')`;
    await closeDays(books.sql, books.book);
    const days = await books.owner`SELECT volumes FROM ledger.closed_days ORDER BY day DESC LIMIT 3`;
    expect(days.map(({ volumes }) => volumes)).toEqual([
      { withdrawal: 320, transfer: 107, bank_transfer_payment: 80, payout_item: 1 },
      { withdrawal: 1 },
      {},
    ]);
  });

  test('balances at any time, and running balances in any period, are the sums of the postings', async () => {
    const DAYS = 6;
    const wallets = [await newWallet(books), await newWallet(books), await newWallet(books)];
    for (let round = 0; round < 40; round += 1) {
      await expectPosted(books.journal.post(move(books.book, RAIL, wallets[round % 3] ?? '', 1_000 + round)));
      await expectPosted(books.journal.post(move(books.book, wallets[round % 3] ?? '', 'income:fees', 10 + round)));
    }
    // Over the days, not in the order of the numbers.
    await dateBack(
      DAYS,
      `now() - make_interval(days => ${DAYS}) * (1 - p.place / 80.0) + make_interval(hours => (p.place * 7 % 5)::int - 5)`,
    );
    // Small pages, by two callers at once.
    const page = { accountsMax: 2, postingsMax: 3 };
    const closed = await Promise.all([
      closeDays(books.sql, books.book, page),
      closeDays(books.anotherPool(), books.book, page),
    ]);
    expect(Math.max(...closed)).toBeGreaterThan(0);
    expect(await closeDays(books.sql, books.book)).toBe(0);
    await expectPosted(books.journal.post(move(books.book, RAIL, wallets[0] ?? '', 5)));

    const ends = await books.owner<
      { day: string; endsAt: Date }[]
    >`SELECT day::text, ends_at FROM ledger.closed_days ORDER BY day`;
    expect(ends.length).toBeGreaterThanOrEqual(DAYS - 1);
    for (const { day, endsAt } of ends) {
      expect(endsAt.getTime()).toBe(dayStart(day).getTime() + 86_400_000);
      expect(await reported(endsAt)).toEqual(await sums(endsAt));
    }
    const time = fc.integer({ min: daysAgo(DAYS + 1).getTime(), max: Date.now() + 1_000 }).map((ms) => new Date(ms));
    await fc.assert(
      fc.asyncProperty(time, time, fc.constantFrom(RAIL, 'income:fees', ...wallets), async (a, b, code) => {
        const [from, to] = a < b ? [a, b] : [b, a];
        const [before, after] = [await sums(from), await sums(to)];
        expect(await reported(from)).toEqual(before);
        const account = await reportAccount(books.sql, books.book, code, { from, to });
        expect([account?.opening, account?.closing]).toEqual([before[code] ?? 0, after[code] ?? 0]);
        let balance = before[code] ?? 0;
        for (const entry of account?.entries ?? []) {
          balance += entry.credit - entry.debit;
          expect(entry.balance).toBe(balance);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('the entries of an account have the balances that were stored with the postings', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    for (let n = 0; n < 5; n += 1)
      await expectPosted(books.journal.post(move(books.book, wallet, 'income:fees', n + 1)));
    const account = await reportAccount(books.sql, books.book, wallet, {
      from: daysAgo(1),
      to: new Date(Date.now() + 1_000),
    });
    const stored =
      await books.owner`SELECT balance_after AS balance FROM ledger.entries WHERE account = ${wallet} ORDER BY number`;
    expect(account?.entries.map(({ balance }) => ({ balance }))).toEqual([...stored]);
    expect(account?.entries[1]).toMatchObject({ debit: 1, credit: 0, contra: 'income:fees', kind: 'test' });
  });

  test('an uncommitted posting of the day is waited for, and is in its closing balance', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    await dateBack(1, `now() - interval '1 day' - ${CLOSED_AFTER.sql}`);
    const writing = await books.onNode.reserve();
    await writing`BEGIN`;
    const [{ id } = { id: '' }] = await writing<{ id: string }[]>`
      INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, effective_at)
      SELECT organisation_id, environment, gen_random_uuid(), 'late', kind, resource, effective_at FROM ledger.transactions
      RETURNING id`;
    const closing = closeDays(books.sql, books.book);
    const node = await nodeOf(books.url, books.book.organisationId);
    const admin = postgres(adminOf(node), { max: 1 });
    await waitFor('the closing to wait', async () => {
      const rows = await admin`
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%fill_closing_balances%' AND wait_event = 'PgSleep'`;
      return rows.length > 0;
    });
    await admin.end();
    // As ledger.post: the date was taken before.
    await writing`
      INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount, created_at)
      SELECT organisation_id, environment, id + 1, ${id}, debit_account_id, credit_account_id, 50, created_at FROM ledger.postings`;
    await writing`COMMIT`;
    writing.release();
    expect(await closing).toBeGreaterThan(0);
    expect(
      await books.owner`SELECT c.balance FROM ledger.closing_balances c JOIN ledger.accounts a ON a.id = c.account_id WHERE code = ${wallet}`,
    ).toEqual([{ balance: 150 }]);
  });

  test('two callers that fill the same day take turns', async () => {
    await newWallet(books, { balance: 100 });
    await dateBack(2, `now() - interval '1 day' - ${CLOSED_AFTER.sql}`);
    const { organisationId, environment } = books.book;
    const [{ day } = { day: '' }] = await books.sql<{ day: string }[]>`
      SELECT day::text FROM ledger.begin_day_close(${organisationId}, ${environment}) AS day`;
    const [first, second] = [await books.onNode.reserve(), await books.onNode.reserve()];
    const fill = (connection: typeof first, after: number) =>
      connection`SELECT ledger.fill_closing_balances(${organisationId}, ${environment}, ${day}::date, ${after}, 1, 10) AS after`;
    await first`BEGIN`;
    const [{ after } = { after: 0 }] = await fill(first, 0);
    await second`SET lock_timeout = '20ms'`;
    await expect(fill(second, after)).rejects.toMatchObject({ code: '55P03' });
    await first`COMMIT`;
    expect(await fill(second, after)).toHaveLength(1);
    first.release();
    second.release();
  });

  test('no posting is dated into a closed day, even when the clock of the database is behind', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const endsAt = new Date(Date.now() + 60_000);
    await books.owner`
      INSERT INTO ledger.closed_days (organisation_id, environment, day, ends_at)
      VALUES (${books.book.organisationId}, 'test', now(), ${endsAt})`;
    await expectPosted(books.journal.post(move(books.book, wallet, RAIL, 1)));
    const dates = await books.owner`SELECT max(created_at) AS last FROM ledger.postings`;
    expect(dates).toEqual([{ last: endsAt }]);
  });

  test('a day is closed once it has been over for two minutes, in which what was requested in it is committed', async () => {
    await newWallet(books, { balance: 100 });
    const closed = async () => {
      const [row] = await books.owner`
        SELECT ledger.begin_day_close(${books.book.organisationId}, 'test')::text AS day`;
      return row?.day;
    };
    // Time zones of Lagos' days are fixed: the end of the day of an account is moved instead of the clock.
    const endedAgo = (seconds: number) =>
      books.owner.unsafe(`
      CREATE OR REPLACE FUNCTION ledger.day_end(day date) RETURNS timestamptz LANGUAGE sql STABLE AS
      $$ SELECT now() - interval '${seconds} s' $$`);
    await endedAgo(119);
    expect(await closed()).toBeNull();
    await endedAgo(121);
    expect(await closed()).toBe(dayOf(new Date()));
  });

  test('a book is listed until its last day is closed', async () => {
    await newWallet(books, { balance: 100 });
    await dateBack(2, `now() - interval '1 day' - ${CLOSED_AFTER.sql}`);
    const listed = async () => (await listBooksToClose(books.sql)).filter(({ environment }) => environment === 'test');
    expect(await listed()).toEqual([books.book]);
    await closeDays(books.sql, books.book);
    expect(await listed()).toEqual([]);
  });
});

describe('closed periods', () => {
  const before = monthOf(new Date(Date.now() - 62 * 86_400_000 - CLOSED_AFTER.ms));
  const last = monthOf(new Date());
  /** Its days are waived before. */
  const outcome = async (month: string) => {
    await closeDays(books.sql, books.book);
    const last = dayOf(new Date(dayStart(`${next(month)}-01`).getTime() - 1));
    for (const day of await listDays(books.sql, books.book, `${month}-01`, last))
      await proveDay(books.sql, books.book, day, { proof: OPERATORS.ngozi.proof, waiver: 'a test' });
    return (await closePeriod(books.sql, books.book, month, OPERATORS.ngozi.proof)).outcome;
  };
  /** The month after the given one. */
  const next = (month: string) => monthOf(new Date(Date.parse(`${month}-15`) + 31 * 86_400_000));

  test('periods are closed in their order once they are over, each with one audit entry', async () => {
    expect(await closePeriod(books.sql, books.book, before, OPERATORS.ngozi.proof)).toEqual({
      outcome: 'not_next',
      nextPeriod: null,
    });
    await newWallet(books, { balance: 100 });
    await dateBack(62, `now() - interval '40 days'`);
    expect(await outcome(last)).toBe('not_over');
    expect(await closePeriod(books.sql, books.book, next(before), OPERATORS.ngozi.proof)).toEqual({
      outcome: 'not_next',
      nextPeriod: before,
    });
    const twice = [outcome(before), outcome(before)];
    expect((await Promise.all(twice)).toSorted()).toEqual(['closed', 'unchanged']);
    expect(await outcome(before)).toBe('unchanged');
    expect(
      await books.sql`
        SELECT operator_id AS id, operator AS name, action, subject, environment FROM audit_log
        WHERE action = 'period.close'`,
    ).toEqual([{ ...NGOZI, action: 'period.close', subject: before, environment: 'test' }]);
  });

  test('a period whose balances do not sum to zero is not closed', async () => {
    await newWallet(books, { balance: 100 });
    await dateBack(62, `now() - interval '62 days' - ${CLOSED_AFTER.sql}`);
    await closeDays(books.sql, books.book);
    await books.asSuperuser((sql) => sql`UPDATE ledger.closing_balances SET balance = balance + 1 WHERE balance > 0`);
    expect(await outcome(before)).toBe('unbalanced');
  });

  test('what happened in a closed period and is booked later is posted, names the period and does not change its reports', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    await dateBack(62, `now() - interval '62 days' - ${CLOSED_AFTER.sql}`);
    expect(await outcome(before)).toBe('closed');
    const end = dayStart(`${next(before)}-01`);
    const report = await reported(end);
    const happened = new Date(end.getTime() - 1);
    await expectPosted(books.journal.post(move(books.book, wallet, RAIL, 40, { effectiveAt: happened })));
    expect(await reported(end)).toEqual(report);
    expect(
      await books.sql`SELECT belongs_to, debit FROM ledger.entries WHERE account = ${wallet} ORDER BY number`,
    ).toEqual([
      { belongsTo: null, debit: 0 },
      { belongsTo: before, debit: 40 },
    ]);
  });
});

const READ_BY_VIEWS = [
  'inbound_credits',
  'ledger.accounts',
  'ledger.closed_days',
  'ledger.closing_balances',
  'ledger.postings',
  'ledger.transactions',
  'organisations',
  'payments',
  'payout_items',
  'payouts',
  'refunds',
  'review_cases',
  'withdrawals',
];

test('an accountant reads the views of closed days, and nothing else', async () => {
  const wallet = await newWallet(books, { balance: 100 });
  await dateBack(2, `now() - interval '1 day' - ${CLOSED_AFTER.sql}`);
  await closeDays(books.sql, books.book);
  const login = `accountant_${randomUUID()}`;
  const isDistributed = testStack().otherNodeUrls !== undefined;
  const sql = postgres(adminOf(books.url), { max: 1 });
  try {
    await sql`CREATE ROLE ${sql(login)} LOGIN IN ROLE manilla_accountant`;
    await sql`SET ROLE ${sql(login)}`;
    const lines =
      await sql`SELECT account, debit, credit FROM accounting.trial_balance WHERE day = (SELECT max(day) FROM accounting.trial_balance)`;
    expect(lines).toHaveLength(2);
    expect(lines).toEqual(
      expect.arrayContaining([
        { account: RAIL, debit: '100', credit: '0' },
        { account: wallet, debit: '0', credit: '100' },
      ]),
    );
    const entries =
      await sql`SELECT transaction, contra_account FROM accounting.account_entries WHERE account = ${wallet}`;
    expect(entries).toEqual([{ transaction: expect.stringMatching(/^svc_\w{26}_txn$/), contra_account: RAIL }]);
    expect(await sql`SELECT * FROM accounting.open_items`).toEqual([]);
    await expect(sql`SELECT FROM wallets`).rejects.toThrow('permission denied');

    const readable = await sql`
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE c.relnamespace::regnamespace::text !~ '^pg_|^information_schema$' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
      AND (CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'SELECT, USAGE')
                          ELSE has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE') OR has_table_privilege(c.oid, 'DELETE') END)
    ORDER BY 1`;
    const tables = readable.map(({ name }) => String(name)).filter((name) => !name.startsWith('accounting.'));
    expect(readable.map(({ name }) => name)).toEqual([
      'accounting.account_entries',
      'accounting.open_items',
      'accounting.trial_balance',
      ...tables,
    ]);
    // On Citus also the columns that the views read (deploy/citus/distribute.sql).
    expect(tables.toSorted()).toEqual(isDistributed ? READ_BY_VIEWS : []);
    const callable = await sql`
    SELECT p.oid::regproc::text AS name FROM pg_proc p
    WHERE p.pronamespace::regnamespace::text !~ '^pg_|^information_schema$' AND has_function_privilege(p.oid, 'EXECUTE')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    ORDER BY 1`;
    expect(callable.map(({ name }) => name)).toEqual(['ledger.accounting_day', 'ledger.public_id']);
  } finally {
    await sql`RESET ROLE`;
    await sql`DROP ROLE ${sql(login)}`;
    await sql.end();
  }
});
