// The journal on a real Postgres: every movement has its own outcome, is atomic, and is posted once however often it is
// sent, under concurrency and connection loss.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { isOutage, violatedCheck } from '../../src/database/errors.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { type Batch, buildBatch, POST, postValues } from '../../src/ledger/batch.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import { verifyLedger } from '../../src/verification/verifyBooks.ts';
import { insertWebhookEndpoint } from '../../src/webhooks/endpoints.ts';
import { recordStatements } from '../support/queryRecorder.ts';
import { administer, adminOf, nodeOf } from '../support/stack.ts';
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
  const endpoint = { id: newUuid(), url: 'https://example.test', description: null, eventTypes: null };
  await insertWebhookEndpoint(
    books.sql,
    books.book,
    { ...endpoint, status: 'enabled', createdAt: new Date() },
    'not a secret',
  );
});

afterAll(() => books.close());

const outcomes = (results: PostResult[]) => results.map((result) => result.outcome);
const refusal = (code: string, account: AccountCode | null, detail: object = {}) => ({
  outcome: 'refused',
  code,
  account,
  detail,
});

/** A movement with every part that is committed together with the money. */
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
      attempt: newUuid(),
      fingerprint: Buffer.from('print').toString('base64'),
      statusCode: 201,
      response: '{"data":{}}',
    },
  };
  return { movement, paymentId, event, key, resource };
}

/** The committed parts of a movement: all or none. */
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
  await books.onNode<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%ledger.post%' AND wait_event_type = 'Lock'`;

/** Releases the account lock held by a test, if any. */
let releaseLock: (() => Promise<void>) | undefined;

/** Locks the row of an account, so that a posting to it waits inside ledger.post. */
async function lockAccount(code: AccountCode): Promise<{ release: () => Promise<void> }> {
  const holder = await books.onNode.reserve();
  await holder`BEGIN`;
  await holder`
    SELECT FROM ledger.accounts WHERE organisation_id = ${books.book.organisationId} AND code = ${code} FOR UPDATE`;
  const release = async () => {
    releaseLock = undefined;
    await holder`COMMIT`;
    holder.release();
  };
  releaseLock = release;
  return { release };
}

// Otherwise a test that fails while it holds a lock would block those after it.
afterEach(() => releaseLock?.());

const post = (movement: Movement) => books.journal.post(movement);
const postAll = (movements: Movement[]) => postTogether(books, movements);
const openWallet = (balance = 0) => newWallet(books, { balance });
const balance = (code: AccountCode) => balanceOf(books, code);
/** A movement of one posting. */
const pay = (from: AccountCode, to: AccountCode, amount: number, more?: Partial<Transaction>) =>
  move(books.book, from, to, amount, more);

describe('a single movement', () => {
  test('a movement commits its postings together with its rows, events, outbox messages and response', async () => {
    const wallet = await openWallet();
    const full = fullMovement(RAIL, wallet, 700);
    expect(await post(full.movement)).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect(await balance(wallet)).toBe(700);
  });

  test('an event is not queued where no endpoint receives it', async () => {
    const setDeleted = (at: Date | null) =>
      books.sql`UPDATE webhook_endpoints SET deleted_at = ${at} WHERE organisation_id = ${books.book.organisationId}`;
    const full = fullMovement(RAIL, await openWallet(), 700);
    await setDeleted(new Date());
    await expectPosted(post(full.movement));
    await setDeleted(null);
    expect(await partsOf(full)).toEqual({ ...ALL_PARTS, outbox: 1 });
  });

  test('a movement is posted once per business key, across processes', async () => {
    const wallet = await openWallet(100);
    const { key } = pay(wallet, RAIL, 10).transaction ?? { key: '' };
    const again = () => pay(wallet, RAIL, 10, { key });
    expect(await post(again())).toEqual({ outcome: 'posted' });
    expect(await post(again())).toEqual({ outcome: 'duplicate' });
    expect(await books.anotherJournal().post(again())).toEqual({ outcome: 'duplicate' });
    expect(await balance(wallet)).toBe(90);
  });

  test('a business key posted 50 times concurrently by two processes moves money once', async () => {
    const wallet = await openWallet(100);
    const key = `race/${newUuid()}`;
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (journals[n % 2] as Journal).post(pay(wallet, RAIL, 10, { key }))),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(await balance(wallet)).toBe(90);
  });

  test('a movement with several postings is posted completely or not at all', async () => {
    const [a, b] = [await openWallet(50), await openWallet(50)];
    const short = {
      book: books.book,
      transaction: transaction([
        { debit: a, credit: b, amount: 50 },
        { debit: b, credit: RAIL, amount: 101 },
      ]),
    };
    // The movement behind it in the batch must see the balances as if the refused one did not exist.
    const results = await postAll([short, pay(a, b, 50)]);
    expect(results[0]).toEqual(refusal('WALLET_INSUFFICIENT_FUNDS', b, { attemptedAmount: 101 }));
    expect(results[1]).toEqual({ outcome: 'posted' });
    expect([await balance(a), await balance(b)]).toEqual([0, 100]);
  });

  test('a movement may pass money through an account within its postings', async () => {
    const [a, b] = [await openWallet(50), await openWallet()];
    const through = transaction([
      { debit: a, credit: b, amount: 50 },
      { debit: b, credit: RAIL, amount: 50 },
    ]);
    expect(await post({ book: books.book, transaction: through })).toEqual({ outcome: 'posted' });
    expect([await balance(a), await balance(b)]).toEqual([0, 0]);
  });

  test('a movement may have no postings', async () => {
    const paymentId = newUuid();
    const created = { book: books.book, rows: { payments: [paymentRow(paymentId)] } };
    expect(await post(created)).toEqual({ outcome: 'posted' });
    expect(await post({ book: books.book })).toEqual({ outcome: 'posted' });
  });

  test.each([
    [0, 'postings_amount_check'],
    [-5, 'violates check constraint'],
    [1.5, 'invalid input syntax for type bigint'],
  ])('a movement of %d kobo is rejected and posts nothing', async (amount, message) => {
    const wallet = await openWallet(10);
    await expect(post(pay(RAIL, wallet, amount))).rejects.toThrow(message);
    expect(await balance(wallet)).toBe(10);
  });

  test('a movement from an account to itself is rejected', async () => {
    const wallet = await openWallet(10);
    await expect(post(pay(wallet, wallet, 5))).rejects.toThrow('two_accounts');
  });

  test('a movement of one book never affects an account of the same code in another book', async () => {
    const wallet = await openWallet(100);
    const live = { ...books.book, environment: 'live' as const };
    const otherOrganisation = { organisationId: newUuid(), environment: 'test' as const };
    for (const book of [live, otherOrganisation]) {
      expect(await post(move(book, wallet, RAIL, 1))).toEqual(refusal('WALLET_NOT_FOUND', wallet));
    }
    expect(await balance(wallet)).toBe(100);
  });
});

