// The payment pages over HTTP: who sees them, what they may load, what they never show, their limits, and how an open
// page receives a change.
import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { startTcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { requireUuid } from '../../src/ids.ts';
import { type Resource, startTestApi, type TestApi, type TestSettings } from '../support/api.ts';
import { recordStatements } from '../support/queryRecorder.ts';
import { createDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { type EventStream, openStream } from './eventStream.ts';

interface CheckoutPayment extends Resource {
  checkoutUrl: string;
}

const streams: EventStream[] = [];

const api = await startTestApi();
const walletId = await api.createWallet();

afterAll(async () => {
  for (const stream of streams) stream.close();
  await api.close();
});

async function pay(more: object = {}, client = api.test, target = walletId): Promise<CheckoutPayment> {
  const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: target, ...more };
  const answer = await client.money('/payments', body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.data as CheckoutPayment;
}

async function listenTo(url: string, headers?: Record<string, string>): Promise<EventStream> {
  const stream = await openStream(url, headers);
  streams.push(stream);
  return stream;
}

/** Works with another process on the same database, as an organisation of its own. */
async function withOther(
  settings: TestSettings,
  work: (other: TestApi, payThere: (more?: object) => Promise<CheckoutPayment>) => Promise<void>,
): Promise<void> {
  await api.withAnother({ settings }, async (other) => {
    const organisation = await other.createOrganisation();
    const target = await other.createWallet(organisation.test);
    await work(other, (more = {}) => pay(more, organisation.test, target));
  });
}

const pageOf = (url: string) => fetch(url, { redirect: 'manual' });

/** As a credit changes it, without the credit. */
const receive = (id: string, amount: number) => api.sql`
  UPDATE payments SET status = 'partial', amount_received = ${amount}, version = version + 1
  WHERE id = ${requireUuid('payment', id)}`;

describe('checkoutUrl', () => {
  test('of a payment by bank transfer is the same wherever the payment is returned', async () => {
    const { id, checkoutUrl } = await pay();
    expect(checkoutUrl).toMatch(new RegExp(`^${new URL(api.urls.test).origin}/checkout/[\\w-]{64}$`));
    expect((await api.test.get(`/payments/${id}`)).data.checkoutUrl).toBe(checkoutUrl);
    expect((await api.test.get('/payments?limit=1')).items[0]?.checkoutUrl).toBe(checkoutUrl);
    expect((await api.test.post(`/simulations/payments/${id}/expire`)).data.checkoutUrl).toBe(checkoutUrl);
  });

  test('is in no event', async () => {
    const { id, checkoutUrl } = await pay();
    await api.test.post(`/simulations/payments/${id}/expire`);
    const [row] = await api.sql<{ data: object }[]>`SELECT data FROM events WHERE resource = ${id}`;
    expect(row?.data).toMatchObject({ id, status: 'expired' });
    expect(JSON.stringify(row?.data)).not.toContain(checkoutUrl.split('/').at(-1) ?? '');
  });

  test('is null for a payment from a wallet', async () => {
    expect((await pay({ method: 'virtual_wallet' })).checkoutUrl).toBeNull();
  });

  test('begins with the public address that is set', async () => {
    await withOther({ SANDBOX_CHECKOUT_URL: 'https://pay.example.com/' }, async (_other, payThere) => {
      expect((await payThere()).checkoutUrl).toMatch(/^https:\/\/pay\.example\.com\/checkout\/[\w-]{64}$/);
    });
  });
});

describe('a page', () => {
  test('says what to pay to whom, without JavaScript', async () => {
    const payment = await pay({ description: 'Order <7> & "more"' });
    const response = await pageOf(payment.checkoutUrl);
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    for (const part of ['₦2,020.00', accountNumber, 'Sandbox Bank', 'Ada Obi', 'Test Ltd', '30 minutes']) {
      expect(html).toContain(part);
    }
    expect(html).toContain('Order &lt;7&gt; &amp; &quot;more&quot;');
    expect(html).not.toContain('http-equiv="refresh"');
  });

  test('loads itself again without JavaScript when its reader has chosen that, until the payment has ended', async () => {
    const payment = await pay();
    const chosen = `${payment.checkoutUrl}?updates=on`;
    expect(await (await pageOf(chosen)).text()).toContain(
      '<noscript><meta http-equiv="refresh" content="15"></noscript>',
    );
    await api.test.post(`/simulations/payments/${payment.id}/expire`);
    expect(await (await pageOf(chosen)).text()).not.toContain('http-equiv="refresh"');
  });

  test('may load and do only what its own host serves, and has nothing inline', async () => {
    const { checkoutUrl } = await pay({ returnUrl: 'https://shop.example/' });
    const response = await pageOf(checkoutUrl);
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    );
    for (const [name, value] of Object.entries({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'cache-control': 'no-store',
    })) {
      expect(response.headers.get(name)).toBe(value);
    }
    const html = await response.text();
    expect(html).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?! src="\/)/i);
    const loaded = [...html.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, target]) => target ?? '');
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.filter((target) => !target.startsWith('/checkout/') && target !== 'data:,')).toEqual([]);
  });

  test('has a script and a style that browsers may keep for ever, by the hash of their content', async () => {
    const { checkoutUrl } = await pay();
    const html = await (await pageOf(checkoutUrl)).text();
    const paths = [...html.matchAll(/"(\/checkout\/assets\/page-[0-9a-f]{16}\.(?:js|css))"/g)].map(
      ([, file]) => file ?? '',
    );
    expect(paths).toHaveLength(2);
    for (const file of paths) {
      const response = await pageOf(new URL(file, checkoutUrl).href);
      expect([response.status, response.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect((await pageOf(new URL(file.replace(/-[0-9a-f]{16}/, '-0'), checkoutUrl).href)).status).toBe(404);
    }
  });

  test('without a token of this host is a page that says so, for every kind of request', async () => {
    const { checkoutUrl } = await pay();
    const origins = { test: new URL(api.urls.test).origin, live: new URL(api.urls.live).origin };
    const [, token = ''] = checkoutUrl.split('/checkout/');
    const changed = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`;
    for (const address of [
      `${origins.live}/checkout/${token}`,
      `${origins.test}/checkout/${changed}`,
      `${origins.test}/checkout/x`,
    ]) {
      const response = await pageOf(address);
      expect(response.status).toBe(404);
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await response.text()).toContain('<h1>This payment link does not work</h1>');
      expect((await pageOf(`${address}/return`)).status).toBe(404);
      expect((await pageOf(`${address}/events`)).status).toBe(404);
    }
  });

  test('leaves no token in the log, whatever becomes of the request', async () => {
    const { checkoutUrl } = await pay();
    const [, token = ''] = checkoutUrl.split('/checkout/');
    api.logged.length = 0;
    await Promise.all([
      pageOf(checkoutUrl),
      pageOf(`${checkoutUrl}/return`),
      pageOf(`${checkoutUrl}/unknown`),
      pageOf(checkoutUrl.replace(new URL(api.urls.test).origin, new URL(api.urls.live).origin)),
      fetch(checkoutUrl, { method: 'POST' }),
      listenTo(`${checkoutUrl}/events`),
    ]);
    const lines = await waitFor('the log lines', () => {
      const found = api.logged.filter((line) => line.includes('"msg":"request"'));
      return found.length >= 6 && found;
    });
    expect(lines.filter((line) => line.includes('GET /checkout/:token'))).not.toHaveLength(0);
    expect(api.logged.filter((line) => line.includes(token))).toEqual([]);
  });

  test('may be read often, but not without an end', async () => {
    const { checkoutUrl } = await pay();
    const other = await pay();
    const statuses: number[] = [];
    for (let sent = 0; sent < 120; sent += 1) statuses.push((await pageOf(checkoutUrl)).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = await pageOf(checkoutUrl);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await refused.text()).toContain('<h1>Please wait a minute</h1>');
    expect((await pageOf(other.checkoutUrl)).status).toBe(200);
  });
});

describe('the way back', () => {
  const returnUrl = 'https://shop.example/thanks?order=7';

  /** The parameters of the return link now. */
  async function follow(checkoutUrl: string): Promise<Record<string, string>> {
    const response = await pageOf(`${checkoutUrl}/return`);
    expect(response.status).toBe(303);
    const link = new URL(response.headers.get('location') ?? '');
    expect(link.href.startsWith(`${returnUrl}&result=`)).toBe(true);
    return Object.fromEntries(link.searchParams);
  }

  test('says what became of the payment, signed for the secret of any enabled endpoint, and is no webhook of it', async () => {
    const organisation = await api.createOrganisation();
    const target = await api.createWallet(organisation.test);
    const endpoint = (url: string) =>
      organisation.test.post('/webhook-endpoints', { url: `http://127.0.0.1:9000/${url}` });
    const [first, second, disabled] = [await endpoint('a'), await endpoint('b'), await endpoint('c')].map(
      ({ data }) => data,
    );
    await organisation.test.call('PATCH', `/webhook-endpoints/${disabled?.id}`, { body: { status: 'disabled' } });
    const rotated = await organisation.test.post(`/webhook-endpoints/${second?.id}/rotate-secret`);
    const { id, checkoutUrl } = await pay({ returnUrl, reference: 'order-7' }, organisation.test, target);

    const query = await follow(checkoutUrl);
    const webhookOf = (secret: unknown) => new Webhook(String(secret)).verify(String(query.result), query);
    // As docs/checkout.md says.
    const derived = (secret: unknown) => createHmac('sha256', String(secret)).update('return-link').digest('base64');
    const verify = (secret: unknown, changed = {}) =>
      new Webhook(derived(secret)).verify(String(query.result), { ...query, ...changed });
    for (const secret of [first?.secret, second?.secret, rotated.data.secret]) {
      expect(() => webhookOf(secret)).toThrow('No matching signature');
      expect(verify(secret)).toEqual({ paymentId: id, status: 'pending', reference: 'order-7' });
    }
    expect(() => verify(disabled?.secret)).toThrow('No matching signature');
    expect(() => verify(first?.secret, { 'webhook-id': 'svc_other_pay' })).toThrow('No matching signature');
    query.result = String(query.result).replace('pending', 'settled');
    expect(() => verify(first?.secret)).toThrow('No matching signature');

    await organisation.test.post(`/simulations/payments/${id}/expire`);
    expect(JSON.parse((await follow(checkoutUrl)).result ?? '')).toMatchObject({ paymentId: id, status: 'expired' });
  });

  test('has no signature where the organisation has no webhook endpoint', async () => {
    const { checkoutUrl } = await pay({ returnUrl });
    expect(Object.keys(await follow(checkoutUrl))).toEqual(['order', 'result']);
  });

  test('is a link of the page where the payment has one, and not found elsewhere', async () => {
    const [with_, without] = [await pay({ returnUrl }), await pay()];
    expect(await (await pageOf(with_.checkoutUrl)).text()).toContain('Go back to Test Ltd');
    expect(await (await pageOf(without.checkoutUrl)).text()).not.toContain('/return"');
    expect((await pageOf(`${without.checkoutUrl}/return`)).status).toBe(404);
  });

  test.each([
    ['not a URL', 'shop.example'],
    ['not of the web', 'javascript:alert(1)'],
    ['not encrypted', 'http://shop.example/'],
    ['with a user name', 'https://ada@shop.example/'],
    ['longer than 2,048 characters', `https://shop.example/${'a'.repeat(2_048)}`],
  ])('%s is refused', async (_, url) => {
    const body = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: walletId, returnUrl: url };
    const { status, error } = await api.test.money('/payments', body);
    expect([status, error.code, (error.details.fields as { field: string }[]).map(({ field }) => field)]).toEqual([
      400,
      'VALIDATION_FAILED',
      ['returnUrl'],
    ]);
  });
});

