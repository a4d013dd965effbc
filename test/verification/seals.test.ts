// Seals: history that is rewritten, however consistently and with whatever rights, is found and named.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type postgres from 'postgres';
import { publishSeals } from '../../src/activities/ledger.ts';
import { ALL_ORGANISATIONS, publicId } from '../../src/ids.ts';
import { createLog } from '../../src/telemetry/log.ts';
import {
  findMissingSeals,
  parseSeals,
  pauseAfter,
  type Seal,
  sealCheck,
  sealNext,
} from '../../src/verification/seals.ts';
import { type Progress, verify } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { type Books, expectPosted, move, newWallet, openBooks, RAIL } from '../ledger/books.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';

const LAG_MS = 60_000;
const HOUR_MS = 3_600_000;
const log = createLog('test', 'silent');
const NOWHERE = { file: '', webhookUrl: '' };

let books: Books;
let wallet: string;

beforeEach(async () => {
  books = await openBooks();
  wallet = await newWallet(books);
});

afterEach(() => books.close());

/** Posts these amounts to the wallet, as if this many hours ago. */
async function post(hoursAgo: number, ...amounts: number[]): Promise<void> {
  for (const amount of amounts) await expectPosted(books.journal.post(move(books.book, RAIL, wallet, amount)));
  await books.asSuperuser(async (sql) => {
    for (const table of ['ledger.postings', 'ledger.transactions']) {
      await sql`UPDATE ${sql(table)} SET created_at = now() - make_interval(hours => ${hoursAgo}) WHERE created_at > now() - interval '10 minutes'`;
    }
  });
}

async function findings(published: readonly Seal[] = []) {
  const { findings: differing } = await verify(books.sql, [sealCheck(published)]);
  return [...differing, ...(await findMissingSeals(books.sql, published))].map(({ kind, expected, found }) => ({
    kind,
    expected: expected.replace(/until \S+:/, 'until then:'),
    found,
  }));
}

/** Two seals, of three postings and of one. */
async function sealTwice(): Promise<void> {
  await post(3, 100, 200, 300);
  expect(await sealNext(books.sql, 2.5 * HOUR_MS)).toEqual({ seals: 1, isBehind: false });
  await post(2, 400);
  expect(await sealNext(books.sql, LAG_MS)).toEqual({ seals: 1, isBehind: false });
}

test('the postings of every book are sealed once, by one of many processes, without those of the last minute', async () => {
  await post(3, 100, 200);
  await newWallet(books, { balance: 5, book: { ...books.book, environment: 'live' } });
  const another = books.anotherPool();
  await Promise.all([books.sql, another, books.sql, another].map((sql) => sealNext(sql, LAG_MS)));
  expect(await books.sql`SELECT environment, number, posting_count FROM ledger.seals`).toEqual([
    { environment: 'test', number: 1, postingCount: 2 },
  ]);
  expect(await sealNext(books.sql, LAG_MS)).toEqual({ seals: 0, isBehind: false });
  await expect(sealNext(books.sql, 1_000)).rejects.toThrow('may be uncommitted');
});

test('a posting of the millisecond in which a seal ends is in one seal', async () => {
  await post(3, 100, 200);
  const moment = new Date(Date.now() - 2 * HOUR_MS);
  await books.asSuperuser((sql) => sql`UPDATE ledger.postings SET created_at = ${moment} WHERE amount = 200`);
  const end = books.sql`${moment}::timestamptz - interval '400 microseconds'`;
  await books.sql`SELECT FROM ledger.seal(${end}, 1000)`;
  expect(await findings()).toEqual([]);
  await sealNext(books.sql, LAG_MS);
  expect(await books.sql`SELECT posting_count FROM ledger.seals ORDER BY number`).toEqual([
    { postingCount: 1 },
    { postingCount: 1 },
  ]);
  expect(await findings()).toEqual([]);
});

test('a long history is sealed in parts, which all are whole', async () => {
  for (const hours of [6, 5, 4, 3]) await post(hours, 10, 20);
  const parts: boolean[] = [];
  for (let isBehind = true; isBehind; ) {
    const [row] = await books.sql<
      { isBehind: boolean }[]
    >`SELECT is_behind FROM ledger.seal(now() - interval '1 minute', 2)`;
    isBehind = row?.isBehind ?? false;
    parts.push(isBehind);
  }
  expect(parts.length).toBeGreaterThan(1);
  const [total] = await books.sql`SELECT sum(posting_count)::int AS postings FROM ledger.seals`;
  expect(total).toEqual({ postings: 8 });
  expect(await findings()).toEqual([]);
});