describe('account rules', () => {
  const limit = (name: string, limitAmount: number, attemptedAmount: number) => ({
    limit: name,
    limitAmount,
    attemptedAmount,
    availableAmount: 59,
  });
  const both = (rule: string, set: Parameters<typeof setAccount>[2], code: string, detail = {}) =>
    ['debit', 'credit'].map((side) => ({ rule, side, set, code, detail }));
  const cases = [
    ...both('frozen', { status: 'frozen' }, 'WALLET_FROZEN'),
    ...both('not verified', { verified: false }, 'WALLET_KYC_REQUIRED'),
    ...both(
      'over the limit of one transaction',
      { posting_max: 59 },
      'WALLET_TIER1_LIMIT_EXCEEDED',
      limit('transaction', 59, 60),
    ),
    {
      rule: 'over the largest balance',
      side: 'credit',
      set: { balance_max: 159 },
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      detail: limit('balance', 159, 160),
    },
  ];

  test.each(cases)(
    'an account that is $rule on the $side side refuses the movement with $code',
    async ({ side, set, code, detail }) => {
      const [from, to] = [await openWallet(100), await openWallet(100)];
      const refusing = side === 'debit' ? from : to;
      await setAccount(books, refusing, set);
      const full = fullMovement(from, to, 60);
      expect(await post(full.movement)).toEqual(refusal(code, refusing, detail));
      expect(await partsOf(full)).toEqual(NO_PARTS);
      expect([await balance(from), await balance(to)]).toEqual([100, 100]);
    },
  );

  test('a closed wallet account refuses debits and credits', async () => {
    const closed = await openWallet();
    const other = await openWallet(100);
    await setAccount(books, closed, { status: 'closed' });
    expect(await post(pay(closed, other, 1))).toEqual(refusal('WALLET_CLOSED', closed));
    expect(await post(pay(other, closed, 1))).toEqual(refusal('WALLET_CLOSED', closed));
  });

  test('a movement exactly at a limit is posted', async () => {
    const wallet = await openWallet(100);
    await setAccount(books, wallet, { posting_max: 60, balance_max: 160 });
    await expectPosted(post(pay(RAIL, wallet, 60)));
    await expectPosted(post(pay(wallet, RAIL, 60)));
    expect(await balance(wallet)).toBe(100);
  });

  test('a balance never becomes negative and may be spent to zero', async () => {
    const wallet = await openWallet(100);
    expect(await post(pay(wallet, RAIL, 101))).toEqual(
      refusal('WALLET_INSUFFICIENT_FUNDS', wallet, { attemptedAmount: 101 }),
    );
    await expectPosted(post(pay(wallet, RAIL, 100)));
    expect(await balance(wallet)).toBe(0);
  });

  test.each([['debit'], ['credit']])('an unknown wallet on the %s side is WALLET_NOT_FOUND', async (side) => {
    const known = await openWallet(10);
    const unknown = `wallet:${publicId('wallet', newUuid())}`;
    const movement = side === 'debit' ? pay(unknown, known, 1) : pay(known, unknown, 1);
    expect(await post(movement)).toEqual(refusal('WALLET_NOT_FOUND', unknown));
  });

  test.each<[string, Parameters<typeof setAccount>[2]]>([
    ['frozen', { status: 'frozen' }],
    ['unverified', { verified: false }],
    ['over a transaction limit', { posting_max: 1 }],
    ['over a balance limit', { balance_max: 1 }],
  ])('a credit_exempt movement credits a wallet that is %s', async (_, set) => {
    const wallet = await openWallet();
    await setAccount(books, wallet, set);
    await expectPosted(post(pay(RAIL, wallet, 60, { rules: 'credit_exempt' })));
    expect(await balance(wallet)).toBe(60);
  });

  test.each(['enforced', 'credit_exempt'] as const)(
    'no wallet balance exceeds the largest safe integer, with the rules %s',
    async (rules) => {
      const wallet = await openWallet(Number.MAX_SAFE_INTEGER - 10);
      const limitAmount = Number.MAX_SAFE_INTEGER;
      const over = refusal('WALLET_TIER1_LIMIT_EXCEEDED', wallet, {
        limit: 'balance',
        limitAmount,
        attemptedAmount: limitAmount + 1,
        availableAmount: 10,
      });
      expect(await post(pay(RAIL, wallet, 11, { rules }))).toEqual(over);
      await expectPosted(post(pay(RAIL, wallet, 10, { rules })));
      await expectPosted(post(pay(wallet, RAIL, limitAmount, { rules })));
      expect(await balance(wallet)).toBe(0);
    },
  );

  test.each<[string, Parameters<typeof setAccount>[2]]>([
    ['frozen', { status: 'frozen' }],
    ['unverified', { verified: false }],
    ['over a transaction limit', { posting_max: 1 }],
  ])('an exempt movement debits a wallet that is %s, as far as it goes, but not a closed one', async (_, set) => {
    const wallet = await openWallet(60);
    await setAccount(books, wallet, set);
    const take = (amount: number) => post(pay(wallet, RAIL, amount, { rules: 'exempt' }));
    expect(await take(61)).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS' });
    await expectPosted(take(60));
    await setAccount(books, wallet, { status: 'closed' });
    expect(await take(1)).toEqual(refusal('WALLET_CLOSED', wallet));
  });

  test('credit_exempt exempts only the credited account, and not a closed one', async () => {
    const [from, to] = [await openWallet(100), await openWallet()];
    const back = (amount: number) => post(pay(from, to, amount, { rules: 'credit_exempt' }));
    expect(await back(101)).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS' });
    await setAccount(books, from, { status: 'frozen' });
    expect(await back(1)).toEqual(refusal('WALLET_FROZEN', from));
    await setAccount(books, from, { status: 'active' });
    await setAccount(books, to, { status: 'closed' });
    expect(await back(1)).toEqual(refusal('WALLET_CLOSED', to));
  });
});

