// The journal on a real Postgres: every movement has one outcome of its own, is whole or nothing, and is posted once
// however often it is sent, whoever else writes, and whenever the connection dies.
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isOutage } from '../../src/database/errors.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { type BatchColumns, batchColumns } from '../../src/ledger/batch.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult } from '../../src/ledger/movement.ts';
import { POST } from '../../src/ledger/postStatements.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  type Books,
  balanceOf,
  expectPosted,
  move,
  newWallet,
  openBooks,
  paymentRow,
  postTogether,
  RAIL,
  setAccount,
  timesPosted,
  transaction,
} from './books.ts';
import './seed.ts';

let books: Books;

beforeAll(async () => {
  books = await openBooks();
});

afterAll(() => books.close());

const outcomes = (results: PostResult[]) => results.map((result) => result.outcome);
const refusal = (code: string, account: AccountCode | null, detail: object = {}) => ({
  outcome: 'refused',
  code,
  account,
  detail,
});

/** Everything that can be true together with money. */
function fullMovement(debit: AccountCode, credit: AccountCode, amount: number) {
  const paymentId = newUuid();
  const resource = publicId('payment', paymentId);
  const event = { id: newUuid(), type: 'payment.settled', resource, data: { id: resource }, createdAt: new Date() };
  const key = `key-${paymentId}`;
  const movement: Movement = {
    ...move(books.book, debit, credit, amount),
    rows: { payments: [paymentRow(paymentId)] },
    events: [event],
    outbox: [{ topic: 'flow', message: { start: resource } }],
    outcome: {
      key,
      claim: newUuid(),
      fingerprint: Buffer.from('print').toString('base64'),
      statusCode: 201,
      response: '{"data":{}}',
    },
  };
  return { movement, paymentId, event, key, resource };
}

/** How much of a movement is there: all parts, or none. */
async function partsOf({ movement, paymentId, event, key, resource }: ReturnType<typeof fullMovement>) {
  const { organisationId } = books.book;
  const [row] = await books.sql`
    SELECT (SELECT count(*) FROM payments WHERE organisation_id = ${organisationId} AND id = ${paymentId}) AS payments,
           (SELECT count(*) FROM events WHERE organisation_id = ${organisationId} AND id = ${event.id}) AS events,
           (SELECT count(*) FROM outbox WHERE organisation_id = ${organisationId}
              AND message IN (${books.sql.json({ start: resource })}, ${books.sql.json({ eventId: event.id })})) AS outbox,
           (SELECT count(*) FROM idempotency_keys WHERE organisation_id = ${organisationId} AND key = ${key}
              AND status_code = 201) AS outcomes`;
  return { ...row, postings: await timesPosted(books, movement) };
}
const ALL_PARTS = { postings: 1, payments: 1, events: 1, outbox: 2, outcomes: 1 };
const NO_PARTS = { postings: 0, payments: 0, events: 0, outbox: 0, outcomes: 0 };

/** Process ids of backends that wait for a lock inside ledger.post. */
const waitingBackends = async () =>
  await books.owner<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%ledger.post%' AND wait_event_type = 'Lock'`;

/** Ends what holds an account still. */
let releaseHeld: (() => Promise<void>) | undefined;

/** Holds the row of an account, so that whoever posts to it waits in the middle of ledger.post. */
async function holdAccount(code: AccountCode): Promise<{ release: () => Promise<void> }> {
  const holder = await books.owner.reserve();
  await holder`BEGIN`;
  await holder`SELECT FROM ledger.accounts WHERE code = ${code} FOR UPDATE`;
  const release = async () => {
    releaseHeld = undefined;
    await holder`COMMIT`;
    holder.release();
  };
  releaseHeld = release;
  return { release };
}

// A test that failed while it held an account would have those after it wait for ever.
afterEach(async () => {
  await releaseHeld?.();
});

describe('one movement', () => {
  test('posts its money together with its rows, events, messages and the answer to the request', async () => {
    const wallet = await newWallet(books);
    const full = fullMovement(RAIL, wallet, 700);
    expect(await books.journal.post(full.movement)).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect(await balanceOf(books, wallet)).toBe(700);
  });

  test('is posted once for its business key, whoever asks again', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const { key } = move(books.book, wallet, RAIL, 10).transaction ?? { key: '' };
    const again = () => move(books.book, wallet, RAIL, 10, { key });
    expect(await books.journal.post(again())).toEqual({ outcome: 'posted' });
    expect(await books.journal.post(again())).toEqual({ outcome: 'duplicate' });
    expect(await books.anotherJournal().post(again())).toEqual({ outcome: 'duplicate' });
    expect(await balanceOf(books, wallet)).toBe(90);
  });

  test('a key posted 50 times at once, by two processes, moves money once', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const key = `race/${newUuid()}`;
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (journals[n % 2] as Journal).post(move(books.book, wallet, RAIL, 10, { key })),
      ),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(await balanceOf(books, wallet)).toBe(90);
  });

  test('of several postings posts all or none', async () => {
    const [a, b] = [await newWallet(books, { balance: 50 }), await newWallet(books, { balance: 50 })];
    const short = {
      book: books.book,
      transaction: transaction([
        { debit: a, credit: b, amount: 50 },
        { debit: b, credit: RAIL, amount: 101 },
      ]),
    };
    // The one behind it in the same batch must see the balances as if it had never been.
    const results = await postTogether(books, [short, move(books.book, a, b, 50)]);
    expect(results[0]).toEqual(refusal('WALLET_INSUFFICIENT_FUNDS', b, { attemptedAmount: 101 }));
    expect(results[1]).toEqual({ outcome: 'posted' });
    expect([await balanceOf(books, a), await balanceOf(books, b)]).toEqual([0, 100]);
  });

  test('may pass money on within itself', async () => {
    const [a, b] = [await newWallet(books, { balance: 50 }), await newWallet(books)];
    const through = transaction([
      { debit: a, credit: b, amount: 50 },
      { debit: b, credit: RAIL, amount: 50 },
    ]);
    expect(await books.journal.post({ book: books.book, transaction: through })).toEqual({ outcome: 'posted' });
    expect([await balanceOf(books, a), await balanceOf(books, b)]).toEqual([0, 0]);
  });

  test('may move no money at all', async () => {
    const paymentId = newUuid();
    const created = { book: books.book, rows: { payments: [paymentRow(paymentId)] } };
    expect(await books.journal.post(created)).toEqual({ outcome: 'posted' });
    expect(await books.journal.post({ book: books.book })).toEqual({ outcome: 'posted' });
  });

  test.each([
    [0, 'postings_amount_check'],
    [-5, 'violates check constraint'],
    [1.5, 'invalid input syntax for type bigint'],
  ])('of %d kobo is an error, not a posting', async (amount, message) => {
    const wallet = await newWallet(books, { balance: 10 });
    await expect(books.journal.post(move(books.book, RAIL, wallet, amount))).rejects.toThrow(message);
    expect(await balanceOf(books, wallet)).toBe(10);
  });

  test('from an account to itself is an error', async () => {
    const wallet = await newWallet(books, { balance: 10 });
    await expect(books.journal.post(move(books.book, wallet, wallet, 5))).rejects.toThrow('two_accounts');
  });

  test('is reversed once at most', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const charge = move(books.book, wallet, RAIL, 40);
    await expectPosted(books.journal.post(charge));
    const reversal = () => move(books.book, RAIL, wallet, 40, { reverses: charge.transaction?.id ?? '' });
    const results = await Promise.all(Array.from({ length: 20 }, () => books.journal.post(reversal())));
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === 'conflict')).toHaveLength(19);
    expect(await balanceOf(books, wallet)).toBe(100);
  });

  test("of one book never touches another book's account of the same name", async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const live = { ...books.book, environment: 'live' as const };
    const stranger = { organisationId: newUuid(), environment: 'test' as const };
    for (const book of [live, stranger]) {
      expect(await books.journal.post(move(book, wallet, RAIL, 1))).toEqual(refusal('WALLET_NOT_FOUND', wallet));
    }
    expect(await balanceOf(books, wallet)).toBe(100);
  });
});

