// Chromium for tests and screenshots of pages: the one that is installed, headless.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function findBrowser(): string {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const found = folders.flatMap((folder) => BROWSERS.map((name) => path.join(folder, name))).find(existsSync);
  if (found !== undefined) return found;
  throw new Error(
    `No Chromium on PATH (${BROWSERS.join(', ')}). On Debian and Ubuntu: apt-get install chromium; on macOS: brew install --cask chromium.`,
  );
}

/** Chromium's sandbox does not work for root, as in a container; it opens only pages of this service. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findBrowser(), args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });

/** A page of the size of the screenshots in the docs. */
export async function openPage(browser: Browser, limitMs: number): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, timezoneId: 'UTC', locale: 'en-GB' });
  page.setDefaultTimeout(limitMs);
  return page;
}

/** A page on a phone, which may use the clipboard. Its context is closed with the browser, or by the caller. */
export async function openPhone(browser: Browser, limitMs: number, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    ...options,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(limitMs);
  return page;
}

/** What a page asks for and complains about from now on. */
export function recordPage(page: Page): { requested: string[]; problems: string[] } {
  const requested: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  return { requested, problems };
}

/** Opens the reference page, signs in with a key, and tries `GET /wallets`. Returns the status that the page shows. */
export async function tryReferencePage(page: Page, origin: string, key: string): Promise<string> {
  await page.goto(`${origin}/docs`);
  await page.locator('.opblock').first().waitFor();
  await page.locator('.btn.authorize').first().click();
  await page.getByLabel('auth-bearer-value').fill(key);
  await page.locator('.auth-btn-wrapper .authorize').click();
  await page.locator('.auth-btn-wrapper .btn-done').click();
  const operation = page.locator('#operations-Wallets-listWallets');
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const status = operation.locator('.live-responses-table .response-col_status').last();
  await status.waitFor();
  return (await status.innerText()).trim();
}
