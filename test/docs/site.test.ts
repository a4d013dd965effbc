// The documentation as a site: every page is in it, every link leads somewhere, and it works in a real browser, on the
// sandbox host, without loading anything from another.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { buildGuide } from '../../tools/guide/build.ts';
import { CONTENTS } from '../../tools/guide/contents.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { openBrowser, openPage, recordPage } from '../support/browser.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE_LIMIT_MS = 60_000;

describe('the files', () => {
  let folder: string;
  let pages: string[];

  beforeAll(async () => {
    folder = path.join(temporaryFolder(), 'guide');
    await buildGuide(folder);
    pages = globSync('**/*.html', { cwd: folder });
  });

  const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
  /** The values of these attributes, without what has another scheme. */
  const targets = (html: string): string[] =>
    [...html.matchAll(/ (?:href|src)="([^"]*)"/g)]
      .map(([, target = '']) => target)
      .filter((each) => !/^\w+:/.test(each));

  test('every page of the documentation is in the navigation, or is linked from one that is', () => {
    const listed = CONTENTS.flatMap(({ entries }) => entries.map(({ source }) => source));
    const sources = globSync(['*.md', 'docs/*.md', 'docs/guides/*.md', 'docs/rails/*.md'], { cwd: PROJECT });
    expect(sources.filter((source) => !listed.includes(source))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
    const linked = new Set(
      pages.flatMap((page) => targets(read(page)).map((target) => path.posix.join(path.posix.dirname(page), target))),
    );
    expect(pages.filter((page) => ![...linked].some((target) => target.split('#')[0] === page))).toEqual([]);
  });

  test('every link leads to a file of the guide, and to a heading where it names one', () => {
    const broken = pages.flatMap((page) =>
      targets(read(page)).filter((target) => {
        const [file = '', heading] = target.split('#');
        const place = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
        if (place === '../') return false; // the reference
        if (globSync(place, { cwd: folder }).length === 0) return true;
        return heading !== undefined && heading !== '' && !read(place).includes(` id="${heading}"`);
      }),
    );
    expect(broken).toEqual([]);
  });

  test('nothing in a page is inline: it has no script, style or handler of its own', () => {
    const inline = /<script(?![^>]* src=)|<style|<[a-z][^>]* (?:style|on[a-z]+)=/;
    expect(pages.filter((page) => inline.test(read(page)))).toEqual([]);
  });

  test('a guide of the same sources is not built again', async () => {
    expect(await buildGuide(folder)).toBe(null);
  });
});

describe('on the sandbox host', () => {
  let api: TestApi;
  let browser: Browser;
  let origins: { test: string; live: string };

  beforeAll(async () => {
    await buildGuide();
    api = await startTestApi();
    origins = { test: new URL(api.urls.test).origin, live: new URL(api.urls.live).origin };
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await api.close();
  });

  test('a reader finds a guide, chooses a language and searches; nothing is loaded from another host', async () => {
    const page = await openPage(browser, PAGE_LIMIT_MS);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const { requested, problems } = recordPage(page);
    const visible = (language: string) =>
      page.locator(`pre[data-language="${language}"]`).filter({ visible: true }).count();

    await page.goto(`${origins.test}/docs/guide`);
    await page.getByRole('navigation').getByRole('link', { name: 'Pay out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Pay out' }).waitFor();
    // The deferred script has run: until then both languages are shown.
    await page.getByRole('button', { name: 'curl', pressed: true }).waitFor();
    expect([await visible('curl'), await visible('TypeScript')]).toEqual([expect.any(Number), 0]);
    await page.getByRole('button', { name: 'TypeScript' }).click();
    expect([await visible('curl'), await visible('TypeScript')]).toEqual([0, expect.any(Number)]);
    expect(await visible('TypeScript')).toBeGreaterThan(3);
    const shown = page.locator('pre[data-language="TypeScript"]').first();
    await page.getByRole('button', { name: 'Copy' }).filter({ visible: true }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await shown.locator('code').textContent());

    await page.getByRole('searchbox').fill('refund destination required');
    await page.locator('#found a').first().waitFor();
    await page.locator('#found a', { hasText: 'REFUND_DESTINATION_REQUIRED' }).first().click();
    await page.waitForURL(/errors\.html#refund_destination_required$/);
    expect(await page.locator('h3:target').innerText()).toBe('REFUND_DESTINATION_REQUIRED');

    for (const [words, heading] of [
      ['cancel a payment', 'Cancel a payment'],
      ['escrow', 'Commission, splits and escrow'],
      ['commission', 'Commission, splits and escrow'],
    ] as const) {
      await page.getByRole('searchbox').fill(words);
      await page.locator('#found li').first().filter({ hasText: heading }).waitFor();
    }
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.waitForURL(`${origins.test}/docs/`);

    // The choice is kept.
    await page.goto(`${origins.test}/docs/guide/collect.html`);
    await page.getByRole('button', { name: 'TypeScript', pressed: true }).waitFor();
    expect(problems).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(`${origins.test}/`) && !url.startsWith('data:'))).toEqual([]);
  });

  test('a page of a folder has its styles, and on a phone nothing is wider than the screen', async () => {
    const page = await openPage(browser, PAGE_LIMIT_MS);
    await page.setViewportSize({ width: 360, height: 740 });
    for (const name of ['index', 'contract', 'rails/index']) {
      await page.goto(`${origins.test}/docs/guide/${name}.html`);
      const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      const family = await page.evaluate('getComputedStyle(document.body).fontFamily');
      expect({ name, wide, family }).toEqual({ name, wide: false, family: expect.stringContaining('system-ui') });
    }
  });

  test('only files of the guide are served, on the sandbox host alone, and nothing inline runs', async () => {
    const answer = async (origin: string, file: string) => await fetch(`${origin}/docs/guide/${file}`);
    const statuses = async (...files: string[]) =>
      await Promise.all(files.map(async (file) => (await answer(origins.test, file)).status));
    expect(await statuses('', 'contract.html', 'guide.css', 'search.json', 'decisions/index.html')).toEqual(
      Array.from({ length: 5 }, () => 200),
    );
    const outside = [
      'none.html',
      'fingerprint.txt',
      'decisions',
      '..%2f..%2fpackage.json',
      '%2e%2e/%2e%2e/package.json',
    ];
    expect(await statuses(...outside)).toEqual(outside.map(() => 404));
    expect((await answer(origins.live, '')).status).toBe(404);
    const { headers } = await answer(origins.test, 'contract.html');
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"]) {
      expect(policy).toContain(rule);
    }
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  });
});