describe('batches', () => {
  /** Posts these between two valid movements, which must be posted in any case. */
  async function postBetween(middle: Movement | Movement[]) {
    const wallet = await openWallet(100);
    const [before, behind] = [pay(wallet, RAIL, 10), pay(wallet, RAIL, 20)];
    const results = await postAll([before, ...[middle].flat(), behind]);
    expect(results[0]).toEqual({ outcome: 'posted' });
    expect(results.at(-1)).toEqual({ outcome: 'posted' });
    expect(await balance(wallet)).toBe(70);
    return results.slice(1, -1);
  }

  test('a batch is one statement', async () => {
    const wallet = await openWallet(100);
    const movements = Array.from({ length: 10 }, () => pay(wallet, RAIL, 1));
    expect(new Set(outcomes(await postAll(movements)))).toEqual(new Set(['posted']));
    const ids = movements.map(({ transaction: { id } = { id: '' } }) => id);
    const [row] = await books.sql`
      SELECT count(DISTINCT xmin::text) AS statements FROM ledger.transactions WHERE id = ANY (${ids}::uuid[])`;
    expect(row).toEqual({ statements: 1 });
  });

  test.each([['all at once'], ['movement by movement']])(
    'documents with any characters are stored unchanged, %s',
    async (mode) => {
      const wallet = await openWallet();
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
      const empty = await openWallet();
      // Movements without documents alternate with them.
      const movements = written.flatMap(({ movement }) => [pay(RAIL, wallet, 1), movement]);
      if (mode !== 'all at once') movements.unshift(pay(empty, RAIL, 1));
      const results = outcomes(await postAll(movements));
      expect(results.filter((outcome) => outcome !== 'posted')).toEqual(mode === 'all at once' ? [] : ['refused']);
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
    },
  );

  test('a batch continues after a refused movement', async () => {
    const empty = await openWallet();
    expect(await postBetween(pay(empty, RAIL, 1))).toMatchObject([{ code: 'WALLET_INSUFFICIENT_FUNDS' }]);
  });

  test('a batch continues after a movement with a stale row version', async () => {
    const wallet = await openWallet(100);
    const id = newUuid();
    await post({ book: books.book, rows: { payments: [paymentRow(id)] } });
    const change = (version: number, status: string): Movement => ({
      ...pay(wallet, RAIL, 5),
      rows: { payments: [paymentRow(id, { version, status })] },
    });
    expect(await post(change(2, 'partial'))).toEqual({ outcome: 'posted' });
    expect(await postBetween(change(2, 'expired'))).toEqual([{ outcome: 'conflict', constraint: null }]);
    const [row] = await books.sql`SELECT version, status FROM payments WHERE id = ${id}`;
    expect(row).toEqual({ version: 2, status: 'partial' });
    expect(await balance(wallet)).toBe(95);
  });

  test('of two changes of one row in a batch the first is posted and the second is a conflict', async () => {
    const id = newUuid();
    await post({ book: books.book, rows: { payments: [paymentRow(id)] } });
    const change = (status: string): Movement => ({
      book: books.book,
      rows: { payments: [paymentRow(id, { version: 2, status })] },
    });
    expect(await postBetween([change('partial'), change('expired')])).toEqual([
      { outcome: 'posted' },
      { outcome: 'conflict', constraint: null },
    ]);
  });

  test('a batch continues after a unique violation, which names its constraint', async () => {
    const wallet = await openWallet(100);
    const credit = (id: string): Movement => ({
      ...pay(wallet, RAIL, 5),
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
            senderSessionId: null,
            ownerKind: null,
            ownerId: null,
            status: 'received',
            receivedAt: new Date(),
            createdAt: new Date(),
          },
        ],
      },
    });
    await expectPosted(post(credit(newUuid())));
    expect(await postBetween(credit(newUuid()))).toEqual([
      { outcome: 'conflict', constraint: 'inbound_credit_session_unique' },
    ]);
    expect(await balance(wallet)).toBe(95);
  });

  test('a batch continues after an invalid movement', async () => {
    const invalid = { book: books.book, rows: { payments: [paymentRow(newUuid(), { status: 'no such status' })] } };
    const wallet = await openWallet(100);
    const busy = post({ book: books.book });
    const first = post(pay(wallet, RAIL, 1));
    const rejected = post(invalid);
    const last = post(pay(wallet, RAIL, 2));
    await expect(rejected).rejects.toThrow('payments_status_check');
    expect(outcomes(await Promise.all([busy, first, last]))).toEqual(['posted', 'posted', 'posted']);
    expect(await balance(wallet)).toBe(97);
  });
});

