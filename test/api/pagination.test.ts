// Lists: cursor pagination, page sizes and filters (contract, section 4.10), for every list of the service.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { paginate, readPaging } from '../../src/api/lists/cursor.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { type Answer, type Resource, startTestApi, type TestOrganisation } from '../support/api.ts';
import { addCredits } from '../support/credits.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

const LISTS = [
  'wallets',
  'statement',
  'transfers',
  'withdrawals',
  'payments',
  'refunds',
  'credits',
  'deposits',
  'payouts',
  'webhook endpoints',
  'events',
] as const;
const ROWS = 7;
/** The routes whose requests make the rows of these lists. */
const FILLED_BY = [
  'POST /payments',
  'POST /payments/:id/refund',
  'POST /wallets/:id/transfer',
  'POST /wallets/:id/withdraw',
  'POST /payouts',
];

const api = await startTestApi();
const organisation = await api.createOrganisation();
/** The path of each list; some belong to one resource. */
const paths: Record<string, string> = await fill(organisation);

afterAll(() => api.close());

/** Creates at least seven rows for every list. Their creation times are reduced to three, so most rows share theirs. */
async function fill(owner: TestOrganisation): Promise<Record<string, string>> {
  const table = moneyRoutes(api, owner);
  let payerPath = '';
  let paymentId = '';
  for (let row = 0; row < ROWS; row += 1) {
    for (const [name, { good }] of Object.entries(table).filter(([route]) => FILLED_BY.includes(route))) {
      const { path, body } = await good();
      if (name === 'POST /payments/:id/refund') {
        if (paymentId === '') paymentId = path.split('/')[2] ?? '';
        await owner.test.money(`/payments/${paymentId}/refund`, { amount: 1, destination: 'wallet' });
        continue;
      }
      if (name === 'POST /wallets/:id/transfer') {
        if (payerPath === '') payerPath = path;
        await owner.test.money(payerPath, { ...body, amount: 1 });
        continue;
      }
      await owner.test.money(path, body);
    }
    await owner.test.post('/webhook-endpoints', { url: `https://receiver.test.example/${row}` });
  }
  await addCredits(api, 'payment', paymentId, ROWS);
  await addCredits(api, 'wallet', payerPath.split('/')[2] ?? '', ROWS);
  const hour = new Date().setUTCMinutes(0, 0, 0);
  for (const name of [
    'wallets',
    'transfers',
    'withdrawals',
    'payments',
    'refunds',
    'inbound_credits',
    'payouts',
    'webhook_endpoints',
    'events',
  ]) {
    await api.sql.unsafe(
      `UPDATE ${name} SET created_at = CASE
         WHEN get_byte(uuid_send(id), 15) % 3 = 0 THEN $2::timestamptz WHEN get_byte(uuid_send(id), 15) % 3 = 1 THEN $3 ELSE $4 END
       WHERE organisation_id = $1`,
      [owner.organisationId, ...[0, 1, 2].map((second) => new Date(hour + second * 1_000))],
    );
  }
  return {
    wallets: '/wallets',
    statement: payerPath.replace('/transfer', '/transactions'),
    transfers: '/transfers',
    withdrawals: '/withdrawals',
    payments: '/payments',
    refunds: `/payments/${paymentId}/refunds`,
    credits: `/payments/${paymentId}/credits`,
    deposits: payerPath.replace('/transfer', '/deposits'),
    payouts: '/payouts',
    'webhook endpoints': '/webhook-endpoints',
    events: '/events',
  };
}

const get = (path: string): Promise<Answer> => organisation.test.get(path);
const add = (path: string, parameters: string): string => `${path}${path.includes('?') ? '&' : '?'}${parameters}`;

async function page(path: string): Promise<Answer> {
  const answer = await get(path);
  expect(answer.status).toBe(200);
  return answer;
}

/** Every page from the first to the last. */
async function walk(path: string): Promise<Answer[]> {
  const pages = [await page(path)];
  for (;;) {
    const { nextCursor } = pages.at(-1)?.pagination ?? { nextCursor: null };
    if (nextCursor === null) return pages;
    pages.push(await page(add(path.split('?')[0] ?? '', `cursor=${nextCursor}`)));
  }
}

const identity = (row: Resource): string => row.id ?? String(row.transactionId);

