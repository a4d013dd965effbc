// The statement of a wallet for a month: its balances, and the file that a customer or an accountant opens.
import { randomUUID } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { asSuperuser } from '../support/stack.ts';

const api = await startTestApi();

afterAll(() => api.close());

const LAGOS_MS = 3_600_000;
const monthOf = (ms: number): string => new Date(ms + LAGOS_MS).toISOString().slice(0, 7);
const thisMonth = monthOf(Date.now());
/** The first moment of this month in Lagos. */
const begin = Date.parse(`${thisMonth}-01T00:00:00+01:00`);
const lastMonth = monthOf(begin - 1);
const BANK_ACCOUNT = { accountNumber: '0012345678', bankCode: '058' };

/** A wallet that received 10,000 and then paid: a withdrawal of 1,000 with its fee of 2,500. */
async function walletWithEntries(reference: string = randomUUID()): Promise<string> {
  const walletId = await api.createWallet(api.test, { balance: 10_000 });
  const body = { amount: 1_000, ...BANK_ACCOUNT, narration: '=SUM(A1)', reference };
  await api.test.money(`/wallets/${walletId}/withdraw`, body);
  return walletId;
}

const csv = async (walletId: string, query = '', month = thisMonth) =>
  (await api.test.file(`/wallets/${walletId}/statements/${month}${query}`)).rows;

describe('GET /wallets/:id/statements/:month', () => {
  test('JSON has the balances; a month that is over is complete', async () => {
    const walletId = await walletWithEntries();
    const { status, data } = await api.test.get(`/wallets/${walletId}/statements/${thisMonth}`);
    const balances = { openingBalance: 0, closingBalance: 6_500, currency: 'NGN' };
    expect([status, data]).toEqual([200, { walletId, month: thisMonth, ...balances, isComplete: false }]);
    const earlier = await api.test.get(`/wallets/${walletId}/statements/2026-01`);
    expect(earlier.data).toMatchObject({ openingBalance: 0, closingBalance: 0, isComplete: true });
  });

  test('CSV is oldest first between the balances, with account numbers and words that survive a spreadsheet', async () => {
    const walletId = await walletWithEntries('savings-1');
    const rows = await csv(walletId);
    expect(rows.map((row) => [row['Money out (NGN)'], row['Money in (NGN)'], row['Balance (NGN)']])).toEqual([
      ['', '', '0.00'],
      ['', '100.00', '100.00'],
      ['10.00', '', '90.00'],
      ['25.00', '', '65.00'],
      ['35.00', '100.00', '65.00'],
    ]);
    const last = rows.at(-1);
    expect([rows[0]?.Type, last?.Type]).toEqual(['Opening balance', expect.stringMatching(/^Balance at 20\d\d-/)]);
    expect(rows[2]).toMatchObject({
      Date: expect.stringMatching(new RegExp(`^${thisMonth}-\\d\\d \\d\\d:\\d\\d:\\d\\d$`)),
      Type: 'Withdrawal hold',
      Description: "'=SUM(A1)",
      Reference: 'savings-1',
      Account: '0012345678 at bank 058',
      Transaction: expect.stringMatching(/^svc_\w+_txn\/1$/),
    });
    expect(rows[3]?.Type).toBe('Withdrawal hold (fee)');
  });

  test('kobo by choice', async () => {
    const rows = await csv(await walletWithEntries(), '?unit=kobo');
    expect(rows.map((row) => row['Balance (kobo)'])).toEqual(['0', '10000', '9000', '6500', '6500']);
  });

  test('an entry belongs to the month of Lagos in which it moved, and the balances of the months meet', async () => {
    const walletId = await walletWithEntries();
    // As if the credit had come in the last millisecond of last month, and the withdrawal been made in the next one.
    const [{ accountId } = {}] = await api.sql`
      SELECT a.id AS account_id FROM wallets w JOIN ledger.accounts a ON a.code = w.account_code
      WHERE w.id = ${requireUuid('wallet', walletId)}`;
    await asSuperuser(api.databaseUrl, async (sql) => {
      await sql`
        WITH moved AS (
          UPDATE ledger.postings
          SET created_at = to_timestamp((${begin}::float8 - CASE WHEN credit_account_id = ${accountId} THEN 1 ELSE 0 END) / 1000)
          WHERE ${accountId} IN (debit_account_id, credit_account_id) RETURNING transaction_id, created_at
        )
        UPDATE ledger.transactions t SET created_at = m.created_at, moved_at = m.created_at FROM moved m
        WHERE t.id = m.transaction_id`;
    });
    const [before, after] = [await csv(walletId, '', lastMonth), await csv(walletId)];
    expect(before.map(({ Type }) => Type)).toEqual(['Opening balance', expect.any(String), 'Closing balance']);
    expect([before.at(-1)?.['Balance (NGN)'], after[0]?.['Balance (NGN)']]).toEqual(['100.00', '100.00']);
    expect(after).toHaveLength(4);
    const months = await Promise.all(
      [lastMonth, thisMonth].map((month) => api.test.get(`/wallets/${walletId}/statements/${month}`)),
    );
    expect(months.map(({ data }) => [data.openingBalance, data.closingBalance])).toEqual([
      [0, 10_000],
      [10_000, 6_500],
    ]);
  });

  test('PDF has the same entries as text that can be copied, and the headings on every page', async () => {
    const walletId = await api.createWallet();
    await api.test.call('PATCH', `/wallets/${walletId}`, { body: { fullName: 'Ṣadé Ọmọtọ́lá' } });
    const source = await api.createWallet(api.test, { balance: 10_000 });
    for (let order = 1; order <= 60; order += 1) {
      const body = { amount: 100, destinationWalletId: walletId, description: `Order ${order} for Ẹniọlá` };
      await api.test.money(`/wallets/${source}/transfer`, body);
    }
    const { headers, bytes } = await api.test.file(`/wallets/${walletId}/statements/${thisMonth}`, 'application/pdf');
    expect(headers.get('content-type')).toBe('application/pdf');
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="wallets-\w+-statements-[\d-]+\.pdf"$/);
    const pages = pdfPages(bytes);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(page).toContain('Moneyout');
    const text = pages.join('').normalize('NFC');
    expect(text).toContain('ṢadéỌmọtọ́lá'.normalize('NFC'));
    const orders = Array.from({ length: 60 }, (_, index) => `Order${index + 1}forẸniọlá1.00${index + 1}.00`);
    expect(text.match(/Order\d+forẸniọlá1\.00\d+\.00/g)).toEqual(orders);
  });

  test.each(['2026-13', '202601', 'now', '9999-12', '0001-01'])('the month %s is refused', async (month) => {
    const walletId = await api.createWallet();
    const answer = await api.test.get(`/wallets/${walletId}/statements/${month}`);
    expectError(answer, 400, 'VALIDATION_FAILED');
    expect(answer.error.details).toMatchObject({ fields: [{ field: 'month' }] });
  });

  test('a wallet of another organisation is unknown, and an unknown unit refused', async () => {
    const walletId = await api.createWallet();
    const other = await api.createOrganisation();
    const path = `/wallets/${walletId}/statements/${thisMonth}`;
    expectError(await other.test.get(path), 404, 'WALLET_NOT_FOUND');
    expectError(await api.test.get(`${path}?unit=dollar`), 400, 'VALIDATION_FAILED');
  });
});

