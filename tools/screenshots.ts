// `npm run generate -- screenshots`: takes the screenshots in the docs: of the Temporal UI, from a withdrawal that is
// parked and then resolved in the browser, of the API reference, of payment pages and of the guide. Starts a separate
// stack with temporary data, so that no other flows are visible.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import type { Quickstart } from '../dev/stateFolder.ts';
import { openBrowser, openPage, openPhone, tryReferencePage } from '../test/support/browser.ts';
import { waitFor } from '../test/support/waitFor.ts';

const START = fileURLToPath(new URL('../dev/start.ts', import.meta.url));
const CLI = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url));
/** Size limit of an image in the repository. */
const BYTES_MAX = 150_000;
/** Includes downloads or builds of the first start. */
const START_LIMIT_MS = 600_000;
/** The embedded stack parks a flow when the rail has been unreachable for 30 seconds. */
const PARK_LIMIT_MS = 180_000;
/** Within the rate limit of 600 requests a minute per key. */
const POLL_MS = 500;
/** Interval for reloading the list until it contains the flow. */
const RELOAD_MS = 10_000;
/** Timeout of UI operations, for a busy machine. */
const PAGE_LIMIT_MS = 120_000;
/** An account for which the sandbox rail is unreachable. */
const UNREACHABLE = '9999999008';

interface Stack {
  quickstart: Quickstart;
  stop: () => Promise<void>;
}