/** The text with another character at this place. */
const changedAt = (text: string, at: number): string =>
  text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);

test('the signature of a cursor covers every character of it', () => {
  const { keyring } = api.dependencies;
  const scope = {
    list: '/wallets',
    book: { organisationId: organisation.organisationId, environment: 'test' as const },
  };
  const rows = [newUuid(), newUuid()].map((id) => ({ id, createdAt: new Date() }));
  const paging = { limit: 1, after: null, filters: { email: 'ada@test.example' } };
  const cursor = paginate(keyring, scope, paging, rows, (row) => row).pagination.nextCursor ?? '';
  expect(readPaging(keyring, scope, { cursor, filters: {} })).toMatchObject({ limit: 1, after: { id: rows[0]?.id } });
  for (const at of Array.from(cursor).keys()) {
    const changed = changedAt(cursor, at);
    expect(() => readPaging(keyring, scope, { cursor: changed, filters: {} })).toThrow(
      expect.objectContaining({ code: 'INVALID_CURSOR' }),
    );
  }
});

describe.each(LISTS)('the list of %s', (name) => {
  test.each([1, 2, 3, 5])('pages of %i cover the whole list once, newest first', async (limit) => {
    const path = paths[name] ?? '';
    const all = (await page(add(path, 'limit=100'))).items;
    expect(all.length).toBeGreaterThanOrEqual(ROWS);
    const pages = await walk(add(path, `limit=${limit}`));
    expect(pages.flatMap(({ items }) => items)).toEqual(all);
    expect(new Set(all.map(identity)).size).toBe(all.length);
    const times = all.map(({ createdAt }) => String(createdAt));
    expect(times).toEqual(times.toSorted().toReversed());
    const last = pages.pop();
    expect(last?.pagination).toEqual({ limit, hasMore: false, nextCursor: null });
    for (const { items, pagination } of pages) {
      expect(pagination).toEqual({ limit, hasMore: true, nextCursor: expect.any(String) });
      expect(items).toHaveLength(limit);
    }
  });

  test('a page that ends exactly at the end of the list has no next cursor', async () => {
    const path = paths[name] ?? '';
    const { items } = await page(add(path, 'limit=100'));
    const { pagination } = await page(add(path, `limit=${items.length}`));
    expect(pagination).toEqual({ limit: items.length, hasMore: false, nextCursor: null });
  });

  test.each(['0', '-1', '101', '1000', 'abc', '1.5', '1e1', '', '%205', '0x10', '99999999999999999999', 'null'])(
    'an invalid limit of "%s" falls back to 20',
    async (limit) => {
      expect((await page(add(paths[name] ?? '', `limit=${limit}`))).pagination.limit).toBe(20);
    },
  );

  test('the default limit is 20, and the limits 1 and 100 are accepted', async () => {
    const path = paths[name] ?? '';
    expect((await page(path)).pagination.limit).toBe(20);
    expect((await page(add(path, 'limit=1'))).pagination.limit).toBe(1);
    expect((await page(add(path, 'limit=100'))).pagination.limit).toBe(100);
  });

  test('a repeated limit parameter falls back to 20, and a repeated cursor parameter is INVALID_CURSOR', async () => {
    const path = paths[name] ?? '';
    const twice = await page(add(path, 'limit=2&limit=3'));
    expect(twice.pagination.limit).toBe(20);
    const { nextCursor } = (await page(add(path, 'limit=2'))).pagination;
    const answer = await get(add(path, `cursor=${nextCursor}&cursor=${nextCursor}`));
    expectError(answer, 400, 'INVALID_CURSOR', { fields: [] });
  });

  test('a cursor carries its limit and ignores the limit parameter', async () => {
    const path = paths[name] ?? '';
    const { nextCursor } = (await page(add(path, 'limit=2'))).pagination;
    for (const extra of ['', '&limit=5', '&limit=nonsense']) {
      const second = await page(add(path, `cursor=${nextCursor}${extra}`));
      expect([second.pagination.limit, second.items.length]).toEqual([2, 2]);
    }
  });

  test('a cursor with a character changed, added or removed is 400 INVALID_CURSOR', async () => {
    const path = paths[name] ?? '';
    const { nextCursor } = (await page(add(path, 'limit=2'))).pagination;
    const cursor = nextCursor ?? '';
    const tampered = [
      ...[0, 20, 60, cursor.length - 1].map((at) => changedAt(cursor, at)),
      cursor.slice(1),
      cursor.slice(0, -1),
      ...['A', '=', '%20', '.', cursor].map((more) => cursor + more),
      'x',
      '%00',
      'null',
      Buffer.alloc(80).toString('base64url'),
    ];
    for (const each of tampered) {
      expectError(await get(add(path, `cursor=${each}`)), 400, 'INVALID_CURSOR', { fields: [] });
    }
  });

  test('a cursor of another list, organisation or environment is INVALID_CURSOR', async () => {
    const path = paths[name] ?? '';
    const { nextCursor } = (await page(add(path, 'limit=2'))).pagination;
    for (const other of LISTS.filter((list) => list !== name)) {
      const { error } = await get(add(paths[other] ?? '', `cursor=${nextCursor}`));
      expect([other, error.code]).toEqual([other, 'INVALID_CURSOR']);
    }
    if (path.split('/').length > 2) return; // other organisations cannot read the list of one resource
    expect((await api.test.get(add(path, `cursor=${nextCursor}`))).error.code).toBe('INVALID_CURSOR');
    expect((await organisation.live.get(add(path, `cursor=${nextCursor}`))).error.code).toBe('INVALID_CURSOR');
  });

  test('a cursor carries its filters: it may be repeated with the same filters but no others', async () => {
    const path = paths[name] ?? '';
    const filter = 'createdAtFrom=2001-01-01T00:00:00Z';
    const filtered = (await page(add(path, `limit=2&${filter}`))).pagination.nextCursor;
    const plain = (await page(add(path, 'limit=2'))).pagination.nextCursor;
    const together = await page(add(path, `cursor=${filtered}&${filter}`));
    expect(together.items).toHaveLength(2);
    expect((await page(add(path, `cursor=${filtered}`))).items).toEqual(together.items);
    for (const query of [
      `cursor=${filtered}&createdAtFrom=2001-01-01T00:00:01Z`,
      `cursor=${filtered}&${filter}&createdAtTo=2101-01-01T00:00:00Z`,
      `cursor=${plain}&${filter}`,
    ]) {
      expect([query, (await get(add(path, query))).error.code]).toEqual([query, 'INVALID_CURSOR']);
    }
  });

  test('the time filter includes its beginning and not its end, in any time zone', async () => {
    const path = paths[name] ?? '';
    const { items } = await page(add(path, 'limit=100'));
    const at = String(items[Math.floor(items.length / 2)]?.createdAt);
    const expected = items.filter(({ createdAt }) => createdAt === at);
    const inLagos = (ms: number) => `${new Date(ms + 3_600_000).toISOString().slice(0, -1)}+01:00`;
    const inUtc = (ms: number) => new Date(ms).toISOString();
    for (const written of [inUtc, inLagos]) {
      const [from, to] = [Date.parse(at), Date.parse(at) + 1].map((ms) => encodeURIComponent(written(ms)));
      const filtered = await page(add(path, `limit=100&createdAtFrom=${from}&createdAtTo=${to}`));
      expect(filtered.items).toEqual(expected);
      expect((await page(add(path, `limit=100&createdAtFrom=${from}&createdAtTo=${from}`))).items).toEqual([]);
    }
    expect((await page(add(path, 'createdAtTo=2001-01-01T00:00:00Z'))).items).toEqual([]);
    expect((await page(add(path, 'createdAtFrom=2101-01-01T00:00:00Z'))).items).toEqual([]);
  });
});