describe('optimistic posting of batches', () => {
  /** A journal that counts its calls of `ledger.post`. */
  function countingPosts() {
    const pool = books.anotherPool();
    const take = recordStatements([pool]);
    let calls = 0;
    return {
      journal: new Journal(pool),
      calls: () => {
        calls += take().filter(({ text }) => text.includes('FROM ledger.post(')).length;
        return calls;
      },
    };
  }

  test('refusals are returned by the call that posts the rest, and later movements need one call each', async () => {
    const [full, empty] = [await openWallet(1_000), await openWallet()];
    const { journal, calls } = countingPosts();
    const batch = [full, empty, full, empty, empty, full];
    const busy = journal.post({ book: books.book });
    const results = batch.map((from) => journal.post(pay(from, RAIL, 1)));
    await busy;
    expect(outcomes(await Promise.all(results))).toEqual(batch.map((from) => (from === full ? 'posted' : 'refused')));
    expect(calls()).toBe(2);
    for (let n = 0; n < 5; n += 1) await expectPosted(journal.post(pay(full, RAIL, 1)));
    expect(calls()).toBe(7);
    expect(await balance(full)).toBe(992);
  });

  test('duplicates are returned by the call that posts the rest', async () => {
    const wallet = await openWallet(1_000);
    const before = Array.from({ length: 3 }, () => pay(wallet, RAIL, 1));
    await Promise.all(before.map((movement) => expectPosted(post(movement))));
    const { journal, calls } = countingPosts();
    const busy = journal.post({ book: books.book });
    const batch = [...before, pay(wallet, RAIL, 1), pay(wallet, RAIL, 10_000)];
    const results = batch.map((movement) => journal.post(movement));
    await busy;
    expect(outcomes(await Promise.all(results))).toEqual(['duplicate', 'duplicate', 'duplicate', 'posted', 'refused']);
    expect(calls()).toBe(2);
    expect(await balance(wallet)).toBe(996);
  });
});

describe('batches of a faulty client', () => {
  const send = async (batch: Batch) =>
    await books.sql.unsafe<{ movement: number; outcome: string }[]>(POST, postValues(books.book, batch), {
      prepare: true,
    });

  test('a wallet sent with the kind derived_balance is locked nevertheless and cannot be overspent', async () => {
    const [payer, one, two] = [await openWallet(1_000), await openWallet(), await openWallet()];
    const wrong = buildBatch([pay(payer, two, 1_000)]);
    wrong.platformAccounts = `{"(${payer},f)","(${two},f)"}`;
    const first = await books.onNode.reserve();
    await first`BEGIN`;
    await first.unsafe(POST, postValues(books.book, buildBatch([pay(payer, one, 1_000)])), {
      prepare: true,
    });
    const second = send(wrong);
    await waitFor('the second to wait', async () => (await waitingBackends()).length === 1);
    await first`COMMIT`;
    first.release();
    expect(await second).toMatchObject([{ movement: 1, outcome: 'refused', code: 'WALLET_INSUFFICIENT_FUNDS' }]);
    expect([await balance(payer), await balance(one), await balance(two)]).toEqual([0, 1_000, 0]);
  });

  test('an account sent with a stored balance keeps its derived one, at any position', async () => {
    const wallet = await openWallet(110);
    const derived: AccountCode = 'expense:wrong';
    await expectPosted(post(pay(wallet, derived, 10)));
    const batch = buildBatch([pay(wallet, derived, 40)]);
    batch.accounts = `{${derived},${wallet}}`;
    batch.platformAccounts = `{"(${derived},t)"}`;
    batch.postings = '{"(1,2,1,40)"}';
    expect(await send(batch)).toEqual([]);
    expect([await balance(wallet), await balance(derived)]).toEqual([60, 50]);
    const [posting] = await books.sql`
      SELECT debit_balance_after, credit_balance_after FROM ledger.postings ORDER BY id DESC LIMIT 1`;
    expect(posting).toEqual({ debitBalanceAfter: 60, creditBalanceAfter: null });
  });

  test('postings out of the order of their movements are rejected, and nothing is posted', async () => {
    const [payer, one, two] = [await openWallet(1_000), await openWallet(), await openWallet()];
    const batch = buildBatch([pay(payer, one, 100), pay(payer, two, 200)]);
    const [first, second] = batch.postings.match(/"[^"]+"/g) ?? [];
    batch.postings = `{${second},${first}}`;
    await expect(send(batch)).rejects.toMatchObject({ code: 'ML004' });
    expect([await balance(payer), await balance(one), await balance(two)]).toEqual([1_000, 0, 0]);
  });

  test('a business key posted before with other postings is distinguished from a repeat', async () => {
    const [payer, payee] = [await openWallet(1_000), await openWallet()];
    const postings = [
      { debit: payer, credit: payee, amount: 100 },
      { debit: payer, credit: RAIL, amount: 20 },
    ];
    const first = { book: books.book, transaction: transaction(postings) };
    const again = (changed: typeof postings) =>
      post({ ...first, transaction: transaction(changed, { key: first.transaction.key }) });
    const [toPayee, toRail] = postings as [(typeof postings)[number], (typeof postings)[number]];
    await expectPosted(post(first));
    expect(await again(postings)).toEqual({ outcome: 'duplicate' });
    // The order of postings does not matter.
    expect(await again([toRail, toPayee])).toEqual({ outcome: 'duplicate' });
    expect(await again([{ ...toPayee, amount: 101 }, toRail])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee, { ...toRail, credit: 'income:fees' }])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee])).toEqual({ outcome: 'duplicate_differs' });
    expect(await again([toPayee, toRail, toRail])).toEqual({ outcome: 'duplicate_differs' });
    expect([await balance(payer), await balance(payee)]).toEqual([880, 100]);
  });
});

