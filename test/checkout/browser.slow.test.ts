// The payment page in Chromium, on the screen of a phone, while the sandbox bank pays: in parts, not in time, without
// JavaScript, without a connection for events. Every state and notice is checked by axe-core against WCAG 2.2 AA, in
// light and dark, and those that differ without JavaScript also without it.
import { createHmac } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { startTcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { startTestApi } from '../support/api.ts';
import { openBrowser, openPhone, recordPage } from '../support/browser.ts';
import { type PaymentResource, startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { startReceiver } from '../webhooks/receiver.ts';

const PAGE_LIMIT_MS = 60_000;
/** Of ₦2,000.00, with the fee. */
const PAYABLE = 202_000;

interface CheckoutPayment extends PaymentResource {
  checkoutUrl: string;
}

const flows = await startTestFlows();
const walletId = await flows.createWallet();
const browser = await openBrowser();
const shop = await startReceiver();

afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));

afterAll(async () => {
  await browser?.close();
  await shop.close();
  await flows.close();
});

const create = async (more: object = {}): Promise<CheckoutPayment> =>
  (await flows.createPayment(walletId, 200_000, more)) as CheckoutPayment;

const credit = ({ virtualAccount }: CheckoutPayment, amount: number) =>
  flows.credit(virtualAccount.accountNumber, amount);

/** A phone's page, and what it asked for or complained about. */
async function openRecorded(options?: BrowserContextOptions) {
  const page = await openPhone(browser, PAGE_LIMIT_MS, options);
  return { page, ...recordPage(page) };
}

const headline = (page: Page, text: string) =>
  page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();

const explains = (page: Page, text: string) => page.locator('.explanation', { hasText: text }).waitFor();

interface AxeFindings {
  violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[];
  passes: object[];
}