/** Starts the embedded stack with temporary data, which is deleted when it stops. */
async function startStack(): Promise<Stack> {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-screenshots-'));
  const child = spawn(process.execPath, [START], { env: { ...process.env, MANILLA_HOME: folder }, stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
  }
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const isUp = () => {
      if (child.exitCode !== null) throw new Error(`npm start ended:\n${output}`);
      return output.includes('Manilla is running');
    };
    await waitFor('npm start to be ready', isUp, START_LIMIT_MS);
    return { quickstart: JSON.parse(readFileSync(path.join(folder, 'quickstart.json'), 'utf8')), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function createCaller({ sandboxBaseUrl, testApiKey }: Quickstart) {
  return async (method: string, route: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(`${sandboxBaseUrl}${route}`, {
      method,
      headers: {
        authorization: `Bearer ${testApiKey}`,
        ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { data, error } = (await response.json()) as { data?: Record<string, string>; error?: { code: string } };
    if (data === undefined) throw new Error(`${method} ${route}: ${error?.code}`);
    return data;
  };
}

async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const file = path.join(IMAGES, `${name}.png`);
  await page.screenshot({ path: file, animations: 'disabled' });
  const { size } = statSync(file);
  if (size > BYTES_MAX) throw new Error(`${name}.png has ${size} bytes, more than ${BYTES_MAX}`);
  console.log(`docs/images/${name}.png (${Math.ceil(size / 1000)} kB)`);
}

/** The code of the operator of `npm start` for this action in this workflow. */
function makeCode({ databaseUrl, operatorKey }: Quickstart, workflowId: string, action: string): string {
  const output = execFileSync(process.execPath, [CLI, 'operators', 'code', workflowId, action, '--json'], {
    env: { ...process.env, DATABASE_URL: databaseUrl, MANILLA_OPERATOR_KEY: operatorKey },
    encoding: 'utf8',
  });
  return (JSON.parse(output) as { code: string }).code;
}

async function takeScreenshots(page: Page, quickstart: Quickstart): Promise<void> {
  const call = createCaller(quickstart);
  const wallet = `/wallets/${quickstart.settlementWalletId}`;
  // An earlier run may have changed it.
  await call('PUT', `/simulations/bank-accounts/${UNREACHABLE}`, { behaviour: 'unavailable' });
  const { accountNumber } = await call('GET', `${wallet}/deposit-account`);
  await call('POST', '/simulations/inbound-credits', { accountNumber, amount: 10_000_000 });
  await waitFor('the wallet to be funded', async () => {
    await setTimeout(POLL_MS);
    return Number((await call('GET', `${wallet}/balance`)).balance) > 0;
  });
  const { id = '' } = await call('POST', `${wallet}/withdraw`, {
    amount: 2_500_000,
    bankCode: '058',
    accountNumber: UNREACHABLE,
  });

  // The list of parked flows, by search attribute.
  const list = `${quickstart.temporalUiUrl}/namespaces/default/workflows`;
  const query = encodeURIComponent('Attention="rail_unreachable"');
  const row = page.getByRole('link', { name: id });
  await waitFor(
    'the withdrawal to be parked and listed',
    async () => {
      await page.goto(`${list}?query=${query}`);
      return await row.waitFor({ timeout: RELOAD_MS }).then(
        () => true,
        () => false,
      );
    },
    PARK_LIMIT_MS,
  );
  await take(page, 'attention-list');

  // The details of the flow.
  await row.click();
  await page.getByText('User Metadata').filter({ visible: true }).first().click();
  await waitFor('the details, which are in an iframe', async () => {
    const found = await Promise.all(page.frames().map((frame) => frame.getByText('Needs attention').count()));
    return found.some((count) => count > 0);
  });
  await take(page, 'attention-details');

  // The bank is reachable again, and an operator sends the update.
  await call('PUT', `/simulations/bank-accounts/${UNREACHABLE}`, { behaviour: 'complete' });
  await page.getByRole('button', { name: 'More Actions' }).first().click();
  await page.getByTestId('update-button').filter({ visible: true }).click();
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await dialog.getByTestId('update-select-button').click();
  await dialog.getByRole('option', { name: 'resolve' }).click();
  await dialog.locator('[contenteditable=true]').click();
  // Formatted as the editor formats it on blur: otherwise the buttons would move during the click.
  const decision = { action: 'retry', reason: 'the bank is back', code: makeCode(quickstart, id, 'retry') };
  await page.keyboard.insertText(JSON.stringify(decision, null, 2));
  await dialog.getByText('Send an Update').click();
  await take(page, 'attention-update');
  await dialog.getByRole('button', { name: 'Submit' }).click();
  await dialog.waitFor({ state: 'hidden' });

  // The withdrawal continues and completes.
  await waitFor('the withdrawal to be completed', async () => {
    await setTimeout(POLL_MS);
    return (await call('GET', `/withdrawals/${id}`)).status === 'completed';
  });
  await page.goto(`${list}/${id}`);
  await page.getByText('Completed', { exact: true }).filter({ visible: true }).first().waitFor();
  await page.getByText('resolve').filter({ visible: true }).first().scrollIntoViewIfNeeded();
  await take(page, 'attention-history');
}

/** A page of the guide, which `npm start` builds once it is ready. */
async function takeGuide(page: Page, { sandboxBaseUrl }: Quickstart): Promise<void> {
  const url = `${new URL(sandboxBaseUrl).origin}/docs/guide/pay-out.html`;
  await waitFor('the guide to be built', async () => {
    await setTimeout(POLL_MS);
    return (await fetch(url)).ok;
  });
  await page.goto(url);
  await page.getByRole('button', { name: 'curl', pressed: true }).waitFor();
  await take(page, 'guide');
}

/** The reference page, which is first tried with a request to the sandbox. */
async function takeReference(page: Page, { sandboxBaseUrl, testApiKey }: Quickstart): Promise<void> {
  const { origin } = new URL(sandboxBaseUrl);
  const status = await tryReferencePage(page, origin, testApiKey);
  if (status !== '200') throw new Error(`the sandbox answered ${status} to the reference page`);
  // Opened again, without the key.
  await page.goto(`${origin}/docs`);
  await page.locator('.opblock').first().waitFor();
  await take(page, 'reference');
}

/** The payment page on a phone: to be paid, paid in part, paid, expired, expired in part, and in the dark. */
async function takeCheckout(browser: Browser, quickstart: Quickstart): Promise<void> {
  const call = createCaller(quickstart);
  const phone = { viewport: { width: 390, height: 760 } };
  const open = async (
    options = {},
  ): Promise<{ id: string; page: Page; credit: (amount: number) => Promise<unknown> }> => {
    const payment = await call('POST', '/payments', {
      method: 'bank_transfer',
      baseAmount: 2_500_000,
      targetWalletId: quickstart.settlementWalletId,
      description: 'Order 1042: running shoes',
      returnUrl: 'https://shop.example.com/orders/1042',
    });
    const page = await openPhone(browser, PAGE_LIMIT_MS, { ...phone, ...options });
    await page.goto(payment.checkoutUrl ?? '');
    const { accountNumber } = payment.virtualAccount as unknown as { accountNumber: string };
    const credit = (amount: number) => call('POST', '/simulations/inbound-credits', { accountNumber, amount });
    return { id: payment.id ?? '', page, credit };
  };
  const shows = (page: Page, text: string) =>
    page.getByRole('heading', { level: 1 }).filter({ hasText: text }).waitFor();

  const { page, credit } = await open();
  await shows(page, 'Transfer');
  await take(page, 'checkout-awaiting');
  await credit(1_000_000);
  await shows(page, 'to go');
  await take(page, 'checkout-partial');
  await credit(1_518_000);
  await shows(page, 'Payment received');
  await take(page, 'checkout-paid');

  const unpaid = await open();
  await call('POST', `/simulations/payments/${unpaid.id}/expire`);
  await shows(unpaid.page, 'expired');
  await take(unpaid.page, 'checkout-expired');
  const inPart = await open();
  await inPart.credit(1_000_000);
  await shows(inPart.page, 'to go');
  await call('POST', `/simulations/payments/${inPart.id}/expire`);
  await shows(inPart.page, 'being checked');
  await take(inPart.page, 'checkout-expired-partial');
  const dark = await open({ colorScheme: 'dark' });
  await shows(dark.page, 'Transfer');
  await take(dark.page, 'checkout-dark');
}

/** Takes the pictures of these groups; of all without any. */
export async function takeAll(groups: readonly string[]): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  const isWanted = (group: string): boolean => groups.length === 0 || groups.includes(group);
  const browser = await openBrowser();
  try {
    const stack = await startStack();
    try {
      const page = await openPage(browser, PAGE_LIMIT_MS);
      if (isWanted('attention')) await takeScreenshots(page, stack.quickstart);
      if (isWanted('reference')) await takeReference(page, stack.quickstart);
      if (isWanted('checkout')) await takeCheckout(browser, stack.quickstart);
      if (isWanted('guide')) await takeGuide(page, stack.quickstart);
    } finally {
      await stack.stop();
    }
  } finally {
    await browser.close();
  }
}
