// Archives: the postings of a closed month go to a file and come back unchanged, whatever interrupts it; the ledger is
// whole at every moment between, and a file that was changed is refused.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { violatedCheck } from '../../src/database/errors.ts';
import { publicId } from '../../src/ids.ts';
import { archiveMonth, listArchives, planArchive, restoreMonth } from '../../src/ledger/archive.ts';
import { bookChecks } from '../../src/ledger/bookChecks.ts';
import type { AccountCode } from '../../src/ledger/chart.ts';
import { closePeriod, type Month } from '../../src/ledger/closing.ts';
import { reportAccount, trialBalance } from '../../src/ledger/reports.ts';
import { verify } from '../../src/ledger/verify.ts';
import { archiveCheck } from '../../src/verification/archives.ts';
import { sealCheck, sealNext } from '../../src/verification/seals.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { OPERATORS } from '../support/operators.ts';
import { monthAgo, startOfMonth } from '../support/pastMonths.ts';
import { type Books, expectPosted, move, newWallet, openBooks, RAIL } from './books.ts';
import './seed.ts';

const NGOZI = { id: OPERATORS.ngozi.id, name: 'ngozi' };
const HOUR_MS = 3_600_000;

const [FIRST, SECOND, THIRD] = [monthAgo(7), monthAgo(6), monthAgo(5)];

let books: Books;
let folder: string;
let a: AccountCode;
let b: AccountCode;

/** Posts these amounts from a to b, with fees, as if at this time. */
async function post(at: number, ...amounts: number[]): Promise<void> {
  const begun = new Date();
  for (const amount of amounts) {
    await expectPosted(books.journal.post(move(books.book, RAIL, a, amount)));
    await expectPosted(books.journal.post(move(books.book, a, b, amount)));
    await expectPosted(books.journal.post(move(books.book, b, 'income:fees', 1)));
  }
  await books.asSuperuser(async (sql) => {
    for (const table of ['ledger.postings', 'ledger.transactions']) {
      await sql`UPDATE ${sql(table)} SET created_at = ${new Date(at)} WHERE created_at >= ${begun}`;
    }
  });
}

/** Seals what is dated up to then. */
const seal = (until: number) => sealNext(books.sql, Date.now() - until);

const findings = async () => {
  const verification = await verify(books.sql, [...bookChecks(), sealCheck(), archiveCheck], { pageSize: 7 });
  return verification.findings.map(({ kind, account, expected, found }) =>
    [kind, account ?? '-', `${expected}, found ${found}`].join(' '),
  );
};

/** Everything that an archive moves. */
const contents = async () => ({
  postings: (await books.owner`SELECT to_jsonb(p) AS row FROM ledger.postings p ORDER BY p::text`).map(
    ({ row }) => row,
  ),
  balances: [...(await books.owner`SELECT * FROM ledger.archived_balances ORDER BY account_id`)],
  archives: (await books.owner`SELECT to_jsonb(a) - 'created_at' AS row FROM ledger.archives a ORDER BY period`).map(
    ({ row }) => row,
  ),
});

const archive = (of: Month, options = {}) => archiveMonth(books.owner, books.book, of, folder, NGOZI, options);
const restore = (of: Month, options = {}) => restoreMonth(books.owner, books.book, of, folder, NGOZI, options);

/** Calls `work` again and again, each time interrupted after one call of `advance` more, until it ends. */
async function interrupted<Result>(
  work: (options: { postingsMax: number; advance: () => void }) => Promise<Result>,
  afterEachOne: () => Promise<unknown>,
): Promise<{ result: Result; interruptions: number }> {
  for (let interruptions = 0; ; interruptions += 1) {
    let calls = 0;
    const advance = (): void => {
      if (calls === interruptions % 7) throw new Error('killed');
      calls += 1;
    };
    try {
      return { result: await work({ postingsMax: 4, advance }), interruptions };
    } catch (error) {
      if ((error as Error).message !== 'killed') throw error;
      await afterEachOne();
    }
  }
}

/** Three months: of the first two three seals each, of which one reaches into the next month. */
beforeEach(async () => {
  books = await openBooks();
  folder = temporaryFolder();
  await books.owner`INSERT INTO organisations (organisation_id, name) VALUES (${books.book.organisationId}, 'Ada')`;
  [a, b] = [await newWallet(books), await newWallet(books)];
  for (const name of [FIRST, SECOND]) {
    const [start, end] = [startOfMonth(name), startOfMonth(name === FIRST ? SECOND : THIRD)];
    await post(start + 24 * HOUR_MS, 100, 200);
    await seal(start + 25 * HOUR_MS);
    await post(start + 48 * HOUR_MS, 300);
    await seal(start + 49 * HOUR_MS);
    await post(end - HOUR_MS / 2, 400);
    await post(end + HOUR_MS / 2, 500);
    await seal(end + HOUR_MS);
  }
  await post(startOfMonth(THIRD) + 24 * HOUR_MS, 600);
  await seal(startOfMonth(THIRD) + 25 * HOUR_MS);
  await books.asSuperuser((sql) => sql`UPDATE ledger.accounts SET created_at = ${new Date(startOfMonth(FIRST))}`);
  for (const name of [FIRST, SECOND]) {
    await closePeriod(books.sql, books.book, name, NGOZI);
  }
});

