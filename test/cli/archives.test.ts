// `ledger archive | restore | archives`: the commands, killed in the middle too, and refusals that say what to do.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { type Books, createSettlementWallets, expectPosted, move, openBooks } from '../ledger/books.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { monthAgo, postedInMonth } from '../support/pastMonths.ts';
import { type Ended, runCli } from './run.ts';

const MONTH = monthAgo(6);
const folder = temporaryFolder();
let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
  const [a, b] = [await api.createWallet(api.test, { balance: 1_000 }), await api.createWallet(api.test)];
  for (let count = 0; count < 3; count += 1) {
    await api.test.money(`/wallets/${a}/transfer`, { amount: 10, destinationWalletId: b });
  }
  await postedInMonth(api.databaseUrl, { ...api.organisation, environment: 'test' }, MONTH);
});

afterAll(() => api.close());

const ledger = (...words: string[]): Promise<Ended> =>
  runCli(['ledger', ...words], { databaseUrl: api.databaseUrl, home: folder });
const moveMonth = (command: string, month = MONTH, ...words: string[]): Promise<Ended> =>
  ledger(command, month, '--environment', 'test', '--folder', path.join(folder, 'archive'), ...words);

test('a month is archived, listed, and restored; repeating each changes nothing', async () => {
  const archived = await moveMonth('archive', MONTH, '--json');
  expect(archived.errors).toBe('');
  const { file, manifest, ...rest } = JSON.parse(archived.output);
  expect(rest).toEqual({ period: MONTH, environment: 'test', changed: true, postings: 4 });
  expect(path.basename(file)).toBe(
    `${publicId('organisation', api.organisation.organisationId)}-test-${MONTH}.ndjson.gz`,
  );
  expect(JSON.parse(readFileSync(manifest, 'utf8'))).toMatchObject({ postings: 4, period: MONTH });
  expect((await moveMonth('archive')).output).toContain(`The postings of ${MONTH} are archived: 4 postings`);
  expect(JSON.parse((await ledger('verify', '--json')).output)).toMatchObject({
    findings: [],
    transactions: 4,
    postings: 0,
  });

  const list = ['archives', '--folder', path.join(folder, 'archive')];
  expect(await ledger(...list)).toMatchObject({ exitCode: 0, output: expect.stringContaining('unchanged') });
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(1));
  expect(await ledger(...list)).toMatchObject({ exitCode: 1, output: expect.stringContaining('was changed') });
  expect(await moveMonth('restore')).toMatchObject({
    exitCode: 1,
    errors: expect.stringContaining('Take another copy'),
  });
  writeFileSync(file, bytes);

  expect(JSON.parse((await moveMonth('restore', MONTH, '--json')).output)).toMatchObject({
    changed: true,
    postings: 4,
  });
  expect((await moveMonth('restore')).output).toBe(`${MONTH} is not archived.\n`);
  expect((await ledger('archives')).output).toBe('Nothing is archived.\n');
  expect(JSON.parse((await ledger('verify', '--json')).output)).toMatchObject({ findings: [], postings: 4 });
});

test.each([
  ['a month that is not closed', monthAgo(5), 1, /is not closed. First: npm run cli -- ledger close-period/],
  ['what is no month', '2026-13', 2, /Write it as 2026-11/],
])('%s is refused', async (_, month, exitCode, message) => {
  expect(await moveMonth('archive', month)).toEqual({ exitCode, output: '', errors: expect.stringMatching(message) });
});

test('books with violations are not archived', async () => {
  const books: Books = await openBooks();
  const home = temporaryFolder();
  await createSettlementWallets(books);
  // Of no resource.
  await expectPosted(books.journal.post(move(books.book, 'clearing:sandbox', 'income:fees', 5)));
  await postedInMonth(books.url, books.book, MONTH);
  const words = ['ledger', 'archive', MONTH, '--environment', 'test', '--folder', home];
  const ended = await runCli(words, { databaseUrl: books.url, home });
  expect(ended).toMatchObject({ exitCode: 1, errors: expect.stringContaining('nothing was archived') });
  expect(await books.owner`SELECT FROM ledger.archives`).toHaveLength(0);
  await books.close();
});