describe('a list that grows during pagination', () => {
  test('pagination returns each row present at its start exactly once', async () => {
    const before = (await page('/wallets?limit=100')).items.map(({ id }) => id);
    const seen: string[] = [];
    let path = '/wallets?limit=3';
    for (;;) {
      const { items, pagination } = await page(path);
      seen.push(...items.map(({ id }) => id));
      await api.createWallet(organisation.test, { tier1: false });
      if (pagination.nextCursor === null) break;
      path = `/wallets?cursor=${pagination.nextCursor}`;
    }
    expect(seen).toEqual(before);
  });
});

describe('cursors and signing keys', () => {
  test('a cursor stays valid after a new signing key is added in front', async () => {
    const { nextCursor } = (await page('/wallets?limit=2')).pagination;
    const old = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
    await api.withAnother(
      { settings: { MANILLA_KEYS: `next:${Buffer.alloc(32, 9).toString('base64url')},${old}` } },
      async (rotated) => {
        const client = rotated.client(organisation.test.key);
        expect((await client.get(`/wallets?cursor=${nextCursor}`)).status).toBe(200);
        const { pagination } = await client.get('/wallets?limit=2');
        expect((await get(`/wallets?cursor=${pagination.nextCursor}`)).error.code).toBe('INVALID_CURSOR');
      },
    );
  });
});

