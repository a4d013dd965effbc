// Every response has one of the three envelopes, an allowed status and the request id in both places (contract,
// sections 2.2 and 7), whatever the request. The test clients check each response against that.
import { afterAll, describe, expect, test } from '@jest/globals';
import { type CallOptions, readAnswer, startTestApi } from '../support/api.ts';
import { requestOfLine } from '../support/documented.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** Sends a hand-written request and checks its response against the contract. */
async function sendLines(lines: readonly string[], body: string | Buffer = ''): Promise<ReturnType<typeof readAnswer>> {
  const head = `${lines.join('\r\n')}\r\n\r\n`;
  const answer = await sendRaw(api.urls.test, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
  return readAnswer(answer.status, answer.headers, answer.text, requestOfLine(lines[0] ?? '', 'test'));
}

const withKey = () => [`Host: localhost`, `Authorization: Bearer ${api.test.key}`];

describe('every response', () => {
  test('a response carries its request id in a header and in meta, and every id is unique', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.test.get('/wallets')));
    expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(20);
  });

  test('a response is JSON with cache-control: no-store', async () => {
    const { headers } = await api.test.get('/wallets');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test.each(['X-Request-Id: mine', 'X-Request-Id: req_000000000000000000000000'])(
    'the request id is never taken from the caller (%s)',
    async (header) => {
      const { requestId } = await sendLines(['GET /v1/wallets HTTP/1.1', ...withKey(), header]);
      expect(requestId).not.toBe(header.slice('X-Request-Id: '.length));
    },
  );
});

describe('unknown routes', () => {
  test.each(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].flatMap((method) =>
      ['/nope', '/wallets/x/nope', '/simulations', '/%2e%2e/wallets'].map((path) => [method, path] as const),
    ),
  )('%s %s is 404 ROUTE_NOT_FOUND', async (method, path) => {
    expectError(await api.test.call(method, path), 404, 'ROUTE_NOT_FOUND', {
      resource: 'route',
      id: expect.stringMatching(`^${method} /`),
    });
  });

  test.each(['POST /', 'GET /v2/wallets', 'GET /wallets', 'TRACE /v1/wallets', 'OPTIONS *', 'PROPFIND /v1/wallets'])(
    '%s is 404 ROUTE_NOT_FOUND',
    async (start) => {
      const { error } = await sendLines([`${start} HTTP/1.1`, ...withKey()]);
      expect(error.code).toBe('ROUTE_NOT_FOUND');
    },
  );

  test.each<[string, string, string[]]>([
    ['DELETE', '/wallets', ['GET', 'HEAD', 'POST']],
    ['OPTIONS', '/wallets', ['GET', 'HEAD', 'POST']],
    ['GET', '/wallets/x/transfer', ['POST']],
    ['PUT', '/webhook-endpoints/x', ['DELETE', 'GET', 'HEAD', 'PATCH']],
    ['POST', '/health', ['GET', 'HEAD']],
  ])(
    '%s %s is 404, and the error and the Allow header list the methods of that path',
    async (method, path, methods) => {
      const { status, error, headers } = await api.client(null).call(method, path);
      expect([status, error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
      expect(error.details).toEqual({ resource: 'route', id: `${method} /v1${path}`, allowedMethods: methods });
      expect(error.message).toContain('details.allowedMethods');
      expect(headers.get('allow')).toBe(methods.join(', '));
    },
  );

  test('a 404 for an unknown path has no Allow header', async () => {
    expect((await api.test.get('/nope')).headers.has('allow')).toBe(false);
    expect((await api.live.get('/simulations/inbound-credits')).headers.has('allow')).toBe(false);
  });

  test('an overlong path is truncated to 200 characters in the error', async () => {
    const { error } = await api.test.get(`/${'x'.repeat(4_000)}`);
    expect(String(error.details.id)).toHaveLength(200);
  });

  test.each(routeCases(({ path }) => path.startsWith('/simulations')))(
    '$name is 404 ROUTE_NOT_FOUND in live',
    async (each) => {
      const { error } = await api.live.call(each.method, pathOf(each.route));
      expect(error.code).toBe('ROUTE_NOT_FOUND');
    },
  );
});

describe('HEAD requests', () => {
  test.each([
    ['/v1/health', 200],
    ['/v1/wallets', 200],
    ['/v1/nope', 404],
  ])('HEAD %s returns the headers of the GET and no body', async (path, status) => {
    const answer = await sendRaw(api.urls.test, `HEAD ${path} HTTP/1.1\r\n${withKey().join('\r\n')}\r\n\r\n`);
    expect(answer).toMatchObject({ status, text: '' });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{24}$/);
  });
});