afterEach(() => books.close());

test('the postings of a month leave the database as whole seals, and their balances stay behind', async () => {
  const before = await contents();
  const reports = [startOfMonth(SECOND), startOfMonth(THIRD), Date.now()].map((time) => new Date(time));
  const balances = await Promise.all(reports.map((at) => trialBalance(books.sql, books.book, at)));
  expect(await findings()).toEqual([]);

  const { changed, files } = await archive(FIRST);
  expect(changed).toBe(true);
  // Three postings for each amount; the last ones of the month are in a seal that ends in the next one.
  expect(files.manifest).toMatchObject({
    format: 1,
    environment: 'test',
    period: FIRST,
    seals: { first: 1, last: 2, digestBefore: null },
    postings: 9,
    transactions: 9,
    accounts: 4,
    amount: '1203',
  });
  const after = await contents();
  expect(after.postings).toHaveLength(before.postings.length - 9);
  expect(after.archives).toMatchObject([
    { first_seal: 1, last_seal: 2, archived_seal: 2, moved_postings: 9, moved_transactions: 9 },
  ]);
  expect(await findings()).toEqual([]);
  // What is reported at the end of a day is from closing balances.
  expect(await Promise.all(reports.map((at) => trialBalance(books.sql, books.book, at)))).toEqual(balances);
  // The audit says who did it.
  expect(await books.owner`SELECT operator, subject FROM audit_log WHERE action = 'ledger.archive'`).toEqual([
    { operator: 'ngozi', subject: FIRST },
  ]);
  // A published copy of an archived seal is still compared.
  const [sealed] = await books.owner<{ sealedUntil: Date }[]>`SELECT sealed_until FROM ledger.seals WHERE number = 2`;
  const copy = {
    organisation: publicId('organisation', books.book.organisationId),
    environment: 'test' as const,
    number: 2,
    sealedUntil: sealed?.sealedUntil.toISOString() ?? '',
    postings: 3,
    amount: '601',
    digest: '00',
  };
  expect((await verify(books.sql, [sealCheck([copy])])).findings).toMatchObject([
    { kind: 'SEAL_MISMATCH', expected: expect.stringContaining('as published') },
  ]);
  // The next one begins where this one has ended.
  expect((await archive(SECOND)).files.manifest).toMatchObject({
    seals: { first: 3, last: 5, digestBefore: files.manifest.seals.digest },
    postings: 15,
  });
  expect(await findings()).toEqual([]);
  expect(await Promise.all(reports.map((at) => trialBalance(books.sql, books.book, at)))).toEqual(balances);
});