/** Everything that axe-core finds against WCAG 2.2 A and AA, and its best practices, in light and dark. */
async function findingsOf(page: Page): Promise<string[]> {
  const findings: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(`${axe.source}\n0`);
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations, passes } = await page.evaluate<AxeFindings>(
      `axe.run(document, { runOnly: ${JSON.stringify(tags)} })`,
    );
    if (passes.length < 10) findings.push(`${colorScheme}: axe has checked almost nothing`);
    findings.push(
      ...violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${colorScheme} ${id} ${target.join(' ')}: ${failureSummary}`),
      ),
    );
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return findings;
}

/**
 * The findings about a page that has no JavaScript, which axe-core needs: another page shows the same HTML, with the
 * content of `noscript` in its place and without the page's script.
 */
async function findingsWithoutScript(shown: Page): Promise<string[]> {
  const { page } = await openRecorded();
  await page.route(shown.url(), async (route) => {
    const html = await (await route.fetch()).text();
    const body = html.replaceAll(/<\/?noscript>/g, '').replace(/<script [^>]*><\/script>/, '');
    await route.fulfill({ contentType: 'text/html', body });
  });
  await page.goto(shown.url());
  expect(await page.locator('script, noscript').count()).toBe(0);
  return await findingsOf(page);
}

describe('on a phone', () => {
  test('a payment is made in two parts, which the page shows as they arrive, and leads back to the shop', async () => {
    const endpoint = await flows.test.post('/webhook-endpoints', { url: shop.url, eventTypes: ['payout.failed'] });
    const payment = await create({
      description: 'Order 7',
      reference: 'order-7',
      returnUrl: `${shop.url}/thanks?order=7`,
    });
    const { page, requested, problems } = await openRecorded();
    await page.goto(payment.checkoutUrl);

    await headline(page, 'Transfer ₦2,020.00');
    await page.getByText(payment.virtualAccount.accountNumber, { exact: true }).waitFor();
    const clock = page.getByRole('timer');
    await waitFor('the countdown', async () => /^(29|30):\d\d$/.test(await clock.innerText()));
    const shown = await clock.innerText();
    await waitFor('the countdown to go on', async () => (await clock.innerText()) !== shown);
    for (const [name, copied] of [
      ['Amount', '2020.00'],
      ['Account number', payment.virtualAccount.accountNumber],
    ] as const) {
      await page.getByRole('button', { name: `Copy ${name}` }).tap();
      await page.getByRole('button', { name: `Copied ${name}` }).waitFor();
      expect(await page.getByRole('status').innerText()).toBe(`${name} copied`);
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(copied);
    }
    expect(await findingsOf(page)).toEqual([]);

    await page.locator('#copy-number').focus();
    await credit(payment, 100_000);
    await headline(page, '₦1,000.00 received, ₦1,020.00 to go');
    expect(await page.getByRole('status').innerText()).toContain('₦1,000.00 received, ₦1,020.00 to go');
    expect(await page.evaluate('document.activeElement.id')).toBe('copy-number');
    expect(await page.locator('.amount').innerText()).toBe('₦1,020.00');
    expect(await findingsOf(page)).toEqual([]);

    await credit(payment, PAYABLE - 100_000);
    await headline(page, 'Payment received');
    expect(await page.title()).toBe('Payment received – Test Ltd');
    expect(await page.getByRole('status').innerText()).toContain('Test Ltd has received your ₦2,020.00.');
    expect(await page.evaluate('document.activeElement.id')).toBe('headline');
    expect(await page.getByText(payment.virtualAccount.accountNumber).count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
    expect(problems).toEqual([]);
    const { origin } = new URL(payment.checkoutUrl);
    expect(requested.filter((url) => !url.startsWith(`${origin}/checkout/`) && url !== 'data:,')).toEqual([]);

    await page.getByRole('link', { name: 'Continue to Test Ltd' }).tap();
    await page.waitForURL('**/thanks?**');
    const visit = (await shop.untilReceived(1)).find(({ path }) => path.includes('/thanks'));
    const query = Object.fromEntries(new URL(visit?.path ?? '', shop.url).searchParams);
    expect(query.order).toBe('7');
    const secret = createHmac('sha256', String(endpoint.data.secret)).update('return-link').digest('base64');
    expect(new Webhook(secret).verify(query.result ?? '', query)).toEqual({
      paymentId: payment.id,
      status: 'settled',
      reference: 'order-7',
    });
    expect(visit?.headers.referer).toBeUndefined();
  });

  test('a payment that is not made in time says so, first by its clock, then when it has ended', async () => {
    const payment = await create({ expiresIn: 2, onMismatch: 'refund' });
    await flows.stopWorker();
    const { page } = await openRecorded();
    try {
      await page.goto(payment.checkoutUrl);
      await headline(page, 'Time is up');
      expect(await page.getByText(payment.virtualAccount.accountNumber).count()).toBe(0);
      expect(await findingsOf(page)).toEqual([]);
    } finally {
      await flows.startWorkerAgain();
    }
    await headline(page, 'This payment has expired');
    await explains(page, 'If you have already sent money, it will be returned to the account you sent it from.');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a part that was not completed in time is shown with what becomes of it', async () => {
    const payment = await create();
    await credit(payment, 100_000);
    await flows.untilStatus(`/payments/${payment.id}`, 'partial');
    const { page } = await openRecorded();
    await page.goto(payment.checkoutUrl);
    await headline(page, '₦1,000.00 received, ₦1,020.00 to go');
    await flows.test.post(`/simulations/payments/${payment.id}/expire`);
    await headline(page, '₦1,000.00 received, being checked');
    await explains(page, 'It was not in time, or not all of ₦2,020.00.');
    expect(await page.getByText(payment.virtualAccount.accountNumber).count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('late money is shown while it is checked, and when it has been sent back', async () => {
    const payment = await create({ onMismatch: 'refund' });
    const { page } = await openRecorded();
    await page.goto(payment.checkoutUrl);
    await flows.test.post(`/simulations/payments/${payment.id}/expire`);
    await headline(page, 'This payment has expired');
    await explains(page, 'No money arrived in time.');
    await credit(payment, PAYABLE);
    await waitFor('the return', async () => {
      const [found] = (await flows.test.get(`/review-cases?paymentId=${payment.id}`)).items;
      return found?.status === 'returned_to_sender';
    });
    await page.reload();
    await explains(page, 'We received ₦2,020.00 and sent it back to the account it came from.');
    expect(await page.getByText('No money arrived in time').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a page whose events are refused polls, and shows a change all the same', async () => {
    const payment = await create();
    const { page, requested } = await openRecorded();
    await page.route('**/events?*', (route) => route.fulfill({ status: 429 }));
    await page.goto(payment.checkoutUrl);
    await headline(page, 'Transfer ₦2,020.00');
    await credit(payment, PAYABLE);
    await headline(page, 'Payment received');
    expect(requested.filter((url) => url.includes('/events'))).not.toHaveLength(0);
  });

  test('a page that was in the background is up to date when it is looked at, and a surplus is shown', async () => {
    const payment = await create();
    const { page } = await openRecorded();
    await page.route('**/events?*', (route) => route.abort()); // the browser connects again only later
    await page.goto(payment.checkoutUrl);
    await headline(page, 'Transfer ₦2,020.00');
    await credit(payment, PAYABLE + 50_000);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await headline(page, 'Payment received');
    await explains(page, 'That is ₦500.00 too much.');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('the page shows a partial refund and a full one', async () => {
    const payment = await create();
    await credit(payment, PAYABLE);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    const { page } = await openRecorded();
    for (const [amount, status, title] of [
      [50_000, 'partially_refunded', 'Payment partly refunded'],
      [150_000, 'refunded', 'Payment refunded'],
    ] as const) {
      const refund = { amount, bankAccount: { accountNumber: '0123456789', bankCode: '058' } };
      expect((await flows.test.money(`/payments/${payment.id}/refund`, refund)).status).toBe(201);
      await flows.untilStatus(`/payments/${payment.id}`, status);
      await page.goto(payment.checkoutUrl);
      await headline(page, title);
      expect(await findingsOf(page)).toEqual([]);
    }
  });

  test('fits the narrowest screens, has targets for thumbs, and stands still where motion is unwanted', async () => {
    const payment = await create({ returnUrl: shop.url, description: 'A'.repeat(500) });
    const { page } = await openRecorded({ viewport: { width: 320, height: 640 }, reducedMotion: 'reduce' });
    await page.goto(payment.checkoutUrl);
    await page.locator('#waiting').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
    const targets = await page.locator('button:visible, a.button:visible').all();
    expect(targets).toHaveLength(3);
    for (const target of targets) {
      const { width = 0, height = 0 } = (await target.boundingBox()) ?? {};
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
    }
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.dot')).animationName`)).toBe('none');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('an address that opens no payment says so', async () => {
    const { page } = await openRecorded();
    await page.goto(`${new URL(flows.urls.test).origin}/checkout/unknown`);
    await headline(page, 'This payment link does not work');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a page that is opened too often, and one during an outage of the database, say so', async () => {
    const payment = await create();
    const { page } = await openRecorded();
    await waitFor('the limit of a payment', async () => (await fetch(payment.checkoutUrl)).status === 429);
    await page.goto(payment.checkoutUrl);
    await headline(page, 'Please wait a minute');
    expect(await findingsOf(page)).toEqual([]);

    const proxy = await startTcpProxy(flows.databaseUrl);
    const other = await startTestApi({ databaseUrl: flows.databaseUrl, databaseUrlOfApi: proxy.url });
    try {
      proxy.refuse();
      const { pathname } = new URL((await create()).checkoutUrl);
      await page.goto(`${new URL(other.urls.test).origin}${pathname}`);
      await headline(page, 'We cannot show this payment right now');
      expect(await findingsOf(page)).toEqual([]);
    } finally {
      proxy.heal();
      await other.close();
      await proxy.close();
    }
  });
});