describe('malformed and unusual HTTP requests', () => {
  test.each<[string, string | Buffer]>([
    ['no HTTP syntax', 'GARBAGE\r\n\r\n'],
    ['a TLS handshake', Buffer.from('16030100a5010000a10303', 'hex')],
    ['an unknown method', 'FROB /v1/wallets HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['an unknown HTTP version', 'GET /v1/wallets HTTP/9.9\r\nHost: localhost\r\n\r\n'],
    ['a non-numeric Content-Length', 'POST /v1/wallets HTTP/1.1\r\nHost: localhost\r\nContent-Length: two\r\n\r\n{}'],
    [
      'two different Content-Length headers',
      'POST /v1/wallets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    ],
    [
      'both Content-Length and chunked encoding',
      'POST /v1/wallets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['headers of 100 KB', `GET /v1/wallets HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['a NUL in a header', 'GET /v1/wallets HTTP/1.1\r\nHost: localhost\r\nX-Nul: a\0b\r\n\r\n'],
  ])('a request with %s is 400 in the envelope', async (_what, bytes) => {
    const raw = await sendRaw(api.urls.test, bytes);
    // Node refuses these before there is a route: they have the envelope, and no documented operation.
    const { status, error } = readAnswer(raw.status, raw.headers, raw.text);
    expect([status, error.type]).toEqual([400, 'validation_error']);
    expect(error.details).toEqual({ fields: [] });
  });

  test.each<[string, string[], string]>([
    ['no Host header', ['GET /v1/wallets HTTP/1.1'], 'API_KEY_MISSING'],
    ['an Expect header', ['GET /v1/wallets HTTP/1.1', 'Host: localhost', 'Expect: tea'], 'API_KEY_MISSING'],
    [
      'an Upgrade header',
      ['GET /v1/wallets HTTP/1.1', 'Host: localhost', 'Connection: upgrade', 'Upgrade: h2c'],
      'API_KEY_MISSING',
    ],
    ['the method CONNECT', ['CONNECT x:1 HTTP/1.1', 'Host: localhost'], 'ROUTE_NOT_FOUND'],
  ])('a request with %s gets the response of an ordinary request', async (_what, lines, code) => {
    expect((await sendLines(lines)).error.code).toBe(code);
  });

  test('an invalid chunk after valid headers is 400', async () => {
    const head = ['POST /v1/wallets HTTP/1.1', ...withKey(), 'Content-Type: application/json'];
    const { status } = await sendLines([...head, 'Transfer-Encoding: chunked'], 'ZZ\r\n{}\r\n');
    expect(status).toBe(400);
  });

  test.each([
    ['/wallets/%E0%A4%A', 'WALLET_NOT_FOUND'],
    ['/wallets/%zz/balance', 'WALLET_NOT_FOUND'],
    ['/payments/%', 'PAYMENT_NOT_FOUND'],
    ['/payments/%00', 'PAYMENT_NOT_FOUND'],
    ['/w%61llets/%', 'ROUTE_NOT_FOUND'],
  ])('a path that cannot be percent-decoded is 404: %s', async (path, code) => {
    expectError(await sendLines([`GET /v1${path} HTTP/1.1`, ...withKey()]), 404, code);
  });

  test.each<[string, number]>([
    ['/wallets?limit=%zz', 200],
    ['/wallets?&&', 200],
    ['/wallets?%00=%00', 400],
    ['/wallets?a[b]=c&a=b&&==', 400],
  ])('a meaningless query string gets a contract response: %s is %i', async (path, statusExpected) => {
    const { status } = await sendLines([`GET /v1${path} HTTP/1.1`, ...withKey()]);
    expect(status).toBe(statusExpected);
  });
});

describe('unreadable request bodies', () => {
  const routes = routeCases((route) => route.body !== undefined);

  const bodies: [string, CallOptions, string][] = [
    ['truncated JSON', { body: '{"amount": 1' }, 'MALFORMED_JSON'],
    ['JSON with a comment', { body: '{} // yes' }, 'MALFORMED_JSON'],
    ['NaN', { body: '{"amount": NaN}' }, 'MALFORMED_JSON'],
    ['invalid UTF-8', { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) }, 'MALFORMED_JSON'],
    ['plain text', { body: '{}', headers: { 'content-type': 'text/plain' } }, 'UNSUPPORTED_CONTENT_TYPE'],
    [
      'a form',
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      'UNSUPPORTED_CONTENT_TYPE',
    ],
    ['no content type', { body: Buffer.from('{}'), headers: { 'content-type': '' } }, 'UNSUPPORTED_CONTENT_TYPE'],
    ['an array', { body: [] }, 'VALIDATION_FAILED'],
    ['a string', { body: '"x"' }, 'VALIDATION_FAILED'],
    ['null', { body: 'null' }, 'VALIDATION_FAILED'],
    ['a deep nest', { body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` }, 'VALIDATION_FAILED'],
  ];

  test.each(routes)('$name rejects each unreadable body with the 400 code for its kind', async ({ method, route }) => {
    for (const [what, options, code] of bodies) {
      const { status, error } = await api.test.call(method, pathOf(route), { ...options, idempotencyKey: what });
      expect([what, status, error.code]).toEqual([what, 400, code]);
    }
  });

  test.each(routes)('$name rejects a body of 3 MB before reading it', async ({ method, route }) => {
    const head = [
      `${method} /v1${pathOf(route)} HTTP/1.1`,
      ...withKey(),
      'Content-Type: application/json',
      'Idempotency-Key: large',
      'Content-Length: 3000000',
    ];
    const { status, error, headers } = await sendLines(head, `{"a":"${'x'.repeat(10_000)}`);
    expect([status, error.code, headers.get('connection')]).toEqual([400, 'BODY_TOO_LARGE', 'close']);
    const maximum = route.bodyBytesMax ?? 65_536;
    expect(error.details.fields).toEqual([
      { field: '', code: 'too_big', message: `must be at most ${maximum} bytes`, constraint: { maximum } },
    ]);
  });

  test('a chunked body of 3 MB without a length is BODY_TOO_LARGE', async () => {
    const head = ['POST /v1/wallets HTTP/1.1', ...withKey(), 'Content-Type: application/json'];
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const { error } = await sendLines([...head, 'Transfer-Encoding: chunked'], chunk.repeat(46));
    expect(error.code).toBe('BODY_TOO_LARGE');
  });

  test('a client that is still sending receives BODY_TOO_LARGE', async () => {
    const { error } = await api.test.post('/wallets', { email: 'a@test.example', fullName: 'x'.repeat(3_000_000) });
    expect(error.code).toBe('BODY_TOO_LARGE');
  });

  test.each(['application/json; charset=utf-8', 'APPLICATION/JSON'])(
    'the content type %s is accepted as JSON',
    async (type) => {
      const { status } = await api.test.call('POST', '/wallets', {
        body: JSON.stringify({ email: 'a@test.example' }),
        headers: { 'content-type': type },
      });
      expect(status).toBe(201);
    },
  );

  test('the body of a GET is ignored', async () => {
    const { status } = await sendLines(['GET /v1/wallets HTTP/1.1', ...withKey(), 'Content-Length: 4'], '{bad');
    expect(status).toBe(200);
  });
});

test('none of the requests in this file logged an error of the service', () => {
  expect(api.logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});
