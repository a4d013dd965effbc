// One time in each list: within a period, the rows are exactly those that are shown with a `createdAt` in it, its
// beginning included and its end not, on pages and in exports, also of rows that were made at once; and `balance?at=`
// is the sum of the statement.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mapAtMost } from '../../src/concurrency/mapAtMost.ts';
import { type Resource, startTestApi } from '../support/api.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** More than a page of 100. */
const COUNT = 110;
const AT_ONCE = Array.from({ length: COUNT }, (_, index) => index);

const organisation = await api.createOrganisation();
const client = organisation.test;
const source = await api.createWallet(client, { balance: 10_000_000 });
const destination = await api.createWallet(client);
// At most so many rows of a kind at once, so that none waits longer than a request may on a busy machine.
const accepted = (
  await mapAtMost(40, AT_ONCE, (index) =>
    Promise.all([
      client.money(`/wallets/${source}/transfer`, { destinationWalletId: destination, amount: index + 1 }),
      client.money('/payments', { method: 'virtual_wallet', baseAmount: index + 1, targetWalletId: destination }),
      client.money(`/wallets/${source}/withdraw`, { amount: 100, accountNumber: '0123456789', bankCode: '058' }),
      client.money('/payouts', {
        sourceWalletId: source,
        items: [{ amount: 100, bankAccount: { accountNumber: '0123456789', bankCode: '058' } }],
      }),
      client.post('/wallets', { email: `customer${index}@test.example` }),
    ]),
  )
).flat();

/** All rows of a list, over its pages. */
async function rowsOf(path: string): Promise<Resource[]> {
  const rows: Resource[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { items, pagination }: Awaited<ReturnType<typeof client.get>> = await client.get(
      `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor && `&cursor=${cursor}`}`,
    );
    rows.push(...items);
    cursor = pagination.nextCursor;
  }
  return rows;
}

const LISTS = [
  '/transfers',
  `/transfers?sourceWalletId=${source}`,
  `/transfers?destinationWalletId=${destination}`,
  `/transfers?sourceWalletId=${source}&destinationWalletId=${destination}`,
  `/wallets/${source}/transactions`,
  `/wallets/${destination}/transactions`,
  '/payments',
  `/payments?targetWalletId=${destination}`,
  '/withdrawals',
  `/withdrawals?sourceWalletId=${source}`,
  '/payouts',
  '/wallets',
  '/events',
  '/events?type=transfer.completed',
];

const withBounds = (path: string, bounds: string): string => `${path}${path.includes('?') ? '&' : '?'}${bounds}`;

test('everything was accepted', () => {
  expect(accepted.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([]);
});

describe.each(LISTS)('GET %s', (path) => {
  test('the rows within a bound are those that are shown with a time within it', async () => {
    const all = await rowsOf(path);
    expect(all.length).toBeGreaterThanOrEqual(COUNT);
    const times = [...new Set(all.map(({ createdAt }) => String(createdAt)))].toSorted();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const at = times[Math.floor(share * (times.length - 1))] ?? '';
      const ids = (rows: readonly Resource[]) => rows.map(({ id }) => id).toSorted();
      const shown = (isWithin: (time: string) => boolean) => ids(all.filter((row) => isWithin(String(row.createdAt))));
      expect(ids(await rowsOf(withBounds(path, `createdAtTo=${at}`)))).toEqual(shown((time) => time < at));
      expect(ids(await rowsOf(withBounds(path, `createdAtFrom=${at}`)))).toEqual(shown((time) => time >= at));
    }
  });

  test('twelve consecutive periods, which end at times of rows, have each row once', async () => {
    const all = await rowsOf(path);
    const times = [...new Set(all.map(({ createdAt }) => String(createdAt)))].toSorted();
    const bounds = Array.from({ length: 11 }, (_, index) => times[Math.floor(((index + 1) * times.length) / 12)] ?? '');
    const periods = [
      `createdAtTo=${bounds[0]}`,
      ...bounds.slice(1).map((to, index) => `createdAtFrom=${bounds[index]}&createdAtTo=${to}`),
      `createdAtFrom=${bounds.at(-1)}`,
    ];
    expect(periods).toHaveLength(12);
    const rows = await Promise.all(periods.map((period) => rowsOf(withBounds(path, period))));
    expect(
      rows
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(all.map(({ id }) => id).toSorted());
  });
});

test.each(LISTS.filter((path) => !/^\/(wallets|events)(\?|$)/.test(path)))(
  'the export of %s has the same rows',
  async (path) => {
    const all = await rowsOf(path);
    const at = String(all[Math.floor(all.length / 2)]?.createdAt);
    const { rows } = await client.file(withBounds(path, `createdAtTo=${at}`));
    expect(rows.map(({ id }) => String(id)).toSorted()).toEqual(
      all
        .filter((row) => String(row.createdAt) < at)
        .map(({ id }) => String(id))
        .toSorted(),
    );
  },
);

test('the balance at a time is the sum of the lines that are shown with that time or an earlier one', async () => {
  const lines = await rowsOf(`/wallets/${source}/transactions`);
  const signed = ({ direction, amount }: Resource) => (direction === 'credit' ? Number(amount) : -Number(amount));
  for (const { createdAt } of lines.filter((_, index) => index % 50 === 0)) {
    const until = lines.filter((line) => String(line.createdAt) <= String(createdAt));
    const { data } = await client.get(`/wallets/${source}/balance?at=${String(createdAt)}`);
    expect(data.balance).toBe(until.reduce((sum, line) => sum + signed(line), 0));
  }
});
