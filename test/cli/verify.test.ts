// `ledger verify --resume`: an interrupted verification goes on where it stopped, in its own database only.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { checkpointFile } from '../../src/cli/checkpointFile.ts';
import type { Checkpoint } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { newWallet, openBooks } from '../ledger/books.ts';
import { runCli } from './run.ts';

const books = await openBooks();
const home = await mkdtemp(path.join(tmpdir(), 'manilla-verify-'));
const file = path.join(home, 'checkpoint.json');
await newWallet(books, { balance: 1_000 });

afterAll(async () => {
  await books.close();
  await rm(home, { recursive: true });
});

const verify = () =>
  runCli(['ledger', 'verify', '--json', '--jobs', '2', '--resume', file], { databaseUrl: books.url, home });

/** The checkpoint after this check, which is the first to be complete. */
async function checkpointAfter(check: string): Promise<Checkpoint> {
  let found: Checkpoint | undefined;
  await verifyBooks(books.sql, {
    onProgress: ({ checkpoint }) => {
      if (checkpoint?.checks[check]?.isDone) found ??= structuredClone(checkpoint);
    },
  });
  if (found === undefined) throw new Error(`no checkpoint after ${check}`);
  return found;
}

test('a verification goes on after what its file says was checked, and removes the file when it is complete', async () => {
  checkpointFile(file, books.url).save(await checkpointAfter('resources 1 of 2'));
  // The movements of these tests have no resource. What the run before has counted as checked is not read again.
  const before = JSON.parse(readFileSync(file, 'utf8'));
  before.checkpoint.counts.books = 41;
  writeFileSync(file, JSON.stringify(before));
  const resumed = await verify();
  expect(JSON.parse(resumed.output)).toMatchObject({ books: 42, postings: 1, transactions: 1 });
  expect(existsSync(file)).toBe(false);
  expect(JSON.parse((await verify()).output)).toMatchObject({ books: 1, postings: 1, transactions: 1 });
});

test('a file of half a day ago is of no use', async () => {
  checkpointFile(file, books.url).save({ ...(await checkpointAfter('resources 1 of 2')), organisationId: '' });
  const content = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...content, savedAt: new Date(Date.now() - 13 * 3_600_000).toISOString() }));
  expect(JSON.parse((await verify()).output)).toMatchObject({ books: 1, postings: 1 });
});

test.each([
  [
    'the checkpoint of a database of other servers',
    () => checkpointFile(file, 'postgres://u:p@a:1,b:2/x').save({} as Checkpoint),
  ],
  ['the checkpoint of another database', () => checkpointFile(file, 'postgres://h/other').save({} as Checkpoint)],
  ['no checkpoint', () => writeFileSync(file, 'nonsense')],
])('a file with %s is refused', async (_, write) => {
  write();
  expect(await verify()).toMatchObject({
    exitCode: 1,
    errors: expect.stringContaining('is not of a verification of this database'),
  });
});
