// The OpenAPI document is the routes, both ways: it is generated from them, every route is in it, and every operation
// in it answers on the hosts that have it.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ROUTES } from '../../src/api/routes/index.ts';
import { ENVIRONMENTS } from '../../src/money.ts';
import { EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { openApiText } from '../../tools/generateOpenApi.ts';
import { templateOf } from '../../tools/openapi/document.ts';
import { goodRequests } from '../statements/requests.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { openApi, operationOf } from '../support/documented.ts';
import { pathOf, routeCases } from '../support/routes.ts';

test('src/api/reference/openapi.json is the output of tools/generateOpenApi.ts', () => {
  const file = new URL('../../src/api/reference/openapi.json', import.meta.url);
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
