// CSV: lists as files, guarded against formulas, at the memory of a page; payouts from files, with errors by place.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { z } from 'zod';
import { columnsOf, exportCsv } from '../../src/api/lists/csv.ts';
import { requireUuid } from '../../src/ids.ts';
import { type Client, type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** The rows of a list's file. The client checks each file against the OpenAPI document. */
async function rowsOf(path: string, client: Client = api.test): Promise<Record<string, string>[]> {
  const { status, headers, rows } = await client.file(path);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{24}$/);
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[\w-]+\.csv"$/);
  return rows;
}

/**
 * The records of a CSV text as a spreadsheet reads it: a cell is quoted only from its first character on, a break of
 * any kind outside of quotes ends a record, and nothing is trimmed.
 */
function spreadsheet(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n][^,\r\n]*)?)(,|\r\n|[\r\n])/y;
  while (field.lastIndex < text.length) {
    const [, quoted, plain = '', end] = field.exec(text) ?? [];
    if (end === undefined) throw new Error('a field is not quoted as it must be');
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    records.push(record);
    record = [];
  }
  return records;
}

const PYTHON = `
import csv, io, json, sys
json.dump([list(csv.reader(io.StringIO(text, newline=''), strict=True)) for text in json.load(sys.stdin)], sys.stdout)`;

/** The records of each text, as Python's `csv` reads them. */
const python = (texts: readonly string[]): string[][][] =>
  JSON.parse(execFileSync('python3', ['-c', PYTHON], { input: JSON.stringify(texts), encoding: 'utf8' }));

