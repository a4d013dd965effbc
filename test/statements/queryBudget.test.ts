// The database cost of a request: the statements that each route sends, counted at the driver, against its budget in
// budgets.json. A list costs the same with one row as with a hundred.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KEY_CACHE_MS } from '../../src/api/admission/apiKeys.ts';
import { startTestApi } from '../support/api.ts';
import { recordStatements, type SentStatement } from '../support/queryRecorder.ts';
import { isList, routeCases } from '../support/routes.ts';
import { fillLists, goodRequests, ROWS, type Send } from './requests.ts';

/** Time for creating a hundred payouts, payments and refunds first. */
const FILLING_LIMIT_MS = 120_000;

/**
 * `rate`: the rate limit and the look-up of the Idempotency-Key, in one statement with asynchronous commit. `reads`:
 * queries. `durable`: statements whose commit waits for the disk. `bank`: those of the sandbox bank, in place of calls
 * to a provider. Neither the look-ups of the API key and of fees, which are cached, nor the request log is counted.
 */
type Cost = Record<'rate' | 'reads' | 'durable' | 'bank', number>;

const BUDGETS: Record<string, Cost> = JSON.parse(readFileSync(new URL('budgets.json', import.meta.url), 'utf8'));

const api = await startTestApi();
/** Returns the statements since its last call. */
const takeStatements = recordStatements([api.dependencies.sql, api.dependencies.asyncCommitSql]);

afterAll(() => api.close());

