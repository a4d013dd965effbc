// The pages that describe the API, in a real browser: the reference with a request to the sandbox, and the page of
// errors that every error links to. They load nothing from other hosts.
import { afterAll, expect, test } from '@jest/globals';
import { startTestApi } from '../support/api.ts';
import { openBrowser, openPage, recordPage, tryReferencePage } from '../support/browser.ts';
import { openApi } from '../support/documented.ts';

const PAGE_LIMIT_MS = 60_000;

let origins: { test: string; live: string };

const api = await startTestApi();
origins = { test: new URL(api.urls.test).origin, live: new URL(api.urls.live).origin };
const browser = await openBrowser();

afterAll(async () => {
  await browser?.close();
  await api.close();
});

test('the reference page shows every operation and event, and sends a request with a test key', async () => {
  const page = await openPage(browser, PAGE_LIMIT_MS);
  const { requested, problems } = recordPage(page);
  expect(await tryReferencePage(page, origins.test, api.test.key ?? '')).toBe('200');
  const shown = await page.locator('.opblock').count();
  const count = (each: object): number =>
    Object.values(each as Record<string, object>).reduce((sum, operations) => sum + Object.keys(operations).length, 0);
  const { paths, webhooks } = openApi as unknown as Record<'paths' | 'webhooks', object>;
  expect(shown).toBe(count(paths) + count(webhooks));
  expect(problems).toEqual([]);
  expect(requested.filter((url) => !url.startsWith(`${origins.test}/`) && !url.startsWith('data:'))).toEqual([]);
  expect(requested).toContain(`${origins.test}/v1/wallets?limit=20`);
});

test.each(['test', 'live'] as const)('an error of the %s host links to its heading on the same host', async (host) => {
  const { headers, error } = await api.client(null, host).get('/wallets');
  const [, link = ''] = headers.get('link')?.match(/^<(.*)>; rel="help"$/) ?? [];
  const page = await openPage(browser, PAGE_LIMIT_MS);
  await page.goto(new URL(link, api.urls[host]).href);
  expect(await page.locator('h3:target').innerText()).toBe(error.code);
});

test('only the sandbox host has the reference page, whose requests move no real money', async () => {
  const statuses = async (path: string): Promise<number[]> => {
    const answers = await Promise.all([fetch(`${origins.test}${path}`), fetch(`${origins.live}${path}`)]);
    return answers.map(({ status }) => status);
  };
  expect(await statuses('/docs')).toEqual([200, 404]);
  expect(await statuses('/docs/errors')).toEqual([200, 200]);
  expect((await fetch(`${origins.test}/docs`, { method: 'POST' })).status).toBe(404);
});

test('the pages of the sandbox host lead to each other, and its root to the guide', async () => {
  const linksOf = async (host: 'test' | 'live', path: string): Promise<string[]> => {
    const text = await (await fetch(`${origins[host]}${path}`)).text();
    return [...text.matchAll(/href="(\/docs[^"#.]*)"/g)].map(([, link]) => link ?? '');
  };
  expect(await linksOf('test', '/docs')).toEqual(['/docs/guide/', '/docs/errors']);
  expect(await linksOf('test', '/docs/errors')).toEqual(['/docs/guide/', '/docs']);
  expect(await linksOf('live', '/docs/errors')).toEqual([]);
  expect((await fetch(`${origins.test}/`, { redirect: 'manual' })).headers.get('location')).toBe('/docs/guide/');
});

test('a page may load scripts and send requests to its own host only, and may not be framed', async () => {
  const { headers } = await fetch(`${origins.test}/docs`);
  const policy = headers.get('content-security-policy') ?? '';
  for (const rule of ["default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'"]) {
    expect(policy).toContain(rule);
  }
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});