describe('exports', () => {
  test('columns are the fields, objects flattened', () => {
    const schema = z.object({
      id: z.string(),
      from: z.object({ name: z.string().nullable() }).nullable().describe('who'),
      metadata: z.record(z.string(), z.string()),
      list: z.array(z.string()).optional(),
    });
    expect(columnsOf(schema)).toEqual(['id', 'from.name', 'metadata', 'list']);
  });

  test('hostile texts are read back record for record by three readers, guarded where a sheet would compute', async () => {
    const seed = Number(process.env.CSV_SEED ?? Date.now() % 2 ** 31);
    const pieces = ['a', 'é', '"', ',', ';', '\n', '\r', '\r\n', '\t', ' ', '\u00a0', '\u2028', '\u0085', '\ufeff'];
    const formulas = ['=', '+', '-', '@', '＝', '＋', '－', '＠', "'", '|', '%'];
    const hostile = fc
      .array(fc.oneof(fc.constantFrom(...pieces, ...formulas), fc.string({ unit: 'grapheme', maxLength: 2 })), {
        maxLength: 8,
      })
      .map((all) => all.join(''));
    const row = fc.record({ one: hostile, two: hostile, 'deep.three': hostile });
    const files = fc.sample(fc.array(row, { minLength: 1, maxLength: 5 }), { numRuns: 500, seed });
    const columns = ['one', 'two', 'deep.three'] as const;
    const texts = await Promise.all(
      files.map(async (rows) => {
        const view = ({ 'deep.three': three, ...flat }: (typeof rows)[number]) => ({ ...flat, deep: { three } });
        const list = {
          columns,
          view,
          positionOf: () => ({ createdAt: new Date(), id: '' }),
          read: () => Promise.resolve(rows),
          pageSize: 10,
        };
        return (await Array.fromAsync(await exportCsv(list))).join('');
      }),
    );
    const guarded = (value: string): string => (/^(\s*[=+\-@＝＋－＠]|[\t\r])/u.test(value) ? `'${value}` : value);
    const expected = files.map((rows) => [
      [...columns],
      ...rows.map((one) => columns.map((name) => guarded(one[name]))),
    ]);
    expect({ seed, records: texts.map((text) => parse(text)) }).toEqual({ seed, records: expected });
    expect({ seed, records: python(texts) }).toEqual({ seed, records: expected });
    expect({ seed, records: texts.map(spreadsheet) }).toEqual({ seed, records: expected });
  });

  test('a payment has the values of its view', async () => {
    const { test: client } = await api.createOrganisation();
    const body = {
      method: 'bank_transfer',
      baseAmount: 1_000,
      targetWalletId: await api.createWallet(client),
      description: 'A "quoted", long\nname',
      reference: 'order 1',
      metadata: { shop: 'Yaba' },
    };
    const { data } = await client.money('/payments', body);
    const bill = { ...body, method: 'virtual_wallet', reference: null, metadata: null };
    await client.money('/payments', bill);
    const [row, ...more] = await rowsOf('/payments?method=bank_transfer', client);
    expect(more).toEqual([]);
    const { virtualAccount } = data as Resource & { virtualAccount: { accountNumber: string } };
    expect(row).toMatchObject({
      id: data.id,
      description: body.description,
      reference: 'order 1',
      metadata: '{"shop":"Yaba"}',
      payableAmount: String(data.payableAmount),
      settledAt: '',
      'virtualAccount.accountNumber': virtualAccount.accountNumber,
    });
    expect(Object.keys(row ?? {})).toEqual(columnsOf((await import('../../src/resources/publicSchemas.ts')).payment));
  });

  test('every list that has it, with its rows', async () => {
    const [source, destinationWalletId] = [
      await api.createWallet(api.test, { balance: 100_000 }),
      await api.createWallet(),
    ];
    const transfer = await api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId });
    const withdrawal = await api.test.money(`/wallets/${source}/withdraw`, { amount: 100, ...BANK_ACCOUNT });
    const items = [
      { amount: 100, bankAccount: BANK_ACCOUNT, reference: 'a' },
      { amount: 200, destinationWalletId },
    ];
    const payout = await api.test.money('/payouts', { sourceWalletId: source, items });
    expect((await rowsOf(`/transfers?sourceWalletId=${source}`)).map(({ id }) => id)).toEqual([transfer.data.id]);
    const withdrawn = await rowsOf(`/withdrawals?sourceWalletId=${source}`);
    expect(withdrawn).toMatchObject([
      { id: withdrawal.data.id, 'counterparty.bankCode': '058', 'counterparty.accountNumber': '0123456789' },
    ]);
    const [listed] = await rowsOf(`/payouts?sourceWalletId=${source}`);
    expect(listed).toMatchObject({ id: payout.data.id, itemCount: '2', successCount: '0' });
    expect(Object.keys(listed ?? {})).not.toContain('items');
    expect(
      (await rowsOf(`/payouts/${payout.data.id}/items`)).map(({ reference, amount }) => [reference, amount]),
    ).toEqual([
      ['a', '100'],
      ['', '200'],
    ]);
    const statement = await rowsOf(`/wallets/${source}/transactions`);
    const json = (await api.test.get(`/wallets/${source}/transactions?limit=100`)).items;
    expect(statement.map(({ id, component, balanceAfter }) => [id, component, balanceAfter])).toEqual(
      json.map(({ id, component, balanceAfter }) => [id, component, String(balanceAfter)]),
    );
    expect(await rowsOf('/refunds?reference=none')).toEqual([]);
  });

  test.each(['=1+1', '+2348012345678', '-1', '@SUM(A1)', '=HYPERLINK("http://x")'])(
    'the formula %j is guarded',
    async (description) => {
      const [source, destinationWalletId] = [
        await api.createWallet(api.test, { balance: 10 }),
        await api.createWallet(),
      ];
      await api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId, description });
      const [row] = await rowsOf(`/transfers?sourceWalletId=${source}`);
      expect(row?.description).toBe(`'${description}`);
    },
  );

  test('JSON unless CSV is preferred', async () => {
    for (const accept of ['*/*', 'application/json', 'application/json, text/csv;q=0.5', 'text/html']) {
      expect((await api.test.file('/payments', accept)).headers.get('content-type')).toContain('application/json');
    }
    for (const accept of [
      'text/csv, application/json;q=0.5',
      'text/csv; header=present',
      'text/csv;charset=UTF-8, application/json;q=0.9',
      'text/csv; charset=utf-8; header=present, */*;q=0.1',
    ]) {
      const { headers, status } = await api.test.file('/payments', accept);
      expect([accept, status, headers.get('content-type')]).toEqual([accept, 200, 'text/csv; charset=utf-8']);
    }
  });

  test.each([
    ['/payments?nonsense=1', 400],
    ['/payments?cursor=x', 400],
    ['/wallets/nonsense/transactions', 404],
  ])('an error of %s is an ordinary response', async (path, status) => {
    const response = await api.test.file(path);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/json; charset=utf-8',
    ]);
  });

  test('all rows of several pages, each once, and only those of the organisation', async () => {
    const { organisationId, test: client } = await api.createOrganisation();
    const wallet = requireUuid('wallet', await api.createWallet(client));
    await api.sql`
      INSERT INTO withdrawals (organisation_id, environment, id, version, source_wallet_id, amount, fee, status,
                               account_number, account_name, bank_code, bank_name, rail, created_at)
      SELECT ${organisationId}, 'test', gen_random_uuid(), 1, ${wallet}, n, 0, 'processing', '0123456789', 'X', '058', 'GTB',
             'sandbox', now() - (n / 3) * interval '1 ms'
      FROM generate_series(1, 2500) AS n`;
    const rows = (await rowsOf('/withdrawals?limit=5', client)) as { id: string; createdAt: string }[];
    expect(rows).toHaveLength(2_500);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2_500);
    expect(rows.map(({ createdAt }) => createdAt)).toEqual(
      rows
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .toReversed(),
    );
  });

  test('pages are read as they are taken', async () => {
    let reads = 0;
    const texts = await exportCsv<number>({
      columns: ['value'],
      view: (value) => ({ value }),
      positionOf: (value) => ({ createdAt: new Date(0), id: value }),
      read: async (after, limit) => {
        reads += 1;
        const from = Number(after?.id ?? 0);
        return Array.from({ length: limit + 1 }, (_, place) => from + place + 1);
      },
      pageSize: 3,
    });
    const taken: string[] = [];
    for await (const text of texts) {
      taken.push(text);
      if (taken.length === 3) break;
    }
    expect([reads, taken]).toEqual([2, ['value\r\n', '1\r\n2\r\n3\r\n', '4\r\n5\r\n6\r\n']]);
  });
});