describe('the rules of the books', () => {
  type Side = 'debit' | 'credit';
  const cases: { rule: string; side: Side; set: Parameters<typeof setAccount>[2]; code: string; detail?: object }[] = [
    { rule: 'frozen', side: 'debit', set: { status: 'frozen' }, code: 'WALLET_FROZEN' },
    { rule: 'frozen', side: 'credit', set: { status: 'frozen' }, code: 'WALLET_FROZEN' },
    { rule: 'not verified', side: 'debit', set: { verified: false }, code: 'WALLET_KYC_REQUIRED' },
    { rule: 'not verified', side: 'credit', set: { verified: false }, code: 'WALLET_KYC_REQUIRED' },
    {
      rule: 'over the limit of one transaction',
      side: 'debit',
      set: { posting_max: 59 },
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      detail: { limit: 'transaction', limitAmount: 59, attemptedAmount: 60 },
    },
    {
      rule: 'over the limit of one transaction',
      side: 'credit',
      set: { posting_max: 59 },
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      detail: { limit: 'transaction', limitAmount: 59, attemptedAmount: 60 },
    },
    {
      rule: 'over the largest balance',
      side: 'credit',
      set: { balance_max: 159 },
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      detail: { limit: 'balance', limitAmount: 159, attemptedAmount: 160 },
    },
  ];

  test.each(cases)('$rule on the $side side: $code', async ({ side, set, code, detail }) => {
    const [from, to] = [await newWallet(books, { balance: 100 }), await newWallet(books, { balance: 100 })];
    const culprit = side === 'debit' ? from : to;
    await setAccount(books, culprit, set);
    const full = fullMovement(from, to, 60);
    expect(await books.journal.post(full.movement)).toEqual(refusal(code, culprit, detail));
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect([await balanceOf(books, from), await balanceOf(books, to)]).toEqual([100, 100]);
  });

  test('a closed wallet takes nothing and gives nothing', async () => {
    const closed = await newWallet(books);
    const other = await newWallet(books, { balance: 100 });
    await setAccount(books, closed, { status: 'closed' });
    expect(await books.journal.post(move(books.book, closed, other, 1))).toEqual(refusal('WALLET_CLOSED', closed));
    expect(await books.journal.post(move(books.book, other, closed, 1))).toEqual(refusal('WALLET_CLOSED', closed));
  });

  test('exactly at a limit is within it', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    await setAccount(books, wallet, { posting_max: 60, balance_max: 160 });
    await expectPosted(books.journal.post(move(books.book, RAIL, wallet, 60)));
    await expectPosted(books.journal.post(move(books.book, wallet, RAIL, 60)));
    expect(await balanceOf(books, wallet)).toBe(100);
  });

  test('a balance never falls below zero, and may be spent to the last kobo', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    expect(await books.journal.post(move(books.book, wallet, RAIL, 101))).toEqual(
      refusal('WALLET_INSUFFICIENT_FUNDS', wallet, { attemptedAmount: 101 }),
    );
    await expectPosted(books.journal.post(move(books.book, wallet, RAIL, 100)));
    expect(await balanceOf(books, wallet)).toBe(0);
  });

  test.each([['debit'], ['credit']])('a wallet that does not exist: WALLET_NOT_FOUND on the %s side', async (side) => {
    const known = await newWallet(books, { balance: 10 });
    const unknown = `wallet:${publicId('wallet', newUuid())}`;
    const movement = side === 'debit' ? move(books.book, unknown, known, 1) : move(books.book, known, unknown, 1);
    expect(await books.journal.post(movement)).toEqual(refusal('WALLET_NOT_FOUND', unknown));
  });

  test.each<[string, Parameters<typeof setAccount>[2]]>([
    ['frozen', { status: 'frozen' }],
    ['unverified', { verified: false }],
    ['over a transaction limit', { posting_max: 1 }],
    ['over a balance limit', { balance_max: 1 }],
  ])('money that comes back posts to a wallet that is %s', async (_, set) => {
    const wallet = await newWallet(books);
    await setAccount(books, wallet, set);
    await expectPosted(books.journal.post(move(books.book, RAIL, wallet, 60, { rules: 'credit_exempt' })));
    expect(await balanceOf(books, wallet)).toBe(60);
  });

  test.each(['enforced', 'credit_exempt'] as const)(
    'no wallet gets more than can be read exactly, whatever its limits: rules %s',
    async (rules) => {
      const wallet = await newWallet(books, { balance: Number.MAX_SAFE_INTEGER - 10 });
      const limitAmount = Number.MAX_SAFE_INTEGER;
      const over = refusal('WALLET_TIER1_LIMIT_EXCEEDED', wallet, {
        limit: 'balance',
        limitAmount,
        attemptedAmount: limitAmount + 1,
      });
      expect(await books.journal.post(move(books.book, RAIL, wallet, 11, { rules }))).toEqual(over);
      await expectPosted(books.journal.post(move(books.book, RAIL, wallet, 10, { rules })));
      await expectPosted(books.journal.post(move(books.book, wallet, RAIL, limitAmount, { rules })));
      expect(await balanceOf(books, wallet)).toBe(0);
    },
  );

  test('coming back excuses the side that gets the money only', async () => {
    const [from, to] = [await newWallet(books, { balance: 100 }), await newWallet(books)];
    const back = (amount: number) => books.journal.post(move(books.book, from, to, amount, { rules: 'credit_exempt' }));
    expect(await back(101)).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS' });
    await setAccount(books, from, { status: 'frozen' });
    expect(await back(1)).toEqual(refusal('WALLET_FROZEN', from));
    await setAccount(books, from, { status: 'active' });
    await setAccount(books, to, { status: 'closed' });
    expect(await back(1)).toEqual(refusal('WALLET_CLOSED', to));
  });
});