describe('the outcome of an Idempotency-Key', () => {
  const storeOutcome = (full: ReturnType<typeof fullMovement>, attempt: string) => books.sql`
    INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
    VALUES (${books.book.organisationId}, 'test', ${full.key}, 'print', ${attempt}, 422, '{}')`;

  test('an outcome of another attempt refuses this one, and nothing is written', async () => {
    const wallet = await openWallet();
    const full = fullMovement(RAIL, wallet, 5);
    await storeOutcome(full, newUuid());
    expect(await post(full.movement)).toEqual(refusal('IDEMPOTENCY_IN_PROGRESS', null));
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect(await balance(wallet)).toBe(0);
  });

  test('an outcome of this attempt makes a repeat a duplicate, even under another business key', async () => {
    const wallet = await openWallet();
    const full = fullMovement(RAIL, wallet, 5);
    await storeOutcome(full, full.movement.outcome?.attempt ?? '');
    expect(await post(full.movement)).toEqual({ outcome: 'duplicate' });
    expect(await timesPosted(books, full.movement)).toBe(0);
    expect(await balance(wallet)).toBe(0);
  });

  test('when one attempt is posted twice at the same time, exactly one posts', async () => {
    const wallet = await openWallet();
    const full = fullMovement(RAIL, wallet, 5);
    const second = { ...full.movement, ...pay(RAIL, wallet, 5), rows: {}, events: [] };
    const other = books.anotherJournal();
    const results = await Promise.all([post(full.movement), other.post(second)]);
    expect(outcomes(results).toSorted()).toEqual(['duplicate', 'posted']);
    expect(await balance(wallet)).toBe(5);
  });
});

