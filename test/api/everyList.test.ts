// Every list in every media type: JSON is a page, CSV is all rows, whatever the limit.
import { afterAll, expect, test } from '@jest/globals';
import { ROUTES } from '../../src/api/routes/index.ts';
import { fillLists, goodRequests } from '../statements/requests.ts';
import { type Resource, startTestApi } from '../support/api.ts';

/** Time for filling the lists first. */
const LIMIT_MS = 240_000;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  'text/csv': 'text/csv',
  'text/csv, application/json;q=0.5': 'text/csv',
  'application/json, text/csv;q=0.5': 'application/json',
  'application/json': 'application/json',
  '*/*': 'application/json',
  'text/html': 'application/json',
};

const api = await startTestApi();

afterAll(() => api.close());

/** The rows of a list, page by page. A cursor carries the other parameters. */
async function rowsOf(path: string, parameters = 'limit=100'): Promise<Resource[]> {
  const rows: Resource[] = [];
  for (let query = path === '/banks' ? '' : `?${parameters}`; ; ) {
    const { items, pagination } = await api.test.get(`${path}${query}`);
    rows.push(...items);
    if (pagination.nextCursor === null) return rows;
    query = `?cursor=${pagination.nextCursor}`;
  }
}

const countRows = async (path: string, parameters?: string): Promise<number> => (await rowsOf(path, parameters)).length;

/** Lists whose rows change meanwhile: the log, and events, of which those of the last minute are no rows yet. */
const CHANGING: readonly string[] = ['GET /request-logs', 'GET /events', 'GET /banks'];

test(
  'a list is all of its rows as CSV, a page as JSON, and the same rows in both orders',
  async () => {
    const paths: string[] = [];
    const recording = {
      ...api.organisation,
      test: {
        ...api.test,
        get: (path: string) => {
          paths.push(path);
          return api.test.get(path);
        },
      },
    };
    const lists = {
      ...(await fillLists(api, recording)),
      'GET /banks': await goodRequests(api, recording)['GET /banks']?.(),
    };
    const names = ROUTES.filter(({ success }) => success.paginated).map(
      ({ method, path }) => `${method.toUpperCase()} ${path}`,
    );
    expect(Object.keys(lists).toSorted()).toEqual(names.toSorted());
    for (const [name, send] of Object.entries(lists)) {
      await send?.();
      const path = paths.at(-1)?.split('?')[0] ?? '';
      const query = name === 'GET /search' ? 'query=ada@test.example&' : '';
      const [oldest, newest] = CHANGING.includes(name)
        ? [[], []]
        : [await rowsOf(path, `${query}order=asc&limit=45`), await rowsOf(path, `${query}order=desc&limit=45`)];
      expect({ name, rows: oldest }).toEqual({ name, rows: newest.toReversed() });
      const first = name === 'GET /banks' ? path : `${path}?${query}limit=1`;
      for (const [accept, type] of Object.entries(MEDIA_TYPES)) {
        const before = type === 'text/csv' ? await countRows(path, `${query}limit=100`) : 0;
        const { status, headers, rows } = await api.test.file(first, accept);
        expect([name, accept, status, headers.get('content-type')]).toEqual([
          name,
          accept,
          200,
          `${type}; charset=utf-8`,
        ]);
        if (type !== 'text/csv') continue;
        expect(rows.length).toBeGreaterThanOrEqual(before); // the request log grows meanwhile
        expect(rows.length).toBeLessThanOrEqual(await countRows(path, `${query}limit=100`));
      }
    }
  },
  LIMIT_MS,
);