describe('a batch', () => {
  /** Two neighbours with money of their own, which must get through whatever stands between them. */
  async function between(middle: Movement | Movement[]) {
    const wallet = await newWallet(books, { balance: 100 });
    const [before, behind] = [move(books.book, wallet, RAIL, 10), move(books.book, wallet, RAIL, 20)];
    const results = await postTogether(books, [before, ...[middle].flat(), behind]);
    expect(results[0]).toEqual({ outcome: 'posted' });
    expect(results.at(-1)).toEqual({ outcome: 'posted' });
    expect(await balanceOf(books, wallet)).toBe(70);
    return results.slice(1, -1);
  }

  test('is one statement', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const movements = Array.from({ length: 10 }, () => move(books.book, wallet, RAIL, 1));
    expect(new Set(outcomes(await postTogether(books, movements)))).toEqual(new Set(['posted']));
    const ids = movements.map(({ transaction: { id } = { id: '' } }) => id);
    const [row] = await books.sql`
      SELECT count(DISTINCT xmin::text) AS statements FROM ledger.transactions WHERE id = ANY (${ids}::uuid[])`;
    expect(row).toEqual({ statements: 1 });
  });

  test.each([['all at once'], ['movement by movement']])('keeps whatever stands in its documents, %s', async (way) => {
    const wallet = await newWallet(books);
    const texts = ['', '"', '\\', '\u001f', ',', '{a,"b"}', 'NULL', '\n\t\r', "'", 'ẹ̀kọ́ 🏦'];
    const written = texts.map((text) => {
      const { movement, event, key, paymentId } = fullMovement(RAIL, wallet, 1);
      const rows = { payments: [paymentRow(paymentId, { description: text })] };
      const outbox = [{ topic: 'texts', message: { of: paymentId, text } }];
      const outcome = movement.outcome && { ...movement.outcome, response: JSON.stringify({ data: text }) };
      return {
        movement: { ...movement, rows, outbox, events: [{ ...event, data: { text } }], ...(outcome && { outcome }) },
        event,
        key,
        paymentId,
      };
    });
    const empty = await newWallet(books);
    // Between them stand movements without any document.
    const movements = written.flatMap(({ movement }) => [move(books.book, RAIL, wallet, 1), movement]);
    if (way !== 'all at once') movements.unshift(move(books.book, empty, RAIL, 1));
    const results = outcomes(await postTogether(books, movements));
    expect(results.filter((outcome) => outcome !== 'posted')).toEqual(way === 'all at once' ? [] : ['refused']);
    const read = await Promise.all(
      written.map(
        async ({ event, key, paymentId }) =>
          await books.sql`
          SELECT (SELECT data ->> 'text' FROM events WHERE id = ${event.id}) AS event,
                 (SELECT message ->> 'text' FROM outbox WHERE message ->> 'of' = ${paymentId}) AS message,
                 (SELECT description FROM payments WHERE id = ${paymentId}) AS row,
                 (SELECT response::json ->> 'data' FROM idempotency_keys WHERE key = ${key}) AS response`,
      ),
    );
    expect(read.flat()).toEqual(texts.map((text) => ({ event: text, message: text, row: text, response: text })));
  });

  test('goes on past a refused movement', async () => {
    const empty = await newWallet(books);
    expect(await between(move(books.book, empty, RAIL, 1))).toMatchObject([{ code: 'WALLET_INSUFFICIENT_FUNDS' }]);
  });

  test('goes on past a row that somebody else changed first', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const id = newUuid();
    await books.journal.post({ book: books.book, rows: { payments: [paymentRow(id)] } });
    const change = (version: number, status: string): Movement => ({
      ...move(books.book, wallet, RAIL, 5),
      rows: { payments: [paymentRow(id, { version, status })] },
    });
    expect(await books.journal.post(change(2, 'partial'))).toEqual({ outcome: 'posted' });
    expect(await between(change(2, 'expired'))).toEqual([{ outcome: 'conflict', constraint: null }]);
    const [row] = await books.sql`SELECT version, status FROM payments WHERE id = ${id}`;
    expect(row).toEqual({ version: 2, status: 'partial' });
    expect(await balanceOf(books, wallet)).toBe(95);
  });

  test('of two changes of one row in it lets the first through and tells the second', async () => {
    const id = newUuid();
    await books.journal.post({ book: books.book, rows: { payments: [paymentRow(id)] } });
    const change = (status: string): Movement => ({
      book: books.book,
      rows: { payments: [paymentRow(id, { version: 2, status })] },
    });
    expect(await between([change('partial'), change('expired')])).toEqual([
      { outcome: 'posted' },
      { outcome: 'conflict', constraint: null },
    ]);
  });

  test('goes on past a unique value that is taken, and names the constraint', async () => {
    const wallet = await newWallet(books, { balance: 100 });
    const credit = (id: string): Movement => ({
      ...move(books.book, wallet, RAIL, 5),
      rows: {
        inbound_credits: [
          {
            id,
            version: 1,
            rail: 'sandbox',
            sessionId: 'one session',
            accountNumber: '6000000001',
            amount: 5,
            senderName: null,
            senderAccountNumber: null,
            senderBankCode: null,
            ownerKind: null,
            ownerId: null,
            status: 'received',
            receivedAt: new Date(),
            createdAt: new Date(),
          },
        ],
      },
    });
    await expectPosted(books.journal.post(credit(newUuid())));
    expect(await between(credit(newUuid()))).toEqual([
      { outcome: 'conflict', constraint: 'inbound_credit_session_unique' },
    ]);
    expect(await balanceOf(books, wallet)).toBe(95);
  });

  test('goes on past a movement that is broken', async () => {
    const broken = { book: books.book, rows: { payments: [paymentRow(newUuid(), { status: 'no such status' })] } };
    const wallet = await newWallet(books, { balance: 100 });
    const busy = books.journal.post({ book: books.book });
    const first = books.journal.post(move(books.book, wallet, RAIL, 1));
    const bad = books.journal.post(broken);
    const last = books.journal.post(move(books.book, wallet, RAIL, 2));
    await expect(bad).rejects.toThrow('payments_status_check');
    expect(outcomes(await Promise.all([busy, first, last]))).toEqual(['posted', 'posted', 'posted']);
    expect(await balanceOf(books, wallet)).toBe(97);
  });
});