test('a comparison that is interrupted goes on after the seals that it has compared', async () => {
  for (const hours of [9, 8, 7, 6, 5, 4, 3]) {
    await post(hours, 10, 20);
    await sealNext(books.sql, (hours - 0.5) * HOUR_MS);
  }
  const reported: Progress[] = [];
  await verify(books.sql, [sealCheck()], { onProgress: (progress) => reported.push(progress) });
  const middle = reported.find(({ checkpoint }) => checkpoint !== null)?.checkpoint ?? null;
  expect(middle).toMatchObject({ checks: { seals: { after: { number: 5 }, counts: { sealed: 10 } } } });
  const resumed: Progress[] = [];
  await verify(books.sql, [sealCheck()], { from: middle, onProgress: (progress) => resumed.push(progress) });
  expect(resumed.map(({ done }) => done)).toEqual([10, 14, 14]);
  // What is before the checkpoint is not read again.
  await books.asSuperuser((sql) => sql`UPDATE ledger.postings SET amount = 11 WHERE amount = 10`);
  expect((await verify(books.sql, [sealCheck()], { from: middle })).findings).toMatchObject([
    { kind: 'SEAL_MISMATCH', expected: expect.stringContaining('seal 6') },
  ]);
});

test.each([
  ['as long as sealing needs to take a thirtieth of one processor', 200, 5_800],
  ['at most a minute, so that the heartbeat is in time', 60_000, 60_000],
])('the pause between two parts is %s', (_, partMs, pauseMs) => {
  expect(pauseAfter(partMs)).toBe(pauseMs);
});

describe('a superuser who rewrites history', () => {
  const first = `WHERE p.amount = 200`;
  const cases: [string, (sql: postgres.Sql) => Promise<unknown>, string, string, string][] = [
    [
      'raises an amount and all balances after it',
      async (sql) => {
        await sql.unsafe(
          `UPDATE ledger.postings p SET amount = 250, credit_balance_after = credit_balance_after + 50 ${first}`,
        );
        await sql`UPDATE ledger.postings SET credit_balance_after = credit_balance_after + 50 WHERE amount IN (300, 400)`;
        await sql`UPDATE ledger.accounts SET balance = balance + 50 WHERE code = ${wallet}`;
      },
      'SEAL_MISMATCH',
      'seal 1 until then: 3 postings of ₦6.00',
      '3 postings of ₦6.50',
    ],
    [
      'changes the kind and the date of a transaction',
      (sql) =>
        sql`UPDATE ledger.transactions SET kind = 'other', effective_at = now() WHERE id = (SELECT transaction_id FROM ledger.postings WHERE amount = 400)`,
      'SEAL_MISMATCH',
      'seal 2 until then: 1 postings of ₦4.00',
      '1 postings of ₦4.00, which were changed',
    ],
    [
      'deletes the newest transaction',
      async (sql) => {
        await sql`DELETE FROM ledger.transactions WHERE id = (SELECT transaction_id FROM ledger.postings WHERE amount = 400)`;
        await sql`DELETE FROM ledger.postings WHERE amount = 400`;
        await sql`UPDATE ledger.accounts SET balance = 600 WHERE code = ${wallet}`;
      },
      'SEAL_MISMATCH',
      'seal 2 until then: 1 postings of ₦4.00',
      '0 postings of ₦0.00',
    ],
    [
      'moves a posting to an earlier time',
      (sql) => sql`UPDATE ledger.postings SET created_at = now() - interval '150 minutes' WHERE amount = 200`,
      'SEAL_MISMATCH',
      'seal 1 until then: 3 postings of ₦6.00',
      '2 postings of ₦4.00',
    ],
    [
      'deletes a seal',
      (sql) => sql`DELETE FROM ledger.seals WHERE number = 1`,
      'SEAL_MISSING',
      'seal 1',
      'seal 2 comes next',
    ],
  ];
  test.each(cases)('and %s is found', async (_, rewrite, kind, expected, found) => {
    await sealTwice();
    expect(await findings()).toEqual([]);
    await books.asSuperuser(rewrite);
    expect(await findings()).toEqual([{ kind, expected, found }]);
    expect((await verifyBooks(books.sql)).findings.map((finding) => finding.kind)).toContain(kind);
  });

  test('and the seals too is found by the seals that were published', async () => {
    await sealTwice();
    const file = path.join(temporaryFolder(), 'seals.jsonl');
    expect(await publishSeals(books.sql, log, { ...NOWHERE, file })).toBe(2);
    const published = parseSeals(await readFile(file, 'utf8'));
    expect(published).toMatchObject([
      {
        organisation: publicId('organisation', books.book.organisationId),
        environment: 'test',
        number: 1,
        postings: 3,
      },
      { number: 2, postings: 1, amount: '400' },
    ]);
    expect(await findings(published)).toEqual([]);

    await books.asSuperuser(async (sql) => {
      await sql`UPDATE ledger.transactions SET kind = 'other'`;
      await sql`DELETE FROM ledger.seals`;
    });
    await books.owner`SELECT * FROM ledger.seal(now() - interval '1 minute', 1000)`;
    expect(await findings()).toEqual([]);
    expect(await findings(published)).toEqual([
      {
        kind: 'SEAL_MISMATCH',
        expected: 'seal 1 until then: 3 postings of ₦6.00, as published',
        found: 'another digest in the database',
      },
      { kind: 'SEAL_MISSING', expected: 'seal 2 until then: 1 postings of ₦4.00', found: 'no such seal' },
    ]);
  });
});

