// The HTTP client of rail adapters against servers that misbehave: what is not a complete response is unknown, within
// the limits of time and size, and nothing of a body or a header is in an error or a span.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { generate } from 'selfsigned';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { createHttpClient, isBaseUrl, jsonNumber } from '../../src/rail/http.ts';

const SECRET = 'sk_4e0d1c7b';
const UNREADABLE = expect.objectContaining({ json: undefined });

const closing: (() => Promise<unknown>)[] = [];

afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

type HttpClient = ReturnType<typeof createHttpClient>;

async function listen(server: Server | TcpServer, scheme = 'http', limitMs = 5_000): Promise<HttpClient> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createHttpClient({ rail: 'monnify', baseUrl, limitMs });
  closing.push(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return client;
}

const serve = (respond: RequestListener, limitMs?: number) => listen(createServer(respond), 'http', limitMs);

const get = (client: HttpClient, signal?: AbortSignal) =>
  client.call({ method: 'GET', route: '/status', headers: { authorization: `Bearer ${SECRET}` } }, signal);

async function failure(work: Promise<unknown>): Promise<RailUnavailableError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RailUnavailableError);
  expect(inspect(error, { depth: 10 })).not.toMatch(new RegExp(`${SECRET}|22222222226`));
  return error as RailUnavailableError;
}

test('a body is JSON whose numbers are texts, exactly as they were written', async () => {
  const client = await serve((_, response) => {
    response.end('{"amount":2020.10,"large":90071992547409.91,"code":99,"exponent":1e3,"list":[0.1,null,true,"x"]}');
  });
  expect(await get(client)).toEqual({
    status: 200,
    retryAfterMs: null,
    json: {
      amount: '2020.10',
      large: '90071992547409.91',
      code: '99',
      exponent: '1e3',
      list: ['0.1', null, true, 'x'],
    },
  });
});

test('path parameters are encoded, and none of them can change the path', async () => {
  const seen: unknown[] = [];
  const client = await serve((request, response) => {
    seen.push(request.url);
    response.end('{}');
  });
  const route = '/transactions/{reference}/details';
  await client.call({ method: 'GET', route, params: { reference: 'MNFY|17|20260626/..' }, query: { a: 'b|c&d' } });
  expect(seen).toEqual(['/transactions/MNFY%7C17%7C20260626%2F../details?a=b%7Cc%26d']);
  for (const reference of ['', '.', '..']) {
    await expect(client.call({ method: 'GET', route, params: { reference } })).rejects.toThrow('reference is invalid');
  }
  expect(seen).toHaveLength(1);
});

test('an exact number is written into a body', () => {
  expect(JSON.stringify({ amount: jsonNumber('90071992547409.91') })).toBe('{"amount":90071992547409.91}');
});

test.each([
  ['an HTML page of a proxy', 502, Buffer.from('<html><body>Bad Gateway</body></html>')],
  ['invalid UTF-8', 200, Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ['an empty body', 200, Buffer.alloc(0)],
  ['half of a JSON text', 200, Buffer.from('{"amount":20')],
  ['nesting without end', 200, Buffer.from('['.repeat(500_000) + ']'.repeat(500_000))],
])('%s has a status, and no JSON', async (_, status, body) => {
  const client = await serve((_request, response) => response.writeHead(status).end(body));
  expect(await get(client)).toEqual(UNREADABLE);
});

test('a redirect is not followed', async () => {
  let requests = 0;
  const client = await serve((_, response) => {
    requests += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  expect(await get(client)).toMatchObject({ status: 302, json: undefined });
  expect(requests).toBe(1);
});

test('Retry-After is read in seconds, and is at most ten minutes', async () => {
  const headers = ['7', '86400', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT'];
  const client = await serve((_, response) => {
    response.writeHead(429, { 'retry-after': headers.shift() ?? '' }).end('{}');
  });
  for (const expected of [7_000, 600_000, null, null]) expect((await get(client)).retryAfterMs).toBe(expected);
});

test('a body of 10 MB is refused', async () => {
  const client = await serve((_, response) => response.end(`"BVN 22222222226${'x'.repeat(10 * 1024 * 1024)}"`));
  expect(await failure(get(client))).toMatchObject({
    message: 'monnify: GET /status: the response is too large',
    timedOut: false,
  });
});

test.each([
  [
    'bytes that trickle',
    (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"BVN 22222222226'),
  ],
  ['no byte at all', () => {}],
])('%s time out', async (_, respond) => {
  const client = await listen(
    createTcpServer((socket) => {
      socket.on('error', () => {});
      respond(socket);
    }),
    'http',
    200,
  );
  expect(await failure(get(client))).toMatchObject({
    timedOut: true,
    providerMessage: 'no complete response within 200 ms',
  });
});

test.each([
  ['a connection that ends in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"bvn":"22222222226'],
  ['a connection that ends before the response', ''],
  ['what is not HTTP', `BVN 22222222226 ${SECRET}\r\n\r\n`],
  ['headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
])('%s is no response', async (_, bytes) => {
  const client = await listen(
    createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.end(bytes));
    }),
  );
  expect(await failure(get(client))).toMatchObject({ timedOut: false });
});

test('a certificate that no one vouches for is no response, even if the environment turns the check off', async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'api.monnify.com' }]);
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    const client = await listen(
      createTlsServer({ key, cert }, (_, response) => response.end('{}')),
      'https',
    );
    expect((await failure(get(client))).message).toMatch(/DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED/);
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  }
});

test('a caller that stops waiting gets its own reason', async () => {
  const reason = new Error('the attempt is over');
  const abort = new AbortController();
  const client = await serve(() => abort.abort(reason));
  await expect(get(client, abort.signal)).rejects.toBe(reason);
  await expect(get(client, abort.signal)).rejects.toBe(reason);
});

test.each([
  'http://api.monnify.com',
  'https://key:secret@api.monnify.com',
  'https://api.monnify.com/api',
  'https://api.monnify.com/?a=b',
  'ftp://api.monnify.com',
  'api.monnify.com',
])('credentials are not sent to %s', (url) => {
  expect(isBaseUrl(url)).toBe(false);
  expect(() => createHttpClient({ rail: 'test', baseUrl: url, limitMs: 1 })).toThrow('the base URL of a rail');
});

test.each(['https://api.monnify.com', 'http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000'])(
  'credentials may be sent to %s',
  (url) => expect(isBaseUrl(url)).toBe(true),
);