describe('concurrency', () => {
  /** The journal of another process: the deadlocks that it met and retried, and its most statements at a time. */
  function countingJournal(
    of = books,
    statementsMax?: number,
  ): { journal: Journal; deadlocks: () => number; inFlightMax: () => number } {
    let deadlocks = 0;
    let inFlight = 0;
    let inFlightMax = 0;
    const counting = new Proxy(of.anotherPool(), {
      get(target, name, receiver) {
        if (name !== 'unsafe') return Reflect.get(target, name, receiver);
        return (...sent: Parameters<Sql['unsafe']>) => {
          const query = target.unsafe(...sent);
          inFlight += 1;
          inFlightMax = Math.max(inFlightMax, inFlight);
          query
            .catch((error: { code?: unknown }) => {
              if (error.code === '40P01') deadlocks += 1;
            })
            .finally(() => {
              inFlight -= 1;
            });
          return query;
        };
      },
    });
    return {
      journal: new Journal(counting, statementsMax),
      deadlocks: () => deadlocks,
      inFlightMax: () => inFlightMax,
    };
  }

  test.each([[1], [2]])('with %i statements at a time allowed, 64 callers have as many', async (statementsMax) => {
    const { journal, inFlightMax } = countingJournal(books, statementsMax);
    const wallet = await openWallet();
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        for (let n = 0; n < 5; n += 1) await expectPosted(journal.post(pay(RAIL, wallet, 1)));
      }),
    );
    expect(inFlightMax()).toBe(statementsMax);
    expect(await balance(wallet)).toBe(320);
  });

  test('1,000 crossing transfers between two wallets by two processes never deadlock', async () => {
    const [a, b] = [await openWallet(10_000), await openWallet(10_000)];
    const sides = [countingJournal(), countingJournal()];
    const results = await Promise.all(
      Array.from({ length: 1_000 }, async (_, n) => {
        const [from, to] = n % 2 === 0 ? [a, b] : [b, a];
        const { journal } = sides[n % 2] as (typeof sides)[number];
        return (await journal.post(pay(from, to, 1 + (n % 7)))).outcome;
      }),
    );
    expect(new Set(results)).toEqual(new Set(['posted']));
    expect(sides.map(({ deadlocks }) => deadlocks())).toEqual([0, 0]);
    expect((await balance(a)) + (await balance(b))).toBe(20_000);
  });

  test.each([['first'], ['second']])(
    'two opposite transfers that meet at a locked account do not deadlock: the account opened %s is locked',
    async (position) => {
      const wallets = [await openWallet(10), await openWallet(10)] as const;
      const [locked, other] = position === 'first' ? wallets : ([wallets[1], wallets[0]] as const);
      const sides = [countingJournal(), countingJournal()] as const;
      const lock = await lockAccount(locked);
      // In request order the second would lock the other account first, and the first would then wait for it.
      const there = sides[0].journal.post(pay(locked, other, 1));
      await waitFor('the first posting to wait', async () => (await waitingBackends()).length === 1);
      const back = sides[1].journal.post(pay(other, locked, 1));
      await waitFor('both postings to wait', async () => (await waitingBackends()).length === 2);
      await lock.release();
      expect(outcomes(await Promise.all([there, back]))).toEqual(['posted', 'posted']);
      expect(sides.map(({ deadlocks }) => deadlocks())).toEqual([0, 0]);
    },
  );

  /** Posts as on Citus: with its functions, and a plan for the values of each call. */
  const asOnCitus = async ({ owner }: Books): Promise<void> => {
    await owner.unsafe(readFileSync(new URL('../../deploy/citus/functions.sql', import.meta.url), 'utf8'));
    for (const setting of ['plan_cache_mode', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) {
      await owner.unsafe(`ALTER FUNCTION ledger.post RESET ${setting}`);
    }
  };

  test.each<[string, (of: Books) => Promise<unknown>]>([
    ['without statistics', async () => {}],
    ['analysed with one account', ({ owner }) => owner`ANALYZE ledger.accounts`],
    ['as on Citus', asOnCitus],
  ])('accounts are locked in the order of the list, newest first, in tables %s', async (_, analyse) => {
    const fresh = await openBooks();
    try {
      await fresh.owner`ALTER TABLE ledger.accounts SET (autovacuum_enabled = false)`;
      const oldest = await newWallet(fresh, { balance: 10 });
      await analyse(fresh);
      const wallets = [oldest];
      for (let n = 0; n < 2_000; n += 1) wallets.push(walletAccount(newUuid()));
      await fresh.owner`
        INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance)
        SELECT ${fresh.book.organisationId}, 'test', code, 'customer', 10 FROM unnest(${wallets.slice(1)}::text[]) AS code`;
      const [middle, newest] = [wallets[1_000], wallets[2_000]] as [AccountCode, AccountCode];
      const { organisationId } = fresh.book;
      const holder = await fresh.onNode.reserve();
      await holder`BEGIN`;
      await holder`SELECT FROM ledger.accounts WHERE organisation_id = ${organisationId} AND code = ${middle} FOR UPDATE`;
      const waiting = fresh.journal.post({
        book: fresh.book,
        transaction: transaction([
          { debit: oldest, credit: newest, amount: 1 },
          { debit: middle, credit: newest, amount: 1 },
        ]),
      });
      await waitFor('the posting to wait', async () => {
        const [row] = await fresh.onNode<{ waiting: number }[]>`
          SELECT count(*) AS waiting FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%ledger.post%' AND wait_event_type = 'Lock'`;
        return row?.waiting === 1;
      });
      const isFree = async (code: AccountCode) => {
        const free = await fresh.onNode`
          SELECT FROM ledger.accounts WHERE organisation_id = ${organisationId} AND code = ${code} FOR UPDATE SKIP LOCKED`;
        return free.length === 1;
      };
      expect({ newest: await isFree(newest), oldest: await isFree(oldest) }).toEqual({ newest: false, oldest: true });
      await holder`COMMIT`;
      holder.release();
      expect(await waiting).toEqual({ outcome: 'posted' });
    } finally {
      await fresh.close();
    }
  });

  test.each<[string, (of: Books) => Promise<unknown>]>([
    ['without statistics', async () => {}],
    ['as on Citus', asOnCitus],
  ])(
    'two processes posting to one hot account never deadlock in tables %s',
    async (_, prepare) => {
      const fresh = await openBooks();
      try {
        await prepare(fresh);
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
                // Some refusals, so that every way of posting a batch is used: the lock order must be the same.
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
    },
    60_000,
  );

  test('accounts of the platform come into being once, with the first postings of two processes', async () => {
    const fresh = await openBooks();
    try {
      const accounts: AccountCode[] = ['clearing:one', 'clearing:two', 'suspense:payment:one', 'suspense:payment:two'];
      const journals = [fresh.journal, fresh.anotherJournal()];
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, n) => {
          const order = n % 2 === 0 ? accounts : accounts.toReversed();
          const [first, second] = order.filter((code) => code.startsWith('clearing')) as [AccountCode, AccountCode];
          const postings = order
            .filter((code) => code.startsWith('suspense'))
            .map((credit) => ({ debit: first, credit, amount: 1 + n }));
          const movement = {
            book: fresh.book,
            transaction: transaction([...postings, { debit: first, credit: second, amount: 1 }]),
          };
          return (journals[n % 2] as Journal).post(movement);
        }),
      );
      expect(outcomes(results)).toEqual(results.map(() => 'posted'));
      const found =
        await fresh.sql`SELECT code, balance IS NOT NULL AS stored FROM ledger.accounts ORDER BY code COLLATE "C"`;
      expect(found).toEqual(accounts.map((code) => ({ code, stored: code.startsWith('suspense') })));
      expect((await verifyLedger(fresh.owner)).findings).toEqual([]);
    } finally {
      await fresh.close();
    }
  });

  test('of 200 concurrent debits of the whole balance by two processes, exactly one is posted', async () => {
    const wallet = await openWallet(500);
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) => (journals[n % 2] as Journal).post(pay(wallet, RAIL, 500))),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(1);
    expect(results.filter((result) => 'code' in result && result.code === 'WALLET_INSUFFICIENT_FUNDS')).toHaveLength(
      199,
    );
    expect(await balance(wallet)).toBe(0);
  });

  test('of 100 concurrent credits that exceed the balance limit, exactly those within it are posted', async () => {
    const wallet = await openWallet();
    await setAccount(books, wallet, { balance_max: 305 });
    const journals = [books.journal, books.anotherJournal()];
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (journals[n % 2] as Journal).post(pay(RAIL, wallet, 10))),
    );
    expect(results.filter(({ outcome }) => outcome === 'posted')).toHaveLength(30);
    expect(await balance(wallet)).toBe(300);
  });

  test('random movements have the outcomes and balances of a reference model', async () => {
    const database = await openBooks();
    try {
      const wallets = await Promise.all(Array.from({ length: 5 }, () => newWallet(database)));
      const suspense = `suspense:payment:${publicId('payment', newUuid())}`;
      const accounts = [...wallets, suspense, RAIL, 'float:sandbox'];
      const stored = new Set([...wallets, suspense]);
      const entries = new Map([...stored].map((code) => [code, 0]));
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
              book: database.book,
              transaction: transaction(postings),
            }));
            const results = await postTogether(database, movements);
            for (const [index, postings] of movementsOfBatch.entries()) {
              const after = new Map(model);
              const possible = postings.every(({ debit, credit, amount }) => {
                after.set(debit, (after.get(debit) as bigint) - BigInt(amount));
                after.set(credit, (after.get(credit) as bigint) + BigInt(amount));
                return !stored.has(debit) || (after.get(debit) as bigint) >= 0n;
              });
              expect(results[index]?.outcome).toBe(possible ? 'posted' : 'refused');
              if (!possible) continue;
              for (const [code, balance] of after) model.set(code, balance);
              for (const code of postings.flatMap(({ debit, credit }) => [debit, credit])) {
                if (stored.has(code)) entries.set(code, (entries.get(code) ?? 0) + 1);
              }
            }
          }
        }),
        { numRuns: 40 },
      );
      for (const [code, balance] of model) expect(BigInt(await balanceOf(database, code))).toBe(balance);
      const last = await database.sql<{ code: AccountCode; lastNumber: number }[]>`
        SELECT code, last_number FROM ledger.accounts WHERE balance IS NOT NULL`;
      for (const { code, lastNumber } of last) expect([code, lastNumber]).toEqual([code, entries.get(code)]);
      expect([...model.values()].reduce((sum, balance) => sum + balance, 0n)).toBe(0n);
      expect((await verifyLedger(database.owner, { pageSize: 7 })).findings).toEqual([]);
    } finally {
      await database.close();
    }
  });
});