/** The text of each page of a PDF without spaces, by the fonts' tables of what their glyphs stand for. */
function pdfPages(bytes: Buffer): string[] {
  const file = bytes.toString('latin1');
  const objects = new Map(
    [...file.matchAll(/(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id, body]) => [id as string, body as string]),
  );
  const streamOf = (id: string | undefined): string => {
    const [, data = ''] = /stream\n([\s\S]*?)\nendstream/.exec(objects.get(id ?? '') ?? '') ?? [];
    return inflateSync(Buffer.from(data, 'latin1')).toString('latin1');
  };
  const idIn = (text: string | undefined, name: string): string | undefined =>
    new RegExp(`/${name} (\\d+) 0 R`).exec(text ?? '')?.[1];
  const glyphsOf = (font: string | undefined): string[] => {
    const table = streamOf(idIn(objects.get(font ?? ''), 'ToUnicode'));
    return [...table.matchAll(/\[(.*?)\]/gs)].flatMap(([, list = '']) =>
      [...list.matchAll(/<([0-9a-f ]*)>/g)].map(([, hex = '']) =>
        Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'),
      ),
    );
  };
  const pages = [...objects.values()].filter((body) => /\/Type \/Page\n/.test(body));
  return pages.map((page) => {
    const resources = objects.get(idIn(page, 'Resources') ?? '') ?? page;
    let glyphs: string[] = [];
    let text = '';
    for (const [, font, shown] of streamOf(idIn(page, 'Contents')).matchAll(/\/(F\d+) [\d.]+ Tf|\[(.*?)\] TJ/g)) {
      if (font !== undefined) glyphs = glyphsOf(idIn(resources, font));
      else
        for (const [, hex = ''] of (shown ?? '').matchAll(/<([0-9a-f]+)>/g))
          for (const [code] of hex.matchAll(/[0-9a-f]{4}/g)) text += glyphs[Number.parseInt(code, 16)] ?? '\ufffd';
    }
    return text.replaceAll(/\s/g, '');
  });
}
