// Hostile bodies: what a request costs the process is in proportion to its size, whatever its bytes are.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { ApiError } from '../../src/api/errors.ts';
import { parseJson } from '../../src/api/middleware/body.ts';
import { payoutFile } from '../../src/api/payoutFile.ts';
import { PAYOUT_BYTES_MAX, payoutBody } from '../../src/api/payoutRequest.ts';
import { parse } from '../../src/api/schemas.ts';

const item = (index: number) => ({
  amount: 100,
  reference: `salary-${index}`.padEnd(60, 'x'),
  bankAccount: { accountNumber: '0123456789', bankCode: '058', accountName: 'Ada Obi'.padEnd(60, 'x') },
});
const ITEMS = Array.from({ length: 1_000 }, (_, index) => item(index));

const fill = (unit: string): string => unit.repeat(Math.floor(PAYOUT_BYTES_MAX / unit.length));
const fillFields = (value: string): string => {
  const fields: string[] = [];
  for (let size = 0; size < PAYOUT_BYTES_MAX - 50; size += (fields.at(-1)?.length ?? 0) + 1) {
    fields.push(`"${fields.length}":${value}`);
  }
  return `{${fields.join()}}`;
};

/** Of characters of two bytes. */
const fillMarks = (unit: string): string => unit.repeat(Math.floor((PAYOUT_BYTES_MAX - 100) / 2 / unit.length));
const itemWith = (fields: string): string => `{"items":[{${fields}}]}`;

const request = new IncomingMessage(new Socket());
const ctx = new Koa().createContext(request, new ServerResponse(request));

/** How a body is read, up to its refusal. Returns what the caller gets. */
const readJson = (text: string): unknown => {
  const bytes = Buffer.from(text);
  request.headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  return parse(payoutBody, parseJson(ctx, bytes));
};
const readCsv = (text: string): unknown => parse(payoutBody, payoutFile.read(Buffer.from(text)).body);

function refusalOf(read: (text: string) => unknown, text: string): string {
  try {
    return JSON.stringify(read(text));
  } catch (error) {
    if (error instanceof ApiError) return JSON.stringify(error.details);
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}

/** The least processor time of some runs, in milliseconds. */
function costOf(read: (text: string) => unknown, text: string): number {
  const runs = Array.from({ length: 5 }, () => {
    const { user, system } = process.cpuUsage();
    refusalOf(read, text);
    const after = process.cpuUsage();
    return (after.user - user + after.system - system) / 1_000;
  });
  return Math.min(...runs);
}

const ordinaryJson = JSON.stringify({ items: ITEMS });
const ordinaryCsv = [
  'amount,reference,accountNumber,bankCode,accountName',
  ...ITEMS.map(({ amount, reference, bankAccount: { accountNumber, bankCode, accountName } }) =>
    [amount, reference, accountNumber, bankCode, accountName].join(),
  ),
].join('\n');

const HOSTILE: Readonly<Record<string, [(text: string) => unknown, string, string]>> = {
  'CSV of commas': [readCsv, ordinaryCsv, fill(',')],
  'CSV of line breaks': [readCsv, ordinaryCsv, fill('\n')],
  'CSV of quotes': [readCsv, ordinaryCsv, fill('"')],
  'CSV of empty rows': [readCsv, ordinaryCsv, `amount,reference\n${fill(',\n').slice(20)}`],
  'CSV with a row of commas': [readCsv, ordinaryCsv, `amount,reference\n${fill(',').slice(20)}`],
  'JSON of commas': [readJson, ordinaryJson, fill(',')],
  'JSON of brackets': [readJson, ordinaryJson, fill('[')],
  'half a million items': [readJson, ordinaryJson, `{"items":[${fill('0,').slice(20)}0]}`],
  'items that are empty': [readJson, ordinaryJson, `{"items":[${fill('{},').slice(30)}{}]}`],
  'items of one field': [readJson, ordinaryJson, `{"items":[${fill('{"":0},').slice(35)}{}]}`],
  'unknown fields': [readJson, ordinaryJson, fillFields('0')],
  'unknown fields of an item': [readJson, ordinaryJson, `{"items":[${fillFields('0')}]}`],
  'keys of metadata': [readJson, ordinaryJson, `{"items":[],"metadata":${fillFields('"x"')}}`],
  'an amount of digits': [readJson, ordinaryJson, itemWith(`"amount":${fill('1').slice(100)}`)],
  'an amount of fractions': [readJson, ordinaryJson, itemWith(`"amount":1.${fill('0').slice(100)}1`)],
  'a name that is escaped': [readJson, ordinaryJson, itemWith(`"reference":"${fill('\\n').slice(100)}"`)],
  'a name of marks': [readJson, ordinaryJson, itemWith(`"reference":"a${fillMarks('\u0301')}"`)],
  'a name of marks out of order': [
    readJson,
    ordinaryJson,
    itemWith(
      `"reference":"a${fillMarks('\u0301').slice(PAYOUT_BYTES_MAX / 4)}${fillMarks('\u0316').slice(PAYOUT_BYTES_MAX / 4)}"`,
    ),
  ],
  'characters of thirty marks': [
    readJson,
    ordinaryJson,
    itemWith(`"reference":"${fillMarks(`a${'\u0301'.repeat(15)}${'\u0316'.repeat(15)}`)}"`),
  ],
  'wrong values of metadata': [readJson, ordinaryJson, `{"items":[],"metadata":${fillFields('0')}}`],
};

describe.each(Object.entries(HOSTILE))('%s', (_name, [read, ordinary, hostile]) => {
  test('costs no more for each byte than an ordinary payout', () => {
    const perByte = costOf(read, ordinary) / ordinary.length;
    expect(costOf(read, hostile) / hostile.length).toBeLessThan(1.5 * perByte);
  });

  test('is refused in fewer bytes than it has', () => {
    expect(refusalOf(read, hostile).length).toBeLessThan(PAYOUT_BYTES_MAX / 2);
  });
});
