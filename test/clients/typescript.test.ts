// The TypeScript client: its example against the API and a worker, and its retries against a server that fails.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createManilla,
  dataOf,
  fileOf,
  ManillaError,
  type Options,
  pagesOf,
  verifyWebhook,
} from '../../clients/typescript/src/index.ts';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/signature.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { startReceiver } from '../webhooks/receiver.ts';

const [EXAMPLE = '', MARKETPLACE = ''] = ['example', 'marketplace'].map((name) =>
  fileURLToPath(new URL(`../../clients/typescript/${name}.ts`, import.meta.url)),
);

describe('against the service', () => {
  let flows: TestFlows;

  beforeAll(async () => {
    flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });
  });

  afterAll(() => flows.close());

  test('the example ends with a verified webhook, the balance, the statement and a refusal', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE], {
      env: { ...process.env, MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' },
    });
    for (const line of [
      /^2\. A wallet of Ada Obi, tier1 with her KYC details: svc_\w+_wlt$/m,
      /^5\. The webhook payment\.completed came, with a valid signature: settled, fee ₦20\.00$/m,
      /^6\. The balance of the wallet: ₦2,000\.00$/m,
      /^7\. Its statement: credit ₦2,000\.00, payment_settlement$/m,
      /^8\. A transfer to itself is refused: SAME_WALLET, http:\/\/127\.0\.0\.1:\d+\/docs\/errors#same_wallet$/m,
      /^From nothing to a settled payment and its verified webhook in \d+\.\d s\.$/m,
    ]) {
      expect(stdout).toMatch(line);
    }
  });

  test('the marketplace of the guide moves the money of one order', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [MARKETPLACE], {
      env: { ...process.env, MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' },
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'The buyer has paid: seller 0 and 90000 held, commission 10000',
      'Three of four items arrived: seller 60000 and 30000 held',
      'The buyer got one item refunded: seller 67500, commission 7500',
      'Two people are paid: seller 42500',
    ]);
    const statement = lines.slice(4).map((line) => line.trim().replaceAll(/\d{4}-\d\d-\d\d [\d:]+|svc_\w+_txn/g, '…'));
    expect(statement).toEqual([
      'Date,Type,Description,Reference,Counterparty,Account,Money out (NGN),Money in (NGN),Balance (NGN),Transaction',
      ',Opening balance,,,,,,,0.00,',
      '…,Hold release,,order-7,,,,600.00,600.00,…/1',
      '…,Hold release,,order-7,,,,75.00,675.00,…/1',
      '…,Payout reserve,,,DANJUMA CHIDI,0123456789 at bank 058,100.00,,575.00,…/1',
      '…,Payout reserve,,,WILLIAMS TARI,0123456780 at bank 058,100.00,,475.00,…/2',
      '…,Payout reserve (fee),,,,,50.00,,425.00,…/3',
      ',Balance at …,,,,,250.00,675.00,425.00,',
    ]);
  });

  test('fileOf reads a list as CSV and a statement as PDF', async () => {
    const client = createManilla({ baseUrl: flows.urls.test, apiKey: flows.test.key ?? '' });
    const id = await flows.createWallet();
    const csv = await fileOf(
      client.GET('/wallets', {
        params: { query: { limit: 1 } },
        headers: { accept: 'text/csv' },
        parseAs: 'blob',
      }),
    );
    expect((await csv.text()).split('\r\n')[1]).toContain(id);
    const path = { id, month: new Date().toISOString().slice(0, 7) };
    const request = { params: { path }, headers: { accept: 'application/pdf' } };
    const pdf = await fileOf(client.GET('/wallets/{id}/statements/{month}', { ...request, parseAs: 'blob' }));
    const bytes = Buffer.from(await pdf.arrayBuffer()).toString('latin1');
    expect(bytes).toMatch(/^%PDF-1\..*%%EOF\s*$/s);
  });

  test('pagesOf reads every item of every page once', async () => {
    const client = createManilla({ baseUrl: flows.urls.test, apiKey: flows.test.key ?? '' });
    const email = 'pages@test.example';
    const created: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      created.push((await dataOf(client.POST('/wallets', { body: { email } }))).id);
    }
    const read: string[] = [];
    const wallets = pagesOf((cursor) =>
      client.GET('/wallets', { params: { query: cursor === undefined ? { limit: 2, email } : { cursor } } }),
    );
    for await (const wallet of wallets) read.push(wallet.id);
    expect(read).toEqual(created.toReversed());
  });

  test('pairs of metadata and names to expand are sent as the API reads them', async () => {
    const client = createManilla({ baseUrl: flows.urls.test, apiKey: flows.test.key ?? '' });
    const metadata = { order: '17', shop: 'a&b' };
    const { id } = await dataOf(client.POST('/wallets', { body: { email: 'shop@test.example', metadata } }));
    const found = await dataOf(client.GET('/wallets', { params: { query: { metadata } } }));
    expect(found.map((wallet) => wallet.id)).toEqual([id]);
    const transfers = await dataOf(
      client.GET('/transfers', { params: { query: { expand: ['sourceWallet', 'hold'] } } }),
    );
    for (const { sourceWallet, sourceWalletId } of transfers) expect(sourceWallet?.id).toBe(sourceWalletId);
  });
});