test('the file has every posting with its transaction and accounts, and the balances before and after', async () => {
  await archive(FIRST);
  const { files } = await archive(SECOND);
  const lines = gunzipSync(readFileSync(files.file)).toString('utf8').trim().split('\n');
  const parsed = lines.map((line) => JSON.parse(line));
  expect(parsed.filter(({ seal: number }) => number !== undefined).map(({ seal: number }) => number)).toEqual([
    5, 5, 5, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3,
  ]);
  expect(parsed[0]).toMatchObject({
    debit: expect.any(String),
    posting: { environment: 'test', amount: expect.any(Number), created_at: expect.stringMatching(/\+00:00$/) },
    transaction: { kind: 'test', key: expect.stringMatching(/^test\//) },
  });
  const accounts = parsed.filter(({ account }) => account !== undefined);
  expect(accounts.find(({ account }) => account === 'income:fees')).toMatchObject({
    opening: '3',
    closing: '8',
    entries: { first: 4, last: 8 },
  });
  expect(readdirSync(folder).toSorted()).toEqual(
    [FIRST, SECOND].flatMap((name) => [`${name}.json`, `${name}.ndjson.gz`]).map((end) => expect.stringContaining(end)),
  );
});

test('an archive that is killed anywhere is completed by the next run, with the same file, and verify is whole between', async () => {
  const whole = await archive(FIRST);
  const expected = { ...(await contents()), file: readFileSync(whole.files.file) };
  await restore(FIRST);
  const { interruptions } = await interrupted(
    (options) => archive(FIRST, options),
    async () => expect(await findings()).toEqual([]),
  );
  expect(interruptions).toBeGreaterThan(2);
  expect({ ...(await contents()), file: readFileSync(whole.files.file) }).toEqual(expected);
  expect(await archive(FIRST)).toMatchObject({ changed: false, postings: 9 });
  expect(await contents()).toEqual({ ...expected, file: undefined });
});

test('a restore that is killed anywhere is completed by the next run, and the postings are as they were', async () => {
  const before = await contents();
  await archive(FIRST);
  const between = await contents();
  await archive(SECOND);
  await interrupted(
    (options) => restore(SECOND, options),
    async () => expect(await findings()).toEqual([]),
  );
  expect(await contents()).toEqual(between);
  await interrupted(
    (options) => restore(FIRST, options),
    async () => expect(await findings()).toEqual([]),
  );
  expect(await contents()).toEqual(before);
  expect(await restore(FIRST)).toEqual({ changed: false });
  expect(await findings()).toEqual([]);
});

test('months are archived in their order, when they are closed, sealed and old, and restored from the last one back', async () => {
  const outcome = async (of: Month) => (await planArchive(books.owner, books.book, of)).outcome;
  expect(await outcome(FIRST)).toBe('ready');
  expect(await planArchive(books.owner, books.book, SECOND)).toMatchObject({ outcome: 'not_next', nextPeriod: FIRST });
  expect(await outcome(THIRD)).toBe('not_closed');
  await post(startOfMonth(THIRD) + 48 * HOUR_MS, 700);
  expect(await closePeriod(books.sql, books.book, THIRD, NGOZI)).toMatchObject({ outcome: 'closed' });
  for (const name of [monthAgo(4), monthAgo(3), monthAgo(2), monthAgo(1)])
    await closePeriod(books.sql, books.book, name, NGOZI);
  expect(await outcome(monthAgo(1))).toBe('too_recent');
  await archive(FIRST);
  expect(await outcome(FIRST)).toBe('archived');
  await archive(SECOND);
  expect(await outcome(THIRD)).toBe('unsealed');
  await seal(startOfMonth(THIRD) + 49 * HOUR_MS);
  expect(await outcome(THIRD)).toBe('ready');
  expect(await outcome(monthAgo(4))).toBe('not_next');
  await expect(restore(FIRST)).rejects.toThrow(`First: npm run cli -- ledger restore ${SECOND}`);
});

describe('a file that was changed', () => {
  const changes: [string, (files: { file: string; manifestFile: string }) => void, RegExp][] = [
    ['the first byte', ({ file }) => flip(file, 0), /was changed/],
    ['a byte of the header that no reader looks at', ({ file }) => flip(file, 9), /was changed/],
    ['a byte in the middle', ({ file }) => flip(file, Math.floor(readFileSync(file).length / 2)), /was changed/],
    ['the last byte', ({ file }) => flip(file, readFileSync(file).length - 1), /was changed/],
    ['a byte of the manifest', ({ manifestFile }) => flip(manifestFile, 40), /is not the manifest of this archive/],
    [
      'another manifest',
      ({ manifestFile }) => writeFileSync(manifestFile, '{}'),
      /is not the manifest of this archive/,
    ],
  ];
  function flip(file: string, position: number): void {
    const bytes = readFileSync(file);
    bytes[position] = (bytes[position] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  }

  test.each(changes)('in %s is refused, and nothing is restored', async (_, change, message) => {
    const { files } = await archive(FIRST);
    const before = await contents();
    change(files);
    await expect(restore(FIRST)).rejects.toThrow(message);
    expect(await contents()).toEqual(before);
    const [listed] = await listArchives(books.sql, books.book.organisationId, folder);
    expect(listed).toMatchObject({
      period: FIRST,
      postings: 9,
      moved: 9,
      files: { damage: expect.stringMatching(message) },
    });
  });

  test('together with the manifest and its digest in the database is refused by the seals', async () => {
    const { files } = await archive(FIRST);
    const before = await contents();
    const text = gunzipSync(readFileSync(files.file)).toString('utf8').replaceAll('"amount":300', '"amount":301');
    const bytes = gzipSync(text);
    writeFileSync(files.file, bytes);
    const manifest = JSON.stringify({
      ...files.manifest,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    writeFileSync(files.manifestFile, manifest);
    const digest = createHash('sha256').update(manifest).digest();
    await books.asSuperuser((sql) => sql`UPDATE ledger.archives SET manifest_digest = ${digest}`);
    expect(await restore(FIRST).then(() => null, violatedCheck)).toBe('archive_has_its_seals');
    expect((await contents()).postings).toEqual(before.postings);
  });

  test('or is missing, ends an archive that goes on, before it moves more', async () => {
    await expect(
      archive(FIRST, {
        postingsMax: 1,
        advance: (() => {
          let calls = 0;
          return () => {
            calls += 1;
            if (calls === 3) throw new Error('killed'); // after two seals were written and one was moved
          };
        })(),
      }),
    ).rejects.toThrow('killed');
    const before = await contents();
    expect(before.archives).toMatchObject([{ archived_seal: 1, last_seal: 2 }]);
    const home = folder;
    folder = temporaryFolder();
    await expect(archive(FIRST)).rejects.toThrow('Name the folder that the archive was written to');
    expect(await contents()).toEqual(before);
    folder = home;
    expect(await archive(FIRST)).toMatchObject({ changed: true });
  });
});

describe('what verify finds', () => {
  beforeEach(async () => {
    await archive(FIRST);
  });

  test('an archived balance that was changed, also together with the balance of its account', async () => {
    await books.asSuperuser(async (sql) => {
      await sql`
        UPDATE ledger.archived_balances b SET balance = b.balance + 5 FROM ledger.accounts a
        WHERE b.organisation_id = a.organisation_id AND b.account_id = a.id AND a.code = ${a}`;
      await sql`
        UPDATE ledger.archived_balances b SET balance = b.balance - 5 FROM ledger.accounts a
        WHERE b.organisation_id = a.organisation_id AND b.account_id = a.id AND a.code = ${RAIL}`;
    });
    expect(await findings()).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`BALANCE_MISMATCH ${a}`),
        'ARCHIVE_MISMATCH - the balances that the last archive has left, found other balances',
      ]),
    );
  });

  test('an archived transaction that was deleted', async () => {
    await books.asSuperuser(async (sql) => {
      const { organisationId } = books.book;
      const [archived] = await sql<{ id: string }[]>`
        SELECT id FROM ledger.transactions t WHERE organisation_id = ${organisationId} AND NOT EXISTS (
          SELECT FROM ledger.postings p WHERE p.organisation_id = t.organisation_id AND p.transaction_id = t.id) LIMIT 1`;
      await sql`DELETE FROM ledger.transactions WHERE organisation_id = ${organisationId} AND id = ${archived?.id ?? ''}`;
    });
    expect(await findings()).toEqual(['ARCHIVE_MISMATCH - 9 transactions whose postings are archived, found 8']);
  });

  test('an archive that was deleted', async () => {
    await archive(SECOND);
    await books.asSuperuser((sql) => sql`DELETE FROM ledger.archives WHERE period = ${`${FIRST}-01`}::date`);
    expect(await findings()).toEqual(
      expect.arrayContaining([
        'ARCHIVE_MISMATCH - an archive that begins with seal 1, found an archive that begins with seal 3',
      ]),
    );
  });

  test('a posting that was deleted, but not archived', async () => {
    await books.asSuperuser((sql) => sql`DELETE FROM ledger.postings WHERE amount = 600`);
    expect(await findings()).toEqual(
      expect.arrayContaining([expect.stringContaining('TRANSACTION_EMPTY'), expect.stringContaining('SEAL_MISMATCH')]),
    );
  });
});

test('a verification during which postings are archived and restored finds nothing', async () => {
  let moves = 0;
  let isMoving = false;
  const checks = [...bookChecks(), sealCheck(), archiveCheck];
  const moving: Promise<unknown>[] = [];
  const onProgress = (): void => {
    if (isMoving || moves === 6) return;
    isMoving = true;
    moves += 1;
    const work = moves % 2 === 1 ? archive(FIRST, { postingsMax: 1 }) : restore(FIRST, { postingsMax: 1 });
    moving.push(
      work.finally(() => {
        isMoving = false;
      }),
    );
  };
  // Repeated until there was one of each: a move may take as long as a verification.
  do {
    const verification = await verify(books.sql, checks, { pageSize: 3, jobs: 2, onProgress });
    expect(verification.findings).toEqual([]);
    await Promise.all(moving);
  } while (moves < 2);
});

test('not even the owner may delete a posting that is not archived', async () => {
  await archive(FIRST);
  await expect(books.owner`DELETE FROM ledger.postings WHERE amount = 600`).rejects.toMatchObject({ code: '42501' });
  await expect(
    books.sql`SELECT ledger.move_to_archive(${books.book.organisationId}, 'test', now()::date, 1)`,
  ).rejects.toMatchObject({
    code: '42501',
  });
});

test('a report that needs archived postings fails and says so; one at the end of a day does not', async () => {
  await archive(FIRST);
  const middle = new Date(startOfMonth(FIRST) + 30 * HOUR_MS);
  await expect(trialBalance(books.sql, books.book, middle)).rejects.toThrow('are archived');
  await expect(reportAccount(books.sql, books.book, a, { from: middle, to: new Date() })).rejects.toThrow(
    'are archived',
  );
  const later = { from: new Date(startOfMonth(THIRD)), to: new Date() };
  expect(await reportAccount(books.sql, books.book, b, later)).toMatchObject({ opening: 2_491, closing: 3_589 });
});