describe('without JavaScript', () => {
  test('a payment is followed by a link, and has no control that does nothing', async () => {
    const payment = await create();
    const { page } = await openRecorded({ javaScriptEnabled: false });
    await page.goto(payment.checkoutUrl);
    await headline(page, 'Transfer ₦2,020.00');
    expect(await page.getByRole('timer').innerText()).toMatch(/^(29|30) minutes$/);
    expect(await page.locator('button:visible').count()).toBe(0);
    expect(await findingsWithoutScript(page)).toEqual([]);
    await credit(payment, 100_000);
    await flows.untilStatus(`/payments/${payment.id}`, 'partial');
    await page.getByRole('link', { name: 'Check now' }).tap();
    await headline(page, '₦1,000.00 received, ₦1,020.00 to go');
    expect(await findingsWithoutScript(page)).toEqual([]);
    await credit(payment, PAYABLE - 100_000);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    await page.getByRole('link', { name: 'Check now' }).tap();
    await headline(page, 'Payment received');
    expect(await page.getByRole('link').count()).toBe(0);
    expect(await findingsWithoutScript(page)).toEqual([]);
  });

  test('the page loads itself again when the payer has chosen that, and stops when asked', async () => {
    const payment = await create();
    const { page } = await openRecorded({ javaScriptEnabled: false });
    await page.goto(payment.checkoutUrl);
    await page.getByRole('link', { name: 'Reload this page every 15 seconds' }).tap();
    await page.getByRole('link', { name: 'Stop reloading' }).tap();
    await page.getByRole('link', { name: 'Reload this page every 15 seconds' }).tap();
    await page.getByRole('link', { name: 'Stop reloading' }).waitFor();
    await credit(payment, PAYABLE);
    await headline(page, 'Payment received');
    expect(await page.title()).toBe('Payment received – Test Ltd');
  });
});
