// `npm run screenshots`: the pictures of the Temporal UI in the docs, taken from a real withdrawal that is stuck and is freed in
// the browser. It starts a stack of its own with throw-away data, so nobody else's flows get into one; `-- --running` takes
// the one of `npm start` instead, which is quicker while this script is being changed.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { type Quickstart, StateFolder } from '../dev/stateFolder.ts';
import { stateFolderPath } from '../src/cli/settings.ts';
import { waitFor } from '../test/support/waitFor.ts';

const START = fileURLToPath(new URL('../dev/start.ts', import.meta.url));
const IMAGES = fileURLToPath(new URL('../docs/images', import.meta.url));
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Larger ones do not belong into a repository. */
const BYTES_MAX = 150_000;
/** The first start builds or fetches what is missing. */
const START_LIMIT_MS = 600_000;
/** The embedded stack parks a flow after half a minute without the rail. */
const PARK_LIMIT_MS = 180_000;
/** A key has 600 requests a minute. */
const LOOK_EVERY_MS = 500;
/** A list that does not have it yet is asked for again after this. */
const LOOK_AGAIN_MS = 10_000;
/** A page of the UI, on a machine that is busy with something else. */
const PAGE_LIMIT_MS = 120_000;
/** An account at another bank whose sends find no rail. */
const UNREACHABLE = '9999999008';

function findBrowser(): string {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const found = folders.flatMap((folder) => BROWSERS.map((name) => path.join(folder, name))).find(existsSync);
  if (found !== undefined) return found;
  throw new Error(
    `No Chromium is on the PATH (${BROWSERS.join(', ')}). On Debian and Ubuntu: apt-get install chromium; on macOS: brew install --cask chromium.`,
  );
}

interface Stack {
  quickstart: Quickstart;
  stop: () => Promise<void>;
}

function runningStack(): Stack {
  const quickstart = new StateFolder(stateFolderPath()).quickstart();
  if (quickstart === undefined) throw new Error('`npm start` does not run here.');
  return { quickstart, stop: () => Promise.resolve() };
}

/** The embedded stack with data of its own, which it forgets when it is stopped. */
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
  return async (method: string, where: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(`${sandboxBaseUrl}${where}`, {
      method,
      headers: {
        authorization: `Bearer ${testApiKey}`,
        ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { data?: Record<string, string>; error?: { code: string } };
    if (answer.data === undefined) throw new Error(`${method} ${where}: ${answer.error?.code}`);
    return answer.data;
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

async function tell(page: Page, quickstart: Quickstart): Promise<void> {
  const call = createCaller(quickstart);
  const wallet = `/wallets/${quickstart.settlementWalletId}`;
  await call('PUT', `/simulations/bank-accounts/${UNREACHABLE}`, { behaviour: 'unavailable' }); // a run before may have mended it
  const { accountNumber } = await call('GET', `${wallet}/deposit-account`);
  await call('POST', '/simulations/inbound-credits', { accountNumber, amount: 10_000_000 });
  await waitFor('the wallet to be funded', async () => {
    await setTimeout(LOOK_EVERY_MS);
    return Number((await call('GET', `${wallet}/balance`)).balance) > 0;
  });
  const { id = '' } = await call('POST', `${wallet}/withdraw`, {
    amount: 2_500_000,
    bankCode: '058',
    accountNumber: UNREACHABLE,
  });

  // Found by its attention.
  const list = `${quickstart.temporalUiUrl}/namespaces/default/workflows`;
  const query = encodeURIComponent('Attention="rail_unreachable"');
  const row = page.getByRole('link', { name: id });
  await waitFor(
    'the withdrawal to be parked and listed',
    async () => {
      await page.goto(`${list}?query=${query}`);
      return await row.waitFor({ timeout: LOOK_AGAIN_MS }).then(
        () => true,
        () => false,
      );
    },
    PARK_LIMIT_MS,
  );
  await take(page, 'attention-list');

  // What it says.
  await row.click();
  await page.getByText('User Metadata').filter({ visible: true }).first().click();
  await waitFor('the details, which have a frame of their own', async () => {
    const found = await Promise.all(page.frames().map((frame) => frame.getByText('Needs attention').count()));
    return found.some((count) => count > 0);
  });
  await take(page, 'attention-details');

  // The bank is back, and an operator sends the update.
  await call('PUT', `/simulations/bank-accounts/${UNREACHABLE}`, { behaviour: 'complete' });
  await page.getByRole('button', { name: 'More Actions' }).first().click();
  await page.getByTestId('update-button').filter({ visible: true }).click();
  const dialog = page.getByRole('dialog').filter({ visible: true });
  await dialog.getByTestId('update-select-button').click();
  await dialog.getByRole('option', { name: 'resolve' }).click();
  await dialog.locator('[contenteditable=true]').click();
  // Laid out as the field does it when it is left: else the buttons would move away from under the click.
  const decision = { action: 'retry', reason: 'the bank is back', operator: 'ada' };
  await page.keyboard.insertText(JSON.stringify(decision, null, 2));
  await dialog.getByText('Send an Update').click();
  await take(page, 'attention-update');
  await dialog.getByRole('button', { name: 'Submit' }).click();
  await dialog.waitFor({ state: 'hidden' });

  // It went on, and ended.
  await waitFor('the withdrawal to be completed', async () => {
    await setTimeout(LOOK_EVERY_MS);
    return (await call('GET', `/withdrawals/${id}`)).status === 'completed';
  });
  await page.goto(`${list}/${id}`);
  await page.getByText('Completed', { exact: true }).filter({ visible: true }).first().waitFor();
  await page.getByText('resolve').filter({ visible: true }).first().scrollIntoViewIfNeeded();
  await take(page, 'attention-history');
}

const executablePath = findBrowser();
mkdirSync(IMAGES, { recursive: true });
const stack = process.argv.includes('--running') ? runningStack() : await startStack();
try {
  // Root, as in a container, has no sandbox of Chromium's; the only pages it opens are our own.
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, timezoneId: 'UTC', locale: 'en-GB' });
    page.setDefaultTimeout(PAGE_LIMIT_MS);
    await tell(page, stack.quickstart);
  } finally {
    await browser.close();
  }
} finally {
  await stack.stop();
}