describe('audit entries are sealed with the books', () => {
  /** As if this many hours ago. */
  const audit = (
    hoursAgo: number,
    subject: string,
    {
      organisationId = books.book.organisationId,
      environment = 'test',
    }: { organisationId?: string; environment?: string | null } = {},
  ) =>
    books.asSuperuser(
      (sql) => sql`
        INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason, created_at)
        VALUES (${organisationId}, ${environment}, 'ngozi', 'wallet.freeze', ${subject}, ${'fraud\nsuspected'},
                now() - make_interval(hours => ${hoursAgo}))`,
    );

  const cases: [string, (sql: postgres.Sql) => Promise<unknown>, string][] = [
    ['deletes', (sql) => sql`DELETE FROM audit_log WHERE subject = 'one'`, '1 audit entries'],
    [
      'changes the operator of',
      (sql) => sql`UPDATE audit_log SET operator = 'tunde' WHERE subject = 'one'`,
      '2 audit entries, which were changed',
    ],
    [
      'changes the text of',
      (sql) => sql`UPDATE audit_log SET reason = 'fraud', action = E'suspected\nwallet.freeze' WHERE subject = 'one'`,
      '2 audit entries, which were changed',
    ],
    [
      'moves to another time',
      (sql) => sql`UPDATE audit_log SET created_at = created_at + interval '1 ms' WHERE subject = 'one'`,
      '2 audit entries, which were changed',
    ],
    [
      'adds beside',
      (sql) => sql`
        INSERT INTO audit_log (organisation_id, environment, operator, action, subject, created_at)
        SELECT organisation_id, environment, 'tunde', action, 'late', created_at FROM audit_log WHERE subject = 'one'`,
      '3 audit entries',
    ],
  ];
  test.each(cases)('and what a superuser %s a sealed one is found', async (_, rewrite, found) => {
    await post(3, 100);
    await audit(3, 'one');
    await audit(3, 'two');
    await sealNext(books.sql, LAG_MS);
    expect(await findings()).toEqual([]);
    await books.asSuperuser(rewrite);
    const postings = '1 postings of ₦1.00';
    expect(await findings()).toEqual([
      {
        kind: 'SEAL_MISMATCH',
        expected: `seal 1 until then: ${postings}, 2 audit entries`,
        found: `${postings}, ${found}`,
      },
    ]);
  });

  test('also where nothing is posted, those of no environment, and those of the installation', async () => {
    await audit(3, 'one', { environment: null });
    await audit(3, 'two', { organisationId: ALL_ORGANISATIONS, environment: null });
    expect(await sealNext(books.sql, LAG_MS)).toEqual({ seals: 2, isBehind: false });
    expect(await sealNext(books.sql, LAG_MS)).toEqual({ seals: 0, isBehind: false });
    expect((await verifyBooks(books.sql)).findings).toEqual([]);
    await books.asSuperuser((sql) => sql`DELETE FROM audit_log`);
    expect((await verifyBooks(books.sql)).findings).toMatchObject([
      { kind: 'SEAL_MISMATCH', organisation: publicId('organisation', ALL_ORGANISATIONS), environment: 'live' },
      { kind: 'SEAL_MISMATCH', organisation: publicId('organisation', books.book.organisationId), environment: 'live' },
    ]);
  });
});

test.each([
  `UPDATE ledger.seals SET digest = '\\x00'`,
  `UPDATE ledger.seals SET published_at = now(), amount = 1`,
  'DELETE FROM ledger.seals',
  'TRUNCATE ledger.seals',
])('not even the owner may %s', async (statement) => {
  await sealTwice();
  await expect(books.owner.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
});

test('a seal that the URL did not take is published by the next run', async () => {
  await sealTwice();
  const receiver = await startReceiver(answerStatus(503));
  const settings = { file: '', webhookUrl: receiver.url };
  await expect(publishSeals(books.sql, log, settings)).rejects.toThrow('SEAL_WEBHOOK_URL answered 503');
  receiver.answerWith(answerStatus(204));
  expect(await publishSeals(books.sql, log, settings)).toBe(2);
  expect(await publishSeals(books.sql, log, settings)).toBe(0);
  expect(receiver.received.flatMap(({ body }) => JSON.parse(body).seals)).toHaveLength(4);
  await receiver.close();
});
