// Times in a query: each is either parsed or rejected with 400 and a hint, and Postgres never receives one that it
// cannot hold.

import { afterAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/api/route.ts';
import { startTestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { isList, pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();
/** Resources whose lists are requested. */
const walletId = await api.createWallet(api.test, { balance: 100 });
const bill = { method: 'virtual_wallet', baseAmount: 100, targetWalletId: await api.createWallet() };
const paymentId = (await api.test.money('/payments', bill)).data.id;
await api.test.money(`/wallets/${walletId}/pay`, { paymentId });
const endpointId = (await api.test.post('/webhook-endpoints', { url: 'https://receiver.test.example/' })).data.id;
const eventId = (await api.test.get('/events?limit=1')).items[0]?.id ?? '';

afterAll(() => api.close());

const ownerOf = (path: string): string => {
  if (path.startsWith('/wallets')) return walletId;
  if (path.startsWith('/payments')) return paymentId;
  return path.startsWith('/webhook-endpoints') ? endpointId : eventId;
};

/** Not of the items of a payout, which have no times of their own, nor of a search. */
const isTimed = (route: Route): boolean => isList(route) && !['/payouts/:id/items', '/search'].includes(route.path);

/** Every query parameter that is a time. */
const PLACES = [
  ...routeCases(isTimed).flatMap(({ name, route }) =>
    ['createdAtFrom', 'createdAtTo'].map((field) => ({
      title: `${name} ${field}`,
      path: () => pathOf(route, ownerOf(route.path)),
      field,
    })),
  ),
  { title: 'GET /wallets/:id/balance at', path: () => `/wallets/${walletId}/balance`, field: 'at' },
];

/** ISO 8601 times outside the range of Postgres or of four-digit years. */
const OUT_OF_RANGE = [
  '0000-01-01T00:00:00Z',
  '0000-12-31T23:59:59.999Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '9999-12-31T23:59:59-23:59',
];
const WITHOUT_OFFSET = ['2026-01-01', '2026-01-01T00:00:00', '2026-01-01T00:00:00 01:00', '2026-01-01 00:00:00Z'];
const IN_RANGE = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-01-01T00:00:00+23:59'];

describe.each(PLACES)('$title', ({ path, field }) => {
  const send = (time: string) => api.test.get(`${path()}?${field}=${encodeURIComponent(time)}`);

  test.each(OUT_OF_RANGE)('the time %s is 400 because its year is before 0001 or after 9999', async (time) => {
    const { status, error } = await send(time);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([
      { field, code: 'invalid_string', message: expect.stringContaining('9999'), constraint: { format: 'datetime' } },
    ]);
  });

  test.each(WITHOUT_OFFSET)('the time %s is 400 with a hint on the format', async (time) => {
    const { status, error } = await send(time);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([
      {
        field,
        code: 'invalid_string',
        message: expect.stringMatching(/offset \(RFC 3339\).*%2B/),
        constraint: { format: 'datetime' },
      },
    ]);
  });

  test.each(IN_RANGE)('the time %s is accepted', async (time) => {
    expect((await send(time)).status).toBe(200);
  });

  test('an unencoded + arrives as a space, and the error asks for it to be encoded', async () => {
    const { error } = await api.test.get(`${path()}?${field}=2026-01-01T00:00:00+01:00`);
    expect(error.details.fields).toEqual([expect.objectContaining({ message: expect.stringContaining('%2B') })]);
  });
});

test('the table of time parameters covers every list', () => {
  expect(PLACES.length).toBeGreaterThan(2 * 10);
});

test('a value that Postgres cannot parse (SQLSTATE class 22) is 400, without retries and without the value in the log', async () => {
  const failInPostgres = async (): Promise<never> => {
    await api.dependencies.sql`SELECT ${'0000-01-01T00:00:00Z'}::text::timestamptz`;
    throw new Error('Postgres accepted the value');
  };
  await api.withAnother({ rails: changedRail(() => ({ banks: failInPostgres })) }, async (faulty) => {
    const { status, error, requestId } = await faulty.client(api.test.key).get('/banks');
    expect([status, error.code, error.details]).toEqual([400, 'VALIDATION_FAILED', { fields: [] }]);
    const lines = faulty.logged.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId);
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('Postgres'), sqlState: '22008' }),
    );
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
    expect(JSON.stringify(lines)).not.toContain('0000-01-01');
  });
});