function kindOf({ text, synchronousCommit }: SentStatement): keyof Cost | 'key' | 'fees' | 'log' {
  if (/\bsandbox_bank\./.test(text)) return 'bank';
  if (/FROM api_keys k JOIN api_keys b /.test(text)) return 'key';
  if (/FROM fee_schedules\b/.test(text)) return 'fees';
  if (synchronousCommit === 'off') {
    if (/INTO rate_counters\b/.test(text)) return 'rate';
    if (/INTO request_logs\b/.test(text)) return 'log'; // of earlier requests, once a second
    if (/^\s*SELECT\b/.test(text)) return 'reads'; // health: a read without a commit
    throw new Error(`unexpected statement with asynchronous commit: ${text}`);
  }
  return /\b(INSERT|UPDATE|DELETE)\b|\bledger\.(?!metadata_terms)\w+\(/.test(text) ? 'durable' : 'reads';
}

/** Sends a request and returns the statements that it sent to the database. Its API key is in the cache. */
async function statementsOf(send: Send, successful = true): Promise<SentStatement[]> {
  await api.test.get('/fees/quote'); // caches the API key
  takeStatements();
  const answer = await send();
  const sent = takeStatements().filter((statement) => kindOf(statement) !== 'log');
  if (answer.status >= 400 === successful) throw new Error(`unexpected response: ${answer.text}`);
  return sent;
}

function costOf(statements: SentStatement[]): Cost {
  const cost: Cost = { rate: 0, reads: 0, durable: 0, bank: 0 };
  for (const statement of statements) {
    const kind = kindOf(statement);
    if (kind in cost) cost[kind as keyof Cost] += 1;
  }
  return cost;
}

describe('budgets of routes', () => {
  test.each(routeCases())('$name sends the statements of its budget', async ({ name }) => {
    const prepare = goodRequests(api)[name];
    if (prepare === undefined) throw new Error(`give a good request of ${name} in test/statements/requests.ts`);
    expect(costOf(await statementsOf(await prepare()))).toEqual(BUDGETS[name]);
  });

  test('every route has a budget, and no unknown one', () => {
    expect(Object.keys(BUDGETS).toSorted()).toEqual(
      routeCases()
        .map(({ name }) => name)
        .toSorted(),
    );
  });
});

describe('budgets of lists', () => {
  let full: Record<string, Send>;
  beforeAll(async () => {
    const organisation = await api.createOrganisation();
    full = await fillLists(api, organisation);
    await organisation.test.get('/fees/quote');
  }, FILLING_LIMIT_MS);

  /** Lists that accept a limit. Banks are one page and come from the rail, not from the database. */
  const lists = routeCases(isList);

  test.each(lists)(`$name sends the same statements with ${ROWS} rows`, async ({ name }) => {
    const send = full[name];
    if (send === undefined) throw new Error(`fill ${name} in test/statements/requests.ts`);
    takeStatements();
    const answer = await send();
    expect(answer.items).toHaveLength(ROWS);
    expect(costOf(takeStatements())).toEqual(BUDGETS[name]);
  });

  test('every list is filled', () => {
    expect(Object.keys(full).toSorted()).toEqual(lists.map(({ name }) => name).toSorted());
  });
});

describe('statements of a transfer', () => {
  const transfer = async (): Promise<Send> => (await goodRequests(api)['POST /wallets/:id/transfer']?.()) as Send;

  test('a transfer sends one durable statement, the posting, and no reads', async () => {
    const sent = await statementsOf(await transfer());
    expect(sent.filter(({ synchronousCommit }) => synchronousCommit === 'on').map(({ text }) => text)).toEqual([
      expect.stringContaining('FROM ledger.post'),
    ]);
    expect(costOf(sent)).toEqual({ rate: 1, reads: 0, durable: 1, bank: 0 });
  });

  test('a refused transfer sends one more durable statement, which stores the refusal for its Idempotency-Key', async () => {
    const [source, destinationWalletId] = [await api.createWallet(), await api.createWallet()];
    const refused = () => api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId });
    // The first refusal after a while costs an additional statement that is rolled back.
    await refused();
    const sent = await statementsOf(refused, false);
    expect(costOf(sent)).toEqual({ rate: 1, reads: 0, durable: 2, bank: 0 });
    expect(sent.at(-1)).toMatchObject({ text: expect.stringContaining('idempotency_keys'), synchronousCommit: 'on' });
  });

  test('a repeated transfer sends no durable statement: its key is known, and the stored response is read', async () => {
    const [source, destinationWalletId] = [await api.createWallet(api.test, { balance: 10 }), await api.createWallet()];
    const send = () => api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId }, 'again');
    const first = await statementsOf(send);
    const second = await statementsOf(send);
    expect([costOf(first), costOf(second)]).toEqual([
      { rate: 1, reads: 0, durable: 1, bank: 0 },
      { rate: 1, reads: 1, durable: 0, bank: 0 },
    ]);
  });

  test('a hundred concurrent transfers share their statements', async () => {
    const sends = await Promise.all(Array.from({ length: ROWS }, transfer));
    takeStatements();
    await Promise.all(sends.map((send) => send()));
    const { rate, durable, reads } = costOf(takeStatements());
    expect(reads).toBe(0);
    for (const shared of [rate, durable]) expect(shared).toBeLessThan(ROWS / 2);
  });
});

test('an API key is looked up once for many requests, and never if it is malformed or of the other environment', async () => {
  // The log of earlier requests is written once a second, and fees are read again after some.
  const take = () => takeStatements().filter((statement) => !['log', 'fees'].includes(kindOf(statement)));
  const { key } = await api.createKey(api.organisation.organisationId);
  const caller = api.client(key);
  take();
  for (let count = 0; count < 3; count += 1) await caller.get('/fees/quote');
  const sent = take();
  const lookUps = sent.filter((statement) => kindOf(statement) === 'key');
  expect(sent.filter((statement) => kindOf(statement) === 'rate')).toHaveLength(3);
  expect(sent).toHaveLength(3 + lookUps.length);
  // Once, and again only where the three took longer than a key is kept, as on a busy machine.
  const [first, ...later] = lookUps.map(({ atMs }) => atMs);
  expect(sent[0]?.atMs).toBe(first);
  for (const [index, atMs] of later.entries()) {
    expect(atMs - (lookUps[index]?.atMs ?? 0)).toBeGreaterThanOrEqual(KEY_CACHE_MS);
  }
  await api.client('nonsense').get('/wallets');
  await api.client(api.live.key).get('/wallets');
  await api.client(null).get('/wallets');
  expect(take()).toEqual([]);
});