describe('payouts from a file', () => {
  const send = async (file: string, query = '', key: string = randomUUID()) =>
    api.test.call('POST', `/payouts${query}`, {
      body: file,
      idempotencyKey: key,
      headers: { 'content-type': 'text/csv' },
    });

  test('it is the payout of the same items as JSON', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 100_000 }), await api.createWallet()];
    const file = [
      '\uFEFFamount,reference,destinationWalletId,accountNumber,bankCode,accountName',
      `1000,one,,0123456789,058,"DANJUMA, CHIDI"`,
      '',
      `2000,,${destination},,,`,
      '',
    ].join('\r\n');
    const query = `?sourceWalletId=${source}&reference=salaries`;
    const key = randomUUID();
    const { status, data } = await send(file, query, key);
    expect([status, data.reference, data.totalAmount, data.sourceWalletId]).toEqual([202, 'salaries', 3_000, source]);
    expect(data.items).toMatchObject([
      { amount: 1_000, reference: 'one', counterparty: { accountNumber: '0123456789', accountName: 'DANJUMA, CHIDI' } },
      { amount: 2_000, reference: null, destinationWalletId: destination },
    ]);
    const again = await send(file, query, key);
    expect([again.data.id, again.headers.get('idempotent-replayed')]).toEqual([data.id, 'true']);
    expect((await send(file, `${query}2`, key)).error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  const places = ({ error }: { error: { details: Record<string, unknown> } }) =>
    (error.details.fields as { line?: number; column?: string; code: string }[]).map(
      ({ line, column, code }) => `${line} ${column} ${code}`,
    );

  test('errors have their line and column, and nothing is accepted', async () => {
    const source = await api.createWallet(api.test, { balance: 100_000 });
    const file = [
      'amount,accountNumber,bankCode,reference',
      '1000,0123456789,058,a',
      '10.5,0123456789,058,b',
      '1000,123,058,a',
      '"1000","0123456789","058","two',
      'lines"',
      '1000,,,d',
    ].join('\n');
    const answer = await send(file, `?sourceWalletId=${source}`);
    expectError(answer, 400, 'VALIDATION_FAILED');
    expect(places(answer)).toEqual([
      '3 amount invalid_type',
      '4 accountNumber invalid_string',
      '6 reference invalid_string',
      '7 undefined custom',
      '4 reference duplicate',
    ]);
    expect(await api.balanceOf(source)).toBe(100_000);
  });

  test.each([
    ['empty cells and lines', 'amount,accountNumber,bankCode,,,,,,\r\n10,0123456789,058,,,,,,\r\n,,,,,,,,\r\n'],
    ['the separator named', 'sep=;\r\namount;accountNumber;bankCode\r\n10;0123456789;058\r\n'],
    ['semicolons', '\uFEFFamount;accountNumber;bankCode\r\n10;0123456789;058\r\n'],
  ])('a spreadsheet writes %s', async (_what, file) => {
    const source = await api.createWallet(api.test, { balance: 100_000 });
    const { status, data } = await send(file, `?sourceWalletId=${source}`);
    expect([status, data.items]).toMatchObject([202, [{ amount: 10, counterparty: { accountNumber: '0123456789' } }]]);
  });

  test('an amount with separators is no number, and the line is that of the file', async () => {
    const answer = await send('sep=,\namount,accountNumber,bankCode\n"10,000",0123456789,058\n');
    expect(places(answer)).toEqual(['3 amount invalid_type']);
  });

  test('errors that the bank list and the wallets reveal too', async () => {
    const source = await api.createWallet(api.test, { balance: 100_000 });
    const file = `amount,accountNumber,bankCode,destinationWalletId\n10,0123456789,000999,\n10,,,${source}\n`;
    const answer = await send(file, `?sourceWalletId=${source}`);
    expect(places(answer)).toEqual(['2 bankCode bank_code_unknown', '3 destinationWalletId same_wallet']);
    const checked = await api.test.call('POST', `/payouts/validate?sourceWalletId=${source}`, {
      body: 'amount,accountNumber,bankCode\n10,0123456789,058\n',
      headers: { 'content-type': 'text/csv' },
    });
    expect([checked.status, checked.data.isValid]).toEqual([200, true]);
  });

  test.each([
    ['amount,accountnumber,bankCode\n1,2,3', '1 accountnumber invalid_csv'],
    ['accountNumber,bankCode\n1,2', '1 amount invalid_csv'],
    ['amount,amount\n1,2', '1 amount invalid_csv'],
    ['amount,bankCode\n1', '2 undefined invalid_csv'],
    ['amount,bankCode\n"1,2', '2 undefined invalid_csv'],
    ['', '1 amount invalid_csv'],
    ['amount\n', 'undefined undefined too_small'],
  ])('the file %j is refused', async (file, place) => {
    const answer = await send(file);
    expect([answer.status, places(answer)]).toEqual([400, [place]]);
  });

  test.each([
    ['between items', 2, 1_200, 2, [202, 4]],
    ['after as many items as a payout may have', 1_000, 900, 0, [202, 1_000]],
    ['beyond what is read', 2, 2_000, 2, [400, ['2001 undefined invalid_csv']]],
  ])('empty lines %s: no item is left out', async (_where, before, empty, after, expected) => {
    const source = await api.createWallet(api.test, { balance: 20_000_000 });
    const lines = (count: number, line: string): string => `${line}\n`.repeat(count);
    const item = '10,0123456789,058';
    const file = `amount,accountNumber,bankCode\n${lines(before, item)}${lines(empty, ' ,,')}${lines(after, item)}`;
    const answer = await send(file, `?sourceWalletId=${source}`);
    expect([answer.status, answer.status === 202 ? answer.data.itemCount : places(answer)]).toEqual(expected);
  });

  test('bytes that are no UTF-8, and an unknown parameter, are refused', async () => {
    const body = Buffer.concat([Buffer.from('amount,reference\n1,'), Buffer.from([0xff, 0xfe])]);
    const answer = await api.test.call('POST', '/payouts', {
      body,
      idempotencyKey: randomUUID(),
      headers: { 'content-type': 'text/csv' },
    });
    expect(places(answer)).toEqual(['1 undefined invalid_csv']);
    expect((await send('amount\n1', '?source=x')).error.code).toBe('VALIDATION_FAILED');
  });

  test('other routes take no CSV', async () => {
    const { error } = await api.test.call('POST', '/wallets', {
      body: 'email\na',
      headers: { 'content-type': 'text/csv' },
    });
    expect(error.code).toBe('UNSUPPORTED_CONTENT_TYPE');
  });
});