describe('retries', () => {
  const envelope = (code: string, details: object) => ({
    success: false,
    error: { code, message: '', details },
    meta: {},
  });
  const PAGE = '<html><title>Bad gateway</title></html>';
  const SUCCESS = { success: true, data: { id: 'svc_1' }, meta: {} };

  /**
   * Sends one request to a server with these answers: JSON, a page, or `null`, which closes the connection. Returns
   * what it received.
   */
  async function answered(
    answers: ([status: number, body: object | string] | null)[],
    request: (client: ReturnType<typeof createManilla>) => Promise<unknown>,
  ) {
    const server = await startReceiver((response, _received, count) => {
      const [status, body] = answers[count - 1] ?? [null];
      const isPage = typeof body === 'string';
      if (status === null) response.destroy();
      else if (isPage) response.writeHead(status, { 'content-type': 'text/html' }).end(body);
      else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const client = createManilla({
      baseUrl: `${server.origin}/v1`,
      apiKey: 'svc_test_x',
      pauseMs: 1,
      retriesMax: 2,
    });
    const result = await request(client).catch((error: unknown) => error);
    await server.close();
    const sent = server.received.map(({ method, headers }) => ({ method, key: headers['idempotency-key'] }));
    return { sent, result };
  }

  const transfer = (client: ReturnType<typeof createManilla>) =>
    dataOf(
      client.POST('/wallets/{id}/transfer', {
        params: { path: { id: 'svc_1' } },
        body: { destinationWalletId: 'svc_2', amount: 1 },
      }),
    );

  test.each([
    ['no response', null],
    ['a retryable outage', [503, envelope('SERVICE_UNAVAILABLE', { retryable: true })]],
    ['the rate limit', [429, envelope('RATE_LIMIT_EXCEEDED', {})]],
    ['a request in progress', [409, envelope('IDEMPOTENCY_IN_PROGRESS', {})]],
    ['the page of a proxy', [502, PAGE]],
    ['a page in place of a success', [200, PAGE]],
    ['JSON of a proxy', [502, { error: 'down' }]],
  ] as [string, [number, object | string] | null][])(
    'a transfer is retried after %s, with the same key',
    async (_, answer) => {
      const { sent, result } = await answered([answer, [201, SUCCESS]], transfer);
      expect(result).toEqual(SUCCESS.data);
      expect(sent).toHaveLength(2);
      expect(sent[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
      expect(sent[1]?.key).toBe(sent[0]?.key);
    },
  );

  test('a refusal and an outage that is not retryable are errors at once', async () => {
    for (const [status, code, details] of [
      [422, 'WALLET_INSUFFICIENT_FUNDS', {}],
      [409, 'IDEMPOTENCY_KEY_REUSED', {}],
      [503, 'SERVICE_UNAVAILABLE', { retryable: false }],
    ] as const) {
      const { sent, result } = await answered([[status, envelope(code, details)]], transfer);
      expect(result).toBeInstanceOf(ManillaError);
      expect([sent.length, (result as ManillaError).code]).toEqual([1, code]);
    }
  });

  test('a POST without a key is never repeated: it may have taken effect', async () => {
    const redeliver = (client: ReturnType<typeof createManilla>) =>
      dataOf(client.POST('/events/{id}/redeliver', { params: { path: { id: 'svc_1' } } }));
    const { sent, result } = await answered([null, [202, SUCCESS]], redeliver);
    expect(sent).toEqual([{ method: 'POST', key: undefined }]);
    expect(result).toMatchObject({ code: 'CONNECTION_FAILED', status: 0 });
  });

  test('the pause that a response asks for is kept, in its header or in its details', async () => {
    const outage: [number, object] = [503, envelope('SERVICE_UNAVAILABLE', { retryable: true, retryAfterSeconds: 1 })];
    const began = performance.now();
    const { sent } = await answered([outage, [201, SUCCESS]], transfer);
    expect(sent).toHaveLength(2);
    expect(performance.now() - began).toBeGreaterThan(990);
  });

  test('a refusal is thrown, not returned, and its message names the fields', async () => {
    const fields = [{ field: 'amount', code: 'invalid_type', message: 'must be a whole number of kobo' }];
    const { result } = await answered([[400, envelope('VALIDATION_FAILED', { fields })]], (client) =>
      client.POST('/wallets', { body: { email: '' } }),
    );
    expect(result).toBeInstanceOf(ManillaError);
    expect((result as ManillaError).message).toContain('amount must be a whole number of kobo');
  });

  describe('of a server that never answers', () => {
    let server: Awaited<ReturnType<typeof startReceiver>>;

    beforeAll(async () => {
      server = await startReceiver(() => {});
    });

    afterAll(() => server.close());

    const errorOf = async (options: Partial<Options>, signal?: AbortSignal) => {
      const client = createManilla({ baseUrl: `${server.origin}/v1`, apiKey: 'svc_test_x', pauseMs: 1, ...options });
      const before = server.received.length;
      const error = await client
        .GET('/health', signal === undefined ? {} : { signal })
        .catch((fault: unknown) => fault);
      return { error, attempts: server.received.length - before };
    };

    test('each attempt ends in time', async () => {
      const { error, attempts } = await errorOf({ attemptTimeoutMs: 50, retriesMax: 2 });
      expect(error).toBeInstanceOf(ManillaError);
      expect([error, attempts]).toMatchObject([{ code: 'TIMED_OUT', status: 0 }, 3]);
    });

    test('all attempts together end in time', async () => {
      const { error, attempts } = await errorOf({ timeoutMs: 100, retriesMax: 100 });
      expect([error, attempts]).toMatchObject([{ code: 'TIMED_OUT' }, 1]);
    });

    test('a signal ends the request and its retries', async () => {
      const aborting = new AbortController();
      const before = server.received.length;
      const ended = errorOf({}, aborting.signal);
      await waitFor('the request', () => server.received.length > before);
      aborting.abort();
      expect((await ended).error).toMatchObject({ code: 'ABORTED' });
    });
  });

  test.each([
    [502, 3],
    [200, 3],
    [404, 1],
    [409, 1],
  ])('a page with the status %d is an error with this status', async (status, attempts) => {
    const pages = Array.from({ length: attempts }, (): [number, string] => [status, PAGE]);
    const { sent, result } = await answered(pages, transfer);
    expect(result).toBeInstanceOf(ManillaError);
    expect(result).toMatchObject({ code: 'UNREADABLE_RESPONSE', status, requestId: '' });
    expect(sent).toHaveLength(attempts);
  });

  test.each([301, 302, 303, 307, 308])(
    'a redirect %d is an error that names the address: a POST would become a GET, and the key go elsewhere',
    async (status) => {
      const elsewhere = await startReceiver((response) => void response.end());
      const server = await startReceiver((response) => {
        response.writeHead(status, { location: `${elsewhere.origin}/v1` }).end();
      });
      const client = createManilla({ baseUrl: `${server.origin}/v1`, apiKey: 'svc_test_x', pauseMs: 1 });
      const result = await transfer(client).catch((error: unknown) => error);
      await Promise.all([server.close(), elsewhere.close()]);
      expect(result).toMatchObject({ code: 'REDIRECTED', message: expect.stringContaining(elsewhere.origin) });
      expect([server.received.length, elsewhere.received.length]).toEqual([1, 0]);
    },
  );

  test('a key with a line break is refused and not shown', () => {
    const create = () => createManilla({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'svc_test_secret\n' });
    expect(create).toThrow(/^apiKey must have no space/);
  });

  test('retries end', async () => {
    const outage: [number, object] = [503, envelope('SERVICE_UNAVAILABLE', { retryable: true })];
    const { sent, result } = await answered([outage, outage, outage, [201, SUCCESS]], transfer);
    expect([sent.length, (result as ManillaError).code]).toEqual([3, 'SERVICE_UNAVAILABLE']);
  });
});

test('verifyWebhook accepts the signature of the service and no other body', () => {
  const secret = newWebhookSecret();
  const body = JSON.stringify({ id: 'evt', type: 'payment.settled', createdAt: '', data: {} });
  const headers = signatureHeaders([secret], 'evt', new Date(), body);
  expect(verifyWebhook(secret, body, headers).type).toBe('payment.settled');
  expect(verifyWebhook(secret, body, new Headers(headers)).type).toBe('payment.settled');
  expect(() => verifyWebhook(secret, body.replace('evt', 'tve'), headers)).toThrow('No matching signature found');
});