describe('a batch is expected to post', () => {
  /** A journal, and how often it called `ledger.post`. `changes` is put in the place of what a batch adds up to. */
  function watchedJournal(changes?: string) {
    let calls = 0;
    const watched = new Proxy(books.sql, {
      get(target, name, receiver) {
        if (name !== 'unsafe') return Reflect.get(target, name, receiver);
        return (text: string, values: string[], options: object) => {
          if (/ledger\.post\(/.test(text)) calls += 1;
          const place = Number(/account_changes => \$(\d+)/.exec(text)?.[1]);
          return target.unsafe(text, changes === undefined ? values : values.with(place - 1, changes), options);
        };
      },
    });
    return { journal: new Journal(watched), calls: () => calls };
  }

  test('refusals are answered in the call that posts the rest, and those behind it are sent as ever', async () => {
    const [full, empty] = [await newWallet(books, { balance: 1_000 }), await newWallet(books)];
    const { journal, calls } = watchedJournal();
    const batch = [full, empty, full, empty, empty, full];
    const busy = journal.post({ book: books.book });
    const results = batch.map((from) => journal.post(move(books.book, from, RAIL, 1)));
    await busy;
    expect(outcomes(await Promise.all(results))).toEqual(batch.map((from) => (from === full ? 'posted' : 'refused')));
    expect(calls()).toBe(2);
    for (let n = 0; n < 5; n += 1) await expectPosted(journal.post(move(books.book, full, RAIL, 1)));
    expect(calls()).toBe(7);
    expect(await balanceOf(books, full)).toBe(992);
  });

  test('movements that were posted before are found in the call that posts the rest', async () => {
    const wallet = await newWallet(books, { balance: 1_000 });
    const before = Array.from({ length: 3 }, () => move(books.book, wallet, RAIL, 1));
    await Promise.all(before.map((movement) => expectPosted(books.journal.post(movement))));
    const { journal, calls } = watchedJournal();
    const busy = journal.post({ book: books.book });
    const batch = [...before, move(books.book, wallet, RAIL, 1), move(books.book, wallet, RAIL, 10_000)];
    const results = batch.map((movement) => journal.post(movement));
    await busy;
    expect(outcomes(await Promise.all(results))).toEqual(['duplicate', 'duplicate', 'duplicate', 'posted', 'refused']);
    expect(calls()).toBe(2);
    expect(await balanceOf(books, wallet)).toBe(996);
  });

  test.each([['{-100,101}'], ['{-99,100}'], ['{0,0}'], ['{100,-100}'], ['{-100,NULL}'], ['{-100}']])(
    'what it is said to add up to is not believed: %s for 100 kobo',
    async (changes) => {
      const other = await newWallet(books, { balance: 500 });
      const one = await newWallet(books, { balance: 500 }); // the newest comes first
      const { journal, calls } = watchedJournal(changes);
      expect(await journal.post(move(books.book, one, other, 100))).toEqual({ outcome: 'posted' });
      expect(calls()).toBe(1);
      expect([await balanceOf(books, one), await balanceOf(books, other)]).toEqual([400, 600]);
    },
  );
});

describe('what a wrong version of the service sends', () => {
  const send = async (columns: BatchColumns) =>
    await books.sql.unsafe<{ movement: number; outcome: string }[]>(POST.text, POST.values(books.book, columns), {
      prepare: true,
    });

  test('a wallet that it calls shared is locked all the same, and cannot be spent twice', async () => {
    const [payer, one, two] = [
      await newWallet(books, { balance: 1_000 }),
      await newWallet(books),
      await newWallet(books),
    ];
    const columns = batchColumns([move(books.book, payer, one, 1_000)]);
    const wrong = batchColumns([move(books.book, payer, two, 1_000)]);
    wrong.accounts.kinds = wrong.accounts.kinds.replaceAll('wallet', 'derived_balance');
    const first = await books.sql.reserve();
    await first`BEGIN`;
    await first.unsafe(POST.text, POST.values(books.book, columns), { prepare: true });
    const second = send(wrong);
    await waitFor('the second to wait', async () => (await waitingBackends()).length === 1);
    await first`COMMIT`;
    first.release();
    expect(await second).toMatchObject([{ movement: 1, outcome: 'refused', code: 'WALLET_INSUFFICIENT_FUNDS' }]);
    expect([await balanceOf(books, payer), await balanceOf(books, one), await balanceOf(books, two)]).toEqual([
      0, 1_000, 0,
    ]);
  });

  test('an account that it calls kept stays shared when its row keeps no balance, wherever it stands in the list', async () => {
    const wallet = await newWallet(books, { balance: 110 });
    const shared: AccountCode = 'expense:wrong';
    await expectPosted(books.journal.post(move(books.book, wallet, shared, 10)));
    const columns = batchColumns([move(books.book, wallet, shared, 40)]);
    columns.accounts = { codes: `{${shared},${wallet}}`, kinds: '{kept,wallet}', changes: '{40,-40}' };
    columns.postings = { ...columns.postings, debits: '{2}', credits: '{1}' };
    expect(await send(columns)).toEqual([]);
    expect([await balanceOf(books, wallet), await balanceOf(books, shared)]).toEqual([60, 50]);
    const [posting] = await books.sql`
      SELECT debit_balance_after, credit_balance_after FROM ledger.postings ORDER BY id DESC LIMIT 1`;
    expect(posting).toEqual({ debitBalanceAfter: 60, creditBalanceAfter: null });
  });

  test('postings that do not come in the order of their movements are an error, and nothing is posted', async () => {
    const [payer, one, two] = [
      await newWallet(books, { balance: 1_000 }),
      await newWallet(books),
      await newWallet(books),
    ];
    const columns = batchColumns([move(books.book, payer, one, 100), move(books.book, payer, two, 200)]);
    for (const name of ['movements', 'debits', 'credits', 'amounts'] as const) {
      columns.postings[name] = `{${columns.postings[name].slice(1, -1).split(',').toReversed().join()}}`;
    }
    await expect(send(columns)).rejects.toMatchObject({ code: 'ML004' });
    expect([await balanceOf(books, payer), await balanceOf(books, one), await balanceOf(books, two)]).toEqual([
      1_000, 0, 0,
    ]);
  });

  test('a business key that was posted with other postings is told apart from a repeat', async () => {
    const [payer, payee] = [await newWallet(books, { balance: 1_000 }), await newWallet(books)];
    const postings = [
      { debit: payer, credit: payee, amount: 100 },
      { debit: payer, credit: RAIL, amount: 20 },
    ];
    const first = { book: books.book, transaction: transaction(postings) };
    const again = (changed: typeof postings) =>
      books.journal.post({ ...first, transaction: transaction(changed, { key: first.transaction.key }) });
    const [toPayee, toRail] = postings as [(typeof postings)[number], (typeof postings)[number]];
    await expectPosted(books.journal.post(first));
    expect(await again(postings)).toEqual({ outcome: 'duplicate' });
    expect(await again([toRail, toPayee])).toEqual({ outcome: 'duplicate' }); // their order does not matter
    expect(await again([{ ...toPayee, amount: 101 }, toRail])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee, { ...toRail, credit: 'income:fees' }])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee, toRail, toRail])).toEqual({ outcome: 'duplicate_differs' });
    expect([await balanceOf(books, payer), await balanceOf(books, payee)]).toEqual([880, 100]);
  });
});