describe('immutability of the ledger', () => {
  const attempts = {
    INSERT: `INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount)
             VALUES (gen_random_uuid(), 'test', gen_random_uuid(), 1, 2, 1)`,
    UPDATE: 'UPDATE ledger.postings SET amount = amount + 1',
    DELETE: 'DELETE FROM ledger.postings',
    TRUNCATE: 'TRUNCATE ledger.postings',
  };

  test.each(Object.entries(attempts))('the application role may not %s postings', async (_, statement) => {
    await openWallet(1);
    await expect(books.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501', routine: 'aclcheck_error' });
  });

  test.each([
    ['update a balance', 'UPDATE ledger.accounts SET balance = balance + 1'],
    [
      'insert an account',
      "INSERT INTO ledger.accounts (organisation_id, environment, code) VALUES (gen_random_uuid(), 'test', 'income:x')",
    ],
    ['delete a transaction', 'DELETE FROM ledger.transactions'],
    ['update a payment without the journal', "UPDATE payments SET status = 'settled'"],
    ['call ledger.write_payments', "SELECT ledger.write_payments(gen_random_uuid(), 'test', '[]')"],
    ['call ledger.write_rows', "SELECT ledger.write_rows(gen_random_uuid(), 'test', 'payments', '[]')"],
    ['call ledger.lock_accounts', "SELECT ledger.lock_accounts(gen_random_uuid(), 'test', '{}', ROW('{}', '{}'))"],
    ['delete from the audit log', 'DELETE FROM audit_log'],
    ['give a wallet to another customer', "UPDATE wallets SET external_reference = 'eve'"],
    ['exchange the ids of wallets', "UPDATE wallets SET id = '00000000-0000-4000-8000-000000000000'"],
    [
      'give an account number to another wallet',
      "UPDATE virtual_accounts SET owner_id = '00000000-0000-4000-8000-000000000000'",
    ],
    ['give KYC details to another wallet', "UPDATE wallet_kyc SET wallet_id = '00000000-0000-4000-8000-000000000000'"],
  ])('the application role may not %s', async (_, statement) => {
    await expect(books.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501', routine: 'aclcheck_error' });
  });

  test.each(
    ['postings', 'transactions'].flatMap((table) => [
      ['UPDATE', `UPDATE ledger.${table} SET created_at = now()`],
      ['DELETE', `DELETE FROM ledger.${table}`],
      ['TRUNCATE', `TRUNCATE ledger.${table}`],
    ]),
  )('not even the owner may %s: %s', async (_, statement) => {
    await openWallet(1);
    await expect(books.owner.unsafe(statement)).rejects.toThrow('is append-only: post a reversing transaction instead');
  });

  test.each([
    ['below zero', -1],
    ['above the largest safe integer', '9007199254740992'],
  ])('a check constraint refuses a balance %s', async (_, balance) => {
    const wallet = await openWallet(1);
    const refused = books.owner`UPDATE ledger.accounts SET balance = ${balance} WHERE code = ${wallet}`;
    expect(violatedCheck(await refused.catch((error: unknown) => error))).toBe('balance_in_range');
  });

  test('an unknown environment is refused by ledger.post', async () => {
    const book = { ...books.book, environment: 'tset' as 'test' };
    // Posting would create these accounts.
    const posting = { debit: RAIL, credit: 'income:fees', amount: 30 } as const;
    await expect(post({ book, transaction: transaction([posting]) })).rejects.toMatchObject({
      code: '23514',
    });
    const [found] = await books.sql`
      SELECT (SELECT count(*) FROM ledger.accounts WHERE environment = 'tset') AS accounts,
             (SELECT count(*) FROM ledger.transactions WHERE environment = 'tset') AS transactions`;
    expect(found).toEqual({ accounts: 0, transactions: 0 });
  });
});

describe('row locks held for long', () => {
  test.each([
    [true, '9s'],
    [false, '0'],
  ] as const)('a pool with closeWhenStalled %s has the statement_timeout %s', async (closeWhenStalled, limit) => {
    const pool = connect(books.url, { connectionsMax: 1, closeWhenStalled });
    expect(await pool`SHOW statement_timeout`).toMatchObject([{ statementTimeout: limit }]);
    await pool.end();
  });

  test('while a row stays locked, callers get an outage error and no backend keeps waiting; afterwards each movement is posted once', async () => {
    const CONNECTIONS_MAX = 3;
    const pool = connect(books.url, {
      connectionsMax: CONNECTIONS_MAX,
      closeWhenStalled: true,
      statementTimeoutMs: 200,
    });
    const journal = new Journal(pool);
    const [wallet, other] = [await openWallet(1_000), await openWallet()];
    const lock = await lockAccount(wallet);
    const movements = Array.from({ length: 64 }, () => pay(wallet, other, 1));
    let waitingMax = 0;
    let isCalling = true;
    const watcher = (async () => {
      while (isCalling) waitingMax = Math.max(waitingMax, (await waitingBackends()).length);
    })();
    const errors: unknown[] = [];
    await Promise.all(
      movements.map(async (movement) => {
        for (let attempt = 0; attempt < 4; attempt += 1) {
          await journal.post(movement).catch((error: unknown) => errors.push(error));
        }
      }),
    );
    await waitFor('no backend to be waiting', async () => (await waitingBackends()).length === 0);
    isCalling = false;
    await watcher;
    expect(errors).toHaveLength(4 * 64);
    expect(errors.filter((error) => !isOutage(error))).toEqual([]);
    expect(waitingMax).toBeGreaterThan(0);
    expect(waitingMax).toBeLessThanOrEqual(CONNECTIONS_MAX);
    await lock.release();
    for (const movement of movements) await expectPosted(journal.post(movement));
    expect([await balance(wallet), await balance(other)]).toEqual([936, 64]);
    await pool.end();
  });
});

describe('terminated backends and lost connections', () => {
  const kill = async (pid: number) =>
    administer(adminOf(await nodeOf(books.url, books.book.organisationId)), `SELECT pg_terminate_backend(${pid})`);

  test('a movement is posted once when the connection is lost before the statement', async () => {
    const wallet = await openWallet();
    const proxy = await startTcpProxy(books.url);
    const journal = books.anotherJournal(proxy.url);
    // Opens the connection.
    await journal.post({ book: books.book });
    const full = fullMovement(RAIL, wallet, 30);
    const lost = proxy.loseRequest(full.key);
    const result = journal.post(full.movement);
    await lost;
    expect(await result).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    await proxy.close();
  });

  test('a movement is posted once and completely when its backend is terminated during the statement, twice', async () => {
    const [from, to] = [await openWallet(100), await openWallet()];
    const full = fullMovement(from, to, 30);
    const lock = await lockAccount(to);
    // With its own pool: the driver fails the first query after a terminated connection, whatever it is.
    const result = books.anotherJournal().post(full.movement);

    const [first] = await waitFor('the posting to wait', async () => {
      const found = await waitingBackends();
      return found.length > 0 && found;
    });
    await kill(first?.pid ?? 0);
    // The retry uses a new connection, which is terminated as well.
    const [second] = await waitFor('the retry to wait', async () => {
      const found = (await waitingBackends()).filter(({ pid }) => pid !== first?.pid);
      return found.length > 0 && found;
    });
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect([await balance(from), await balance(to)]).toEqual([100, 0]);
    await kill(second?.pid ?? 0);

    await lock.release();
    expect(await result).toEqual({ outcome: 'posted' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect([await balance(from), await balance(to)]).toEqual([70, 30]);
  });

  test('a movement is posted once and reported as a duplicate when the connection is lost after the commit', async () => {
    const wallet = await openWallet();
    const proxy = await startTcpProxy(books.url);
    const journal = books.anotherJournal(proxy.url);
    await journal.post({ book: books.book });
    const full = fullMovement(RAIL, wallet, 30);
    const lost = proxy.loseReplyTo(full.key);
    const result = journal.post(full.movement);
    await lost;
    expect(await result).toEqual({ outcome: 'duplicate' });
    expect(await partsOf(full)).toEqual(ALL_PARTS);
    expect(await balance(wallet)).toBe(30);
    await proxy.close();
  });

  test('an unreachable database is an outage error, and the same movement can be posted later', async () => {
    const wallet = await openWallet();
    const unreachable = new URL(books.url);
    unreachable.port = '1'; // nothing listens on this port
    const full = fullMovement(RAIL, wallet, 30);
    await expect(books.anotherJournal(unreachable.href).post(full.movement)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    expect(await partsOf(full)).toEqual(NO_PARTS);
    expect(await post(full.movement)).toEqual({ outcome: 'posted' });
  });

  test('each of 300 movements is posted exactly once while backends are terminated repeatedly', async () => {
    const [a, b] = [await openWallet(100_000), await openWallet(100_000)];
    const journals = [books.anotherJournal(), books.anotherJournal()];
    let isRunning = true;
    let kills = 0;
    const killer = (async () => {
      while (isRunning && kills < 30) {
        const busy = await books.onNode<{ pid: number }[]>`
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
          // It may have been posted: the same movement may be sent again.
        }
      }
    };
    const movements: Movement[] = [];
    // In rounds, so that there is always another statement to terminate.
    for (let round = 0; round < 30; round += 1) {
      const sent = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? pay(a, b, 1 + n) : pay(b, a, 1 + n)));
      movements.push(...sent);
      const outcomes = await Promise.all(
        sent.map((movement, n) => postUntilKnown(movement, journals[n % 2] as Journal)),
      );
      for (const outcome of outcomes) expect(['posted', 'duplicate']).toContain(outcome);
    }
    isRunning = false;
    await killer;
    expect(kills).toBeGreaterThan(0);
    const times = await Promise.all(movements.map((movement) => timesPosted(books, movement)));
    expect(new Set(times)).toEqual(new Set([1]));
    expect((await balance(a)) + (await balance(b))).toBe(200_000);
  }, 60_000);
});

test('the ledger has no violations after all tests of this file', async () => {
  expect((await verifyLedger(books.owner)).findings).toEqual([]);
});