describe('list filters', () => {
  let shop: TestOrganisation;
  let named: string;
  let plain: string;
  let frozen: string;

  beforeAll(async () => {
    shop = await api.createOrganisation();
    const created = await shop.test.post('/wallets', { email: 'ada@test.example', externalReference: 'ada-1' });
    named = created.data.id;
    plain = await api.createWallet(shop.test, { tier1: false });
    frozen = await api.createWallet(shop.test);
    await api.setWalletStatus(frozen, 'frozen');
    await shop.test.post(`/wallets/${named}/kyc`, KYC);
    await shop.test.money('/payments', { method: 'bank_transfer', baseAmount: 5, targetWalletId: named });
    await shop.test.money('/payments', {
      method: 'virtual_wallet',
      baseAmount: 6,
      targetWalletId: shop.settlementWalletId,
    });
  });

  const idsOf = async (path: string) => (await shop.test.get(path)).items.map(({ id }) => id);

  test('wallets can be filtered by reference, email, kind, status and KYC status', async () => {
    expect(await idsOf('/wallets?externalReference=ada-1')).toEqual([named]);
    expect(await idsOf('/wallets?externalReference=ADA-1')).toEqual([]);
    expect(await idsOf('/wallets?email=ada@test.example')).toEqual([frozen, plain, named]);
    expect(await idsOf('/wallets?kind=settlement')).toEqual([shop.settlementWalletId]);
    expect(await idsOf('/wallets?kycStatus=none&kind=end_user')).toEqual([plain]);
    expect(await idsOf('/wallets?status=frozen')).toEqual([frozen]);
    expect(await idsOf('/wallets?status=active&kycStatus=tier1')).toEqual([named]);
  });

  test('payments can be filtered by method, status and target wallet', async () => {
    const amountsOf = async (path: string) => (await shop.test.get(path)).items.map(({ baseAmount }) => baseAmount);
    expect(await amountsOf('/payments?method=bank_transfer')).toEqual([5]);
    expect(await amountsOf(`/payments?targetWalletId=${shop.settlementWalletId}`)).toEqual([6]);
    expect(await amountsOf('/payments?status=pending')).toEqual([6, 5]);
    expect(await amountsOf('/payments?status=settled')).toEqual([]);
    expect(await amountsOf(`/payments?targetWalletId=${publicId('wallet', newUuid())}`)).toEqual([]);
  });

  test('payouts and withdrawals can be filtered by source wallet and status', async () => {
    for (const path of ['/payouts', '/withdrawals']) {
      const [first] = (await page(`${path}?limit=1`)).items;
      const mine = await page(`${path}?sourceWalletId=${String(first?.sourceWalletId)}&status=processing`);
      expect(mine.items).toEqual([first]);
      expect((await page(`${path}?status=completed`)).items).toEqual([]);
      expect((await page(`${path}?sourceWalletId=${publicId('wallet', newUuid())}`)).items).toEqual([]);
    }
  });

  test.each([
    ['/wallets', 'kind=other'],
    ['/wallets', 'status=gone'],
    ['/wallets', 'kycStatus=tier9'],
    ['/wallets', 'externalReference='],
    ['/wallets', 'email=%00'],
    ['/payments', 'status=paid'],
    ['/payments', 'targetWalletId=nonsense'],
    ['/payouts', 'sourceWalletId=svc_01k00000000000000000000000_pay'],
    ['/withdrawals', 'sourceWalletId='],
    ['/payments', 'method=cash'],
    ['/payouts', 'status=pending'],
    ['/withdrawals', 'status=pending'],
  ])('GET %s with the invalid filter %s is 400', async (path, query) => {
    expectInvalid(await shop.test.get(`${path}?${query}`), String(query.split('=')[0]));
  });
});