describe('the claim on an Idempotency-Key', () => {
  const claimRow = (
    full: ReturnType<typeof fullMovement>,
    claim: string,
    statusCode: number | null = null,
  ) => books.sql`
    INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
    VALUES (${books.book.organisationId}, 'test', ${full.key}, 'print', ${claim}, now(), ${statusCode}, ${statusCode && '{}'})`;
  const claimOf = (full: ReturnType<typeof fullMovement>) => full.movement.outcome?.claim ?? '';

  test('that this request holds is answered in the statement that moves the money', async () => {
    const wallet = await newWallet(books);
    const full = fullMovement(RAIL, wallet, 5);
    await claimRow(full, claimOf(full));
    expect(await books.journal.post(full.movement)).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
  });

  test('that another request took over stops this one: nothing of it is written', async () => {
    const wallet = await newWallet(books);
    const full = fullMovement(RAIL, wallet, 5);
    await claimRow(full, newUuid());
    expect(await books.journal.post(full.movement)).toEqual(refusal('IDEMPOTENCY_IN_PROGRESS', null));
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect(await balanceOf(books, wallet)).toBe(0);
  });

  test('that was answered already makes a repeat a duplicate, even under another business key', async () => {
    const wallet = await newWallet(books);
    const full = fullMovement(RAIL, wallet, 5);
    await claimRow(full, claimOf(full), 201);
    expect(await books.journal.post(full.movement)).toEqual({ outcome: 'duplicate' });
    expect(await timesPosted(books, full.movement)).toBe(0);
    expect(await balanceOf(books, wallet)).toBe(0);
  });

  test('is settled once when two attempts of one claim race', async () => {
    const wallet = await newWallet(books);
    const full = fullMovement(RAIL, wallet, 5);
    await claimRow(full, claimOf(full));
    const second = { ...full.movement, ...move(books.book, RAIL, wallet, 5), rows: {}, events: [] };
    const other = books.anotherJournal();
    const results = await Promise.all([books.journal.post(full.movement), other.post(second)]);
    expect(outcomes(results).toSorted()).toEqual(['duplicate', 'posted']);
    expect(await balanceOf(books, wallet)).toBe(5);
  });
});