describe('an open page', () => {
  const until = (stream: EventStream, ...versions: number[]) =>
    waitFor(`the changes ${versions.join()}`, () => stream.changes().join() === versions.join());

  test('receives each change once, by events that no proxy keeps back', async () => {
    const { id, checkoutUrl } = await pay();
    const stream = await listenTo(`${checkoutUrl}/events?version=1`);
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    await receive(id, 100);
    await until(stream, 2);
    await receive(id, 200);
    await until(stream, 2, 3);
    expect(stream.text()).toMatch(/^retry: \d+\n\n/);
    expect(stream.text()).toContain('id: 3\nevent: change\ndata: 3\n\n');
  });

  test.each([
    ['the version that it shows', '?version=1', {}],
    ['no version', '', {}],
    ['no number', '?version=x', {}],
    ['the last event before its connection was lost', '?version=2', { 'last-event-id': '1' }],
  ])('that connects with %s receives what it has missed', async (_, query, headers) => {
    const { id, checkoutUrl } = await pay();
    await receive(id, 100);
    const stream = await listenTo(`${checkoutUrl}/events${query}`, headers);
    await until(stream, 2);
    expect(stream.text()).toContain('event: change\ndata: 2\n\n');
  });

  test('that has seen everything receives nothing, beside one that has not', async () => {
    const { id, checkoutUrl } = await pay();
    await receive(id, 100);
    const [fresh, stale] = [
      await listenTo(`${checkoutUrl}/events?version=2`),
      await listenTo(`${checkoutUrl}/events?version=1`),
    ];
    await until(stale, 2);
    expect(fresh.changes()).toEqual([]);
    await receive(id, 200);
    await Promise.all([until(fresh, 3), until(stale, 2, 3)]);
  });

  test('costs no statement of its own: one looks for the changes of all', async () => {
    await withOther({}, async (other, payThere) => {
      const takeStatements = recordStatements([other.dependencies.sql, other.dependencies.asyncCommitSql]);
      const payments: CheckoutPayment[] = [];
      for (let made = 0; made < 20; made += 1) payments.push(await payThere());
      takeStatements();
      const open = await Promise.all(payments.map(({ checkoutUrl }) => listenTo(`${checkoutUrl}/events?version=1`)));
      await receive(payments[0]?.id ?? '', 100);
      await until(open[0] as EventStream, 2);
      // The log of the requests that created the payments is written a second later.
      const sent = takeStatements().filter(({ text }) => !/INTO request_logs\b/.test(text));
      const texts = new Set(sent.map(({ text }) => text));
      expect([...texts]).toEqual([
        expect.stringMatching(/^SELECT s\.id AS payment_id, changed\.version\s+FROM unnest\(/),
      ]);
    });
  });

  test('is one of ten of its payment, and one of those that the process has room for', async () => {
    await withOther({ pagesMax: 12 }, async (_other, payThere) => {
      const [first, second] = [await payThere(), await payThere()];
      const open = async ({ checkoutUrl }: CheckoutPayment, count: number): Promise<EventStream[]> => {
        const opened = [];
        for (let each = 0; each < count; each += 1) opened.push(await listenTo(`${checkoutUrl}/events`));
        return opened;
      };
      const statuses = (opened: EventStream[]) => opened.map(({ status }) => status);
      const ofFirst = await open(first, 11);
      expect(statuses(ofFirst)).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
      expect(ofFirst[10]?.headers['retry-after']).toBe('60');
      expect(statuses(await open(second, 3))).toEqual([200, 200, 503]);
      ofFirst[0]?.close();
      await waitFor('room for another', async () => (await open(second, 1))[0]?.status === 200);
    });
  });

  test('is no reason for a process to stay: when it stops, it ends all pages', async () => {
    let stream: EventStream | undefined;
    await withOther({}, async (_other, payThere) => {
      stream = await listenTo(`${(await payThere()).checkoutUrl}/events`);
    });
    await stream?.ended;
    expect(stream?.text()).toMatch(/^retry: /);
  });

  test('survives an outage of the database, which a page that is loaded then explains', async () => {
    const database = await createDatabase();
    const proxy = await startTcpProxy(database.url);
    const other = await startTestApi({ databaseUrl: database.url, databaseUrlOfApi: proxy.url });
    try {
      const { id, checkoutUrl } = await pay({}, other.test, await other.createWallet());
      const stream = await listenTo(`${checkoutUrl}/events?version=1`);
      proxy.refuse();
      const failed = await waitFor('the page to fail', async () => {
        const response = await pageOf(checkoutUrl);
        return response.status === 503 && response;
      });
      expect(await failed.text()).toContain('<h1>We cannot show this payment right now</h1>');
      await waitFor('a look that failed', () =>
        other.logged.some((line) => line.includes('could not look for changes')),
      );
      proxy.heal();
      await waitFor('the API to reach its database', async () => (await other.test.get('/health')).status === 200);
      await other.sql`UPDATE payments SET version = version + 1 WHERE id = ${requireUuid('payment', id)}`;
      await until(stream, 2);
    } finally {
      proxy.heal();
      await other.close();
      await proxy.close();
      await database.drop();
    }
  });

  test('answers HEAD without a connection', async () => {
    const { checkoutUrl } = await pay();
    const response = await fetch(`${checkoutUrl}/events`, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  });
});
