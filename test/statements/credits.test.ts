// The credits of a payment or wallet are found by index: a page reads its own rows and their review cases only, however
// many credits exist, and the payers are one read of the payment's credits.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { findPayers } from '../../src/resources/inboundCredits/queries.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { addCredits } from '../support/credits.ts';

/** Far more than a page may read. */
const ROWS = 3_000;
const PAGE = 20;

let api: TestApi;
let paths: string[];
let paymentId: string;

beforeAll(async () => {
  // One connection, whose statistics the test reads.
  api = await startTestApi({ settings: { DATABASE_CONNECTIONS_MAX: '1' } });
  const owners = await Promise.all([api.createWallet(), api.createWallet()]);
  const bill = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: owners[0] };
  const payments = await Promise.all([api.test.money('/payments', bill), api.test.money('/payments', bill)]);
  paymentId = payments[0].data.id;
  for (const [index, owner] of owners.entries()) await addCredits(api, 'wallet', owner, index === 0 ? 10 * PAGE : ROWS);
  for (const [index, { data }] of payments.entries()) {
    await addCredits(api, 'payment', data.id, index === 0 ? 10 * PAGE : ROWS);
  }
  await api.sql`ANALYZE inbound_credits, review_cases`;
  paths = [`/payments/${paymentId}/credits`, `/wallets/${owners[0]}/deposits`];
});

afterAll(() => api.close());

/** Rows of both tables read by the database so far, by scan or index. */
async function rowsRead(): Promise<Record<string, number>> {
  await api.dependencies.sql`SELECT pg_stat_force_next_flush()`;
  const rows = await api.sql<{ name: string; rows: number }[]>`
    SELECT relname AS name, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_all_tables
    WHERE relid IN ('inbound_credits'::regclass, 'review_cases'::regclass)`;
  return Object.fromEntries(rows.map(({ name, rows: read }) => [name, read]));
}

/** The rows of each table that this work read. */
async function readBy(work: () => Promise<unknown>): Promise<{ credits: number; cases: number }> {
  const before = await rowsRead();
  await work();
  const after = await rowsRead();
  const difference = (name: string) => (after[name] ?? Number.NaN) - (before[name] ?? Number.NaN);
  return { credits: difference('inbound_credits'), cases: difference('review_cases') };
}

test.each([0, 1])('a page of credits or deposits reads its own rows only (list %i)', async (list) => {
  const path = paths[list] ?? '';
  const { nextCursor } = (await api.test.get(`${path}?limit=${PAGE}`)).pagination;
  for (const query of [`limit=${PAGE}`, `cursor=${nextCursor}`]) {
    const read = await readBy(() => api.test.get(`${path}?${query}`));
    expect(read.credits).toBeGreaterThanOrEqual(PAGE);
    expect(read.credits).toBeLessThanOrEqual(2 * (PAGE + 1));
    expect(read.cases).toBeLessThanOrEqual(2 * (PAGE + 1));
  }
});

test('the payers of a payment are read from its own credits only', async () => {
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  const find = () => findPayers(api.dependencies.sql, book, requireUuid('payment', paymentId), 100);
  expect(await find()).toEqual([expect.objectContaining({ accountNumber: '0123456789', bankCode: '058' })]);
  const { credits } = await readBy(find);
  expect(credits).toBeGreaterThan(0);
  expect(credits).toBeLessThanOrEqual(10 * PAGE);
});
