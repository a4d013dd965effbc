// The OpenAPI document is the routes, both ways: it is generated from them, every route that the service has is in it,
// and every operation in it answers on the hosts that have it.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Router } from '@koa/router';
import type { z } from 'zod';
import { createApp, createRequestGuards } from '../../src/api/app.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import { ENVIRONMENTS } from '../../src/money.ts';
import { EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { openApiText } from '../../tools/generateOpenApi.ts';
import { templateOf } from '../../tools/openapi/document.ts';
import { goodRequests } from '../statements/requests.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { openApi, operationOf } from '../support/documented.ts';
import { pathOf, routeCases } from '../support/routes.ts';

/** Outside of the API by design: the documents themselves, and the pages for payers, who have no key. */
const OUTSIDE = {
  both: ['GET /v1/openapi.json', 'GET /docs/errors', 'GET /llms.txt'],
  test: [
    'GET /',
    'GET /docs',
    'GET /docs/reference.js',
    'GET /docs/swagger-ui.js',
    'GET /docs/swagger-ui.css',
    String.raw`GET /^\/docs\/guide(\/.*)?$/`,
  ],
  live: [],
  payers: ['GET /checkout/:token', 'GET /checkout/:token/return', 'GET /checkout/:token/events'],
};

test('generated/openapi.json is the output of tools/generateOpenApi.ts', () => {
  const file = new URL('../../generated/openapi.json', import.meta.url);
  expect(readFileSync(file, 'utf8') === openApiText()).toBe(true);
});

test('the document has every route and nothing else', () => {
  const documented = Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  expect(documented.toSorted()).toEqual(ROUTES.map((route) => `${route.method} ${templateOf(route)}`).toSorted());
});

test('every operation has a name of its own', () => {
  const names = ROUTES.map(({ operationId }) => operationId);
  expect(names).toHaveLength(new Set(names).size);
});

test('the document has every event type and nothing else', () => {
  const { webhooks } = openApi as unknown as { webhooks: object };
  expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES, TEST_EVENT_TYPE]);
});

describe('the running service', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi();
  });

  afterAll(() => api.close());

  test.each(ENVIRONMENTS)('%s serves the document of its own routes without a key', async (environment) => {
    const response = await fetch(`${api.urls[environment]}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const served = (await response.json()) as typeof openApi;
    const mine = ROUTES.filter((route) => route.environments?.includes(environment) ?? true);
    expect(Object.keys(served.paths)).toEqual([...new Set(mine.map(templateOf))]);
    expect({ ...served, paths: {} }).toEqual({ ...openApi, paths: {} });
  });

  test.each(['/docs', '/docs/swagger-ui.js', '/docs/swagger-ui.css', '/docs/errors', '/llms.txt', '/v1/openapi.json'])(
    '%s is sent compressed, and not again while it is unchanged',
    async (path) => {
      const get = async (headers: Record<string, string>) => {
        // fetch would decompress, and ask for the whole page whatever it has.
        const call = request(new URL(path, api.urls.test), { headers }).end();
        const [response] = (await once(call, 'response')) as [IncomingMessage];
        return { status: response.statusCode, headers: response.headers, content: await buffer(response) };
      };
      const first = await get({ 'accept-encoding': 'gzip' });
      expect(first.status).toBe(200);
      expect(first.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-cache' });
      // The length is known in advance: it was not compressed for this request.
      expect(first.headers['content-length']).toBe(String(first.content.length));
      const again = await get({ 'accept-encoding': 'gzip', 'if-none-match': first.headers.etag ?? '' });
      expect([again.status, again.content.length]).toEqual([304, 0]);
      const plain = await get({ 'if-none-match': 'W/"another"' });
      expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
      expect(gunzipSync(first.content).equals(plain.content)).toBe(true);
    },
  );

  test.each([
    ['test', 1],
    ['live', 60],
  ] as const)('%s documents the shortest time to pay, %s s, as it is', async (environment, minimum) => {
    const { paths } = (await (await fetch(`${api.urls[environment]}/openapi.json`)).json()) as {
      paths: {
        '/payments': { post: { requestBody: { content: Record<string, { schema: z.core.JSONSchema.Schema }> } } };
      };
    };
    const { schema } = paths['/payments'].post.requestBody.content['application/json'] ?? {};
    expect(schema?.properties?.expiresIn).toMatchObject({ minimum });
    const target =
      environment === 'test' ? api.organisation.settlementWalletId : api.organisation.liveSettlementWalletId;
    const create = async (expiresIn: number) =>
      (
        await api[environment].money('/payments', {
          method: 'virtual_wallet',
          baseAmount: 1_000,
          targetWalletId: target,
          expiresIn,
        })
      ).status;
    expect([await create(minimum - 1), await create(minimum)]).toEqual([400, 201]);
  });

  test.each(ENVIRONMENTS)('%s has no route that is neither documented nor named here', (environment) => {
    const guards = createRequestGuards(api.dependencies);
    const app = createApp(api.dependencies, guards, environment);
    guards.openPages.close();
    const routers = app.middleware.flatMap((each) => {
      const { router, routers: several } = each as { router?: Router; routers?: Router[] };
      return several ?? router ?? [];
    });
    const documented = ROUTES.filter((route) => route.environments?.includes(environment) ?? true);
    const segments = new Set(documented.map(({ path }) => path.split('/')[1]));
    // And those of the document and of the pages.
    expect(routers).toHaveLength(segments.size + 2);
    const served = routers.flatMap(({ stack }) =>
      stack.flatMap(({ path, methods }) =>
        methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
      ),
    );
    const expected = documented.map(({ method, path }) => `${method.toUpperCase()} /v1${path}`);
    const others = served.filter((each) => !expected.includes(each) && !each.startsWith('GET /checkout/assets/'));
    expect(others).toEqual([...OUTSIDE.both, ...OUTSIDE[environment], ...OUTSIDE.payers]);
    expect(served).toEqual(expect.arrayContaining(expected));
  });

  // The client checks each answer against the document.
  test.each(routeCases())('$name answers as documented', async ({ name, route }) => {
    const prepare = goodRequests(api)[name];
    if (prepare === undefined) throw new Error(`add ${name} to test/statements/requests.ts`);
    const answer = await (await prepare())();
    expect(answer.status).toBe(route.success.status);
  });

  test.each(routeCases())('$name is documented for live where live has it', async ({ method, route }) => {
    const path = pathOf(route);
    const answer = await api.live.call(method, path);
    const isDocumented = operationOf({ method, path, environment: 'live' }) !== undefined;
    expect(answer.error?.code !== 'ROUTE_NOT_FOUND' || route.path.startsWith('/rails')).toBe(isDocumented);
  });
});