describe('many at once', () => {
  /** The journal of another process, which counts the deadlocks that it was told of and got over. */
  function countingJournal(of = books): { journal: Journal; deadlocks: () => number } {
    let deadlocks = 0;
    const counting = new Proxy(of.anotherPool(), {
      get(target, name, receiver) {
        if (name !== 'unsafe') return Reflect.get(target, name, receiver);
        return (...sent: Parameters<Sql['unsafe']>) => {
          const query = target.unsafe(...sent);
          query.catch((error: { code?: unknown }) => {
            if (error.code === '40P01') deadlocks += 1;
          });
          return query;
        };
      },
    });
    return { journal: new Journal(counting), deadlocks: () => deadlocks };
  }

  test('1,000 transfers crossing between two wallets, from two processes, never deadlock', async () => {
    const [a, b] = [await newWallet(books, { balance: 10_000 }), await newWallet(books, { balance: 10_000 })];
    const sides = [countingJournal(), countingJournal()];
    const results = await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        const [from, to] = n % 2 === 0 ? [a, b] : [b, a];
        const { journal } = sides[n % 2] as (typeof sides)[number];
        return (await journal.post(move(books.book, from, to, 1 + (n % 7)))).outcome;
      }),
    );
    expect(new Set(results)).toEqual(new Set(['posted']));
    expect(sides.map(({ deadlocks }) => deadlocks())).toEqual([0, 0]);
    expect((await balanceOf(books, a)) + (await balanceOf(books, b))).toBe(20_000);
  });

  test.each([['first'], ['second']])(
    'two opposite transfers that meet at a held account do not wait for each other: the one opened %s',
    async (which) => {
      const wallets = [await newWallet(books, { balance: 10 }), await newWallet(books, { balance: 10 })] as const;
      const [meeting, other] = which === 'first' ? wallets : ([wallets[1], wallets[0]] as const);
      const sides = [countingJournal(), countingJournal()] as const;
      const held = await holdAccount(meeting);
      // In the order of the request, the second would take the other account first, and the first would then wait for it.
      const there = sides[0].journal.post(move(books.book, meeting, other, 1));
      await waitFor('the first to wait', async () => (await waitingBackends()).length === 1);
      const back = sides[1].journal.post(move(books.book, other, meeting, 1));
      await waitFor('both to wait', async () => (await waitingBackends()).length === 2);
      await held.release();
      expect(outcomes(await Promise.all([there, back]))).toEqual(['posted', 'posted']);
      expect(sides.map(({ deadlocks }) => deadlocks())).toEqual([0, 0]);
    },
  );

  test.each([
    ['of which nothing is known', async () => {}],
    ['that had one account when they were analysed', async () => await books.owner`ANALYZE ledger.accounts`],
  ])('accounts are locked in the order of the list, newest first, in tables %s', async (_, look) => {
    const few = await openBooks();
    try {
      await few.owner`ALTER TABLE ledger.accounts SET (autovacuum_enabled = false)`;
      const oldest = await newWallet(few, { balance: 10 });
      await look();
      const wallets = [oldest];
      for (let n = 0; n < 2_000; n += 1) wallets.push(walletAccount(newUuid()));
      await few.owner`
        INSERT INTO ledger.accounts (organisation_id, environment, code, balance)
        SELECT ${few.book.organisationId}, 'test', code, 10 FROM unnest(${wallets.slice(1)}::text[]) AS code`;
      const [middle, newest] = [wallets[1_000], wallets[2_000]] as [AccountCode, AccountCode];
      const holder = await few.owner.reserve();
      await holder`BEGIN`;
      await holder`SELECT FROM ledger.accounts WHERE code = ${middle} FOR UPDATE`;
      const waits = few.journal.post({
        book: few.book,
        transaction: transaction([
          { debit: oldest, credit: newest, amount: 1 },
          { debit: middle, credit: newest, amount: 1 },
        ]),
      });
      await waitFor('the posting to wait', async () => {
        const [row] = await few.owner<{ waiting: number }[]>`
          SELECT count(*) AS waiting FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%ledger.post%' AND wait_event_type = 'Lock'`;
        return row?.waiting === 1;
      });
      const isFree = async (code: AccountCode) => {
        const free = await few.owner`SELECT FROM ledger.accounts WHERE code = ${code} FOR UPDATE SKIP LOCKED`;
        return free.length === 1;
      };
      expect({ newest: await isFree(newest), oldest: await isFree(oldest) }).toEqual({ newest: false, oldest: true });
      await holder`COMMIT`;
      holder.release();
      expect(await waits).toEqual({ outcome: 'posted' });
    } finally {
      await few.close();
    }
  });

  test('two processes that post to one hot account never deadlock where nothing is known of the tables', async () => {
    const fresh = await openBooks();
    try {
      for (const table of ['accounts', 'transactions', 'postings']) {
        await fresh.owner.unsafe(`ALTER TABLE ledger.${table} SET (autovacuum_enabled = false)`);
      }
      const hot = await newWallet(fresh, { balance: 1_000_000 });
      const empty = await newWallet(fresh);
      const others = await Promise.all(Array.from({ length: 200 }, () => newWallet(fresh)));
      const sides = [countingJournal(fresh), countingJournal(fresh)];
      const posted = await Promise.all(
        sides.flatMap(({ journal }, process) =>
          Array.from({ length: 64 }, async (_, caller) => {
            const results: string[] = [];
            for (let n = 0; n < 40; n += 1) {
              const other = others[(caller * 7 + n * 31 + process) % others.length] as AccountCode;
              // A refusal now and then: however a batch is posted, the order is the same.
              const from = caller === 0 && n % 4 === 0 ? empty : hot;
              results.push((await journal.post(move(fresh.book, from, other, 1))).outcome);
            }
            return results;
          }),
        ),
      );
      expect(posted.flat().filter((outcome) => outcome !== 'posted')).toEqual(
        Array.from({ length: 20 }, () => 'refused'),
      );
      expect(sides.map(({ deadlocks }) => deadlocks())).toEqual([0, 0]);
      expect((await verifyLedger(fresh.owner)).findings).toEqual([]);
    } finally {
      await fresh.close();
    }
  }, 60_000);

  test('of 200 debits of the full balance, from two processes, exactly one posts', async () => {
    const wallet = await newWallet(books, { balance: 500 });
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) => (journals[n % 2] as Journal).post(move(books.book, wallet, RAIL, 500))),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(results.filter((result) => 'code' in result && result.code === 'WALLET_INSUFFICIENT_FUNDS')).toHaveLength(
      199,
    );
    expect(await balanceOf(books, wallet)).toBe(0);
  });

  test('of 100 credits across the largest balance, only those within it post', async () => {
    const wallet = await newWallet(books);
    await setAccount(books, wallet, { balance_max: 305 });
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (journals[n % 2] as Journal).post(move(books.book, RAIL, wallet, 10))),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(30);
    expect(await balanceOf(books, wallet)).toBe(300);
  });

  test('random movements do what a model on paper does', async () => {
    const random = await openBooks();
    try {
      const wallets = await Promise.all(Array.from({ length: 5 }, () => newWallet(random)));
      const suspense = `suspense:payment:${publicId('payment', newUuid())}`;
      const accounts = [...wallets, suspense, RAIL, 'expense:rail'];
      const kept = new Set([...wallets, suspense]);
      const model = new Map(accounts.map((code) => [code, 0n]));
      const posting = fc
        .record({
          debit: fc.nat(accounts.length - 1),
          step: fc.integer({ min: 1, max: accounts.length - 1 }),
          amount: fc.integer({ min: 1, max: 1_000_000 }),
        })
        .map(({ debit, step, amount }) => ({
          debit: accounts[debit] as AccountCode,
          credit: accounts[(debit + step) % accounts.length] as AccountCode,
          amount,
        }));
      const script = fc.array(fc.array(posting, { minLength: 1, maxLength: 4 }), { maxLength: 12 });
      const batches = fc.array(script, { minLength: 1, maxLength: 8 });

      await fc.assert(
        fc.asyncProperty(batches, async (all) => {
          for (const movementsOfBatch of all) {
            const movements = movementsOfBatch.map((postings) => ({
              book: random.book,
              transaction: transaction(postings),
            }));
            const results = await postTogether(random, movements);
            for (const [place, postings] of movementsOfBatch.entries()) {
              const after = new Map(model);
              const possible = postings.every(({ debit, credit, amount }) => {
                after.set(debit, (after.get(debit) as bigint) - BigInt(amount));
                after.set(credit, (after.get(credit) as bigint) + BigInt(amount));
                return !kept.has(debit) || (after.get(debit) as bigint) >= 0n;
              });
              expect(results[place]?.outcome).toBe(possible ? 'posted' : 'refused');
              if (possible) for (const [code, balance] of after) model.set(code, balance);
            }
          }
        }),
        { numRuns: 40 },
      );
      for (const [code, balance] of model) expect(BigInt(await balanceOf(random, code))).toBe(balance);
      expect([...model.values()].reduce((sum, balance) => sum + balance, 0n)).toBe(0n);
      expect((await verifyLedger(random.owner, { pageSize: 7 })).findings).toEqual([]);
    } finally {
      await random.close();
    }
  });
});

