// Requests for entries that are archived: what can be answered is as before, and everything else is an error that says
// up to when; nothing is left out.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { archiveMonth, restoreMonth } from '../../src/ledger/archive.ts';
import type { Book } from '../../src/money.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';
import { monthAgo, postedInMonth, startOfMonth } from '../support/pastMonths.ts';

const MONTH = monthAgo(6);
const MIDDLE = new Date(startOfMonth(MONTH) + 26.5 * 3_600_000).toISOString();
const AFTER = new Date(startOfMonth(monthAgo(5))).toISOString();

let api: TestApi;
let book: Book;
let [source, destination] = ['', ''];
let oldTransactionId = '';
const folder = temporaryFolder();

const transfer = () => api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId: destination });

/** What callers ask about the wallet; only the first three can be answered while the month is archived. */
const questions = () =>
  [
    `/wallets/${source}/balance`,
    `/wallets/${source}/balance?at=${AFTER}`,
    `/wallets/${source}/transactions?createdAtFrom=${AFTER}`,
    `/wallets/${source}/balance?at=${MIDDLE}`,
    `/wallets/${source}/transactions?createdAtTo=${AFTER}`,
    `/wallets/${source}/transactions?createdAtFrom=${MIDDLE}&createdAtTo=${AFTER}`,
    `/transfers?sourceWalletId=${source}&createdAtTo=${AFTER}`,
    `/transactions/${oldTransactionId}`,
  ] as const;
const ask = async (path: string) => {
  const { status, text, error } = await api.test.get(path);
  const { meta: _, ...body } = JSON.parse(text);
  return { status, body, code: error?.code };
};

beforeAll(async () => {
  api = await startTestApi();
  book = { organisationId: api.organisation.organisationId, environment: 'test' };
  source = await api.createWallet(api.test, { balance: 1_000 });
  destination = await api.createWallet(api.test);
  for (let count = 0; count < 3; count += 1) await transfer();
  const { items } = await api.test.get(`/wallets/${source}/transactions`);
  oldTransactionId = String(items[0]?.transactionId);
  await postedInMonth(api.databaseUrl, book, MONTH);
  for (let count = 0; count < 2; count += 1) await transfer();
});

afterAll(() => api.close());

const operator = { id: OPERATORS.ngozi.id, name: 'ngozi' };

test('old entries are answered or refused, and are answered again when they are restored', async () => {
  const before = await Promise.all(questions().map(ask));
  expect(before.map(({ status }) => status)).toEqual(questions().map(() => 200));
  await archiveMonth(api.sql, book, MONTH, folder, operator);
  expect((await verifyBooks(api.sql)).findings).toEqual([]);

  const during = await Promise.all(questions().map(ask));
  expect(during.slice(0, 3)).toEqual(before.slice(0, 3));
  for (const { status, code, body } of during.slice(3)) {
    expect([status, code]).toEqual([422, 'ENTRIES_ARCHIVED']);
    expect(Date.parse(body.error.details.archivedUntil)).toBeLessThan(Date.parse(AFTER));
  }

  // A list goes on to the archive and not over it.
  for (const path of [`/wallets/${source}/transactions`, `/transfers?sourceWalletId=${source}`]) {
    const page = await api.test.get(path);
    expect([page.items.length, page.pagination.hasMore]).toEqual([2, true]);
    const cursor = new URLSearchParams({ cursor: page.pagination.nextCursor ?? '' });
    expect((await api.test.get(`${path.split('?')[0]}?${cursor.toString()}`)).error.code).toBe('ENTRIES_ARCHIVED');
    expect((await api.test.file(path)).text).toContain('ENTRIES_ARCHIVED');
    const since = `${path}${path.includes('?') ? '&' : '?'}createdAtFrom=${AFTER}`;
    expect((await api.test.get(since)).pagination.hasMore).toBe(false);
    expect((await api.test.file(since)).text.trim().split('\r\n')).toHaveLength(3);
  }
  // All transfers are resources, which stay.
  expect((await api.test.get('/transfers')).items).toHaveLength(5);

  await restoreMonth(api.sql, book, MONTH, folder, operator);
  expect(await Promise.all(questions().map(ask))).toEqual(before);
  expect((await verifyBooks(api.sql)).findings).toEqual([]);
});