describe('a posting is for ever', () => {
  const attempts = {
    INSERT: `INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount)
             VALUES (gen_random_uuid(), 'test', gen_random_uuid(), 1, 2, 1)`,
    UPDATE: 'UPDATE ledger.postings SET amount = amount + 1',
    DELETE: 'DELETE FROM ledger.postings',
    TRUNCATE: 'TRUNCATE ledger.postings',
  };

  test.each(Object.entries(attempts))('the role of the service may not %s', async (_, statement) => {
    await newWallet(books, { balance: 1 });
    await expect(books.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501', routine: 'aclcheck_error' });
  });

  test.each([
    ['write a balance', 'UPDATE ledger.accounts SET balance = balance + 1'],
    [
      'open an account past the function',
      "INSERT INTO ledger.accounts (organisation_id, environment, code) VALUES (gen_random_uuid(), 'test', 'income:x')",
    ],
    ['write a transaction', 'DELETE FROM ledger.transactions'],
    ['write a payment past the journal', "UPDATE payments SET status = 'settled'"],
    ['call what ledger.post calls', "SELECT ledger.write_payments('[]')"],
    ['call what it writes rows with', "SELECT ledger.write_rows('payments', '[]')"],
    ['rewrite the audit trail', 'DELETE FROM audit_log'],
  ])('nor %s', async (_, statement) => {
    await expect(books.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501', routine: 'aclcheck_error' });
  });

  test.each(
    ['postings', 'transactions'].flatMap((table) => [
      ['UPDATE', `UPDATE ledger.${table} SET created_at = now()`],
      ['DELETE', `DELETE FROM ledger.${table}`],
      ['TRUNCATE', `TRUNCATE ledger.${table}`],
    ]),
  )('not even the owner may %s: %s', async (_, statement) => {
    await newWallet(books, { balance: 1 });
    await expect(books.owner.unsafe(statement)).rejects.toThrow('is append-only: post a reversing transaction instead');
  });

  test.each([
    ['below zero', -1],
    ['that JavaScript cannot read', '9007199254740992'],
  ])('the database itself refuses a balance %s', async (_, balance) => {
    const wallet = await newWallet(books, { balance: 1 });
    await expect(
      books.owner`UPDATE ledger.accounts SET balance = ${balance} WHERE code = ${wallet}`,
    ).rejects.toMatchObject({ constraint_name: 'balance_in_range' });
  });

  test('an environment that is none has no book, whichever way it is asked for', async () => {
    const book = { ...books.book, environment: 'tset' as 'test' };
    const posting = { debit: RAIL, credit: 'income:fees', amount: 30 } as const; // accounts that come into being with it
    await expect(books.journal.post({ book, transaction: transaction([posting]) })).rejects.toMatchObject({
      code: '23514',
    });
    await expect(
      books.sql`SELECT ledger.open_account(${book.organisationId}, ${book.environment}, 'wallet:x', true)`,
    ).rejects.toMatchObject({ code: '23514' });
    const [found] = await books.sql`
      SELECT (SELECT count(*) FROM ledger.accounts WHERE environment = 'tset') AS accounts,
             (SELECT count(*) FROM ledger.transactions WHERE environment = 'tset') AS transactions`;
    expect(found).toEqual({ accounts: 0, transactions: 0 });
  });
});

describe('when a row stays locked', () => {
  test.each([
    [true, '9s'],
    [false, '0'],
  ] as const)('with closeWhenStalled: %s, a statement may take: %s', async (closeWhenStalled, limit) => {
    const pool = connect(books.url, { connectionsMax: 1, closeWhenStalled });
    expect(await pool`SHOW statement_timeout`).toMatchObject([{ statementTimeout: limit }]);
    await pool.end();
  });

  test('callers hear of an outage, no backend goes on waiting, and afterwards each movement is posted once', async () => {
    const CONNECTIONS_MAX = 3;
    const pool = connect(books.url, {
      connectionsMax: CONNECTIONS_MAX,
      closeWhenStalled: true,
      statementTimeoutMs: 200,
    });
    const journal = new Journal(pool);
    const [wallet, other] = [await newWallet(books, { balance: 1_000 }), await newWallet(books)];
    const held = await holdAccount(wallet);
    const movements = Array.from({ length: 64 }, () => move(books.book, wallet, other, 1));
    let most = 0;
    let calling = true;
    const watcher = (async () => {
      while (calling) most = Math.max(most, (await waitingBackends()).length);
    })();
    const errors: unknown[] = [];
    await Promise.all(
      movements.map(async (movement) => {
        for (let attempt = 0; attempt < 4; attempt += 1) {
          await journal.post(movement).catch((error: unknown) => errors.push(error));
        }
      }),
    );
    await waitFor('no backend to wait', async () => (await waitingBackends()).length === 0);
    calling = false;
    await watcher;
    expect(errors).toHaveLength(4 * 64);
    expect(errors.filter((error) => !isOutage(error))).toEqual([]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(CONNECTIONS_MAX);
    await held.release();
    for (const movement of movements) await expectPosted(journal.post(movement));
    expect([await balanceOf(books, wallet), await balanceOf(books, other)]).toEqual([936, 64]);
    await pool.end();
  });
});

describe('when the backend dies', () => {
  const kill = (pid: number) => books.asSuperuser((sql) => sql`SELECT pg_terminate_backend(${pid})`);

  test('before the statement is sent, the movement is posted once', async () => {
    const wallet = await newWallet(books);
    const proxy = await startTcpProxy(books.url);
    const journal = books.anotherJournal(proxy.url);
    await journal.post({ book: books.book }); // the connection is there
    const full = fullMovement(RAIL, wallet, 30);
    const lost = proxy.loseRequest(full.key);
    const result = journal.post(full.movement);
    await lost;
    expect(await result).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    await proxy.close();
  });

  test('in the middle of the statement, nothing is half posted, and the retry posts all of it once', async () => {
    const [from, to] = [await newWallet(books, { balance: 100 }), await newWallet(books)];
    const full = fullMovement(from, to, 30);
    const held = await holdAccount(to);
    // A pool of its own: the driver fails the first query after a killed connection, whatever it is.
    const result = books.anotherJournal().post(full.movement);

    const [first] = await waitFor('a posting that waits', async () => {
      const found = await waitingBackends();
      return found.length > 0 && found;
    });
    await kill(first?.pid ?? 0);
    // It comes back with a new connection, and dies a second time.
    const [second] = await waitFor('the retry that waits', async () => {
      const found = (await waitingBackends()).filter(({ pid }) => pid !== first?.pid);
      return found.length > 0 && found;
    });
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect([await balanceOf(books, from), await balanceOf(books, to)]).toEqual([100, 0]);
    await kill(second?.pid ?? 0);

    await held.release();
    expect(await result).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect([await balanceOf(books, from), await balanceOf(books, to)]).toEqual([70, 30]);
  });

  test('after the commit, before the answer, the movement is posted once and the caller hears of it', async () => {
    const wallet = await newWallet(books);
    const proxy = await startTcpProxy(books.url);
    const journal = books.anotherJournal(proxy.url);
    await journal.post({ book: books.book });
    const full = fullMovement(RAIL, wallet, 30);
    const lost = proxy.loseReplyTo(full.key);
    const result = journal.post(full.movement);
    await lost;
    expect(await result).toEqual({ outcome: 'duplicate' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect(await balanceOf(books, wallet)).toBe(30);
    await proxy.close();
  });

  test('for good, the caller hears of an outage, and the same movement can be posted later', async () => {
    const wallet = await newWallet(books);
    const nowhere = new URL(books.url);
    nowhere.port = '1'; // nobody listens there
    const full = fullMovement(RAIL, wallet, 30);
    await expect(books.anotherJournal(nowhere.href).post(full.movement)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect(await books.journal.post(full.movement)).toEqual({ outcome: 'posted' });
  });

  test('again and again under load, each of 300 movements is posted exactly once', async () => {
    const [a, b] = [await newWallet(books, { balance: 100_000 }), await newWallet(books, { balance: 100_000 })];
    const journals = [books.anotherJournal(), books.anotherJournal()];
    let running = true;
    let kills = 0;
    const killer = (async () => {
      while (running && kills < 30) {
        const busy = await books.owner<{ pid: number }[]>`
          SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%FROM ledger.post%' AND state = 'active' AND pid <> pg_backend_pid()
          LIMIT 1`;
        if (busy[0] === undefined) continue;
        await kill(busy[0].pid);
        kills += 1;
      }
    })();
    const postUntilKnown = async (movement: Movement, journal: Journal): Promise<string> => {
      for (;;) {
        try {
          return (await journal.post(movement)).outcome;
        } catch {
          // It may have happened: the same movement may be posted again.
        }
      }
    };
    const movements: Movement[] = [];
    // In waves, so that there is always another statement to kill.
    for (let wave = 0; wave < 30; wave += 1) {
      const sent = Array.from({ length: 10 }, (_, n) =>
        n % 2 === 0 ? move(books.book, a, b, 1 + n) : move(books.book, b, a, 1 + n),
      );
      movements.push(...sent);
      const got = await Promise.all(sent.map((movement, n) => postUntilKnown(movement, journals[n % 2] as Journal)));
      for (const outcome of got) expect(['posted', 'duplicate']).toContain(outcome);
    }
    running = false;
    await killer;
    expect(kills).toBeGreaterThan(0);
    const times = await Promise.all(movements.map((movement) => timesPosted(books, movement)));
    expect(new Set(times)).toEqual(new Set([1]));
    expect((await balanceOf(books, a)) + (await balanceOf(books, b))).toBe(200_000);
  }, 60_000);
});

test('whatever all of these did, the books are whole', async () => {
  expect((await verifyLedger(books.owner)).findings).toEqual([]);
});
