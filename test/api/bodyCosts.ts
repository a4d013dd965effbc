// What hostile bodies cost beside an ordinary one. As a program, it prints that: in a process of its own, whose
// processor time nothing else takes.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
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

/** The least processor time of ten runs, in milliseconds for each byte. */
function costOf(read: Reader['read'], text: string): number {
  const runs = Array.from({ length: 10 }, () => {
    const { user, system } = process.cpuUsage();
    refusalOf(read, text);
    const after = process.cpuUsage();
    return (after.user - user + after.system - system) / 1_000;
  });
  return Math.min(...runs) / text.length;
}

interface Reader {
  read: (text: string) => unknown;
  ordinary: string;
}

const json: Reader = { read: readJson, ordinary: JSON.stringify({ items: ITEMS }) };
const csv: Reader = {
  read: readCsv,
  ordinary: [
    'amount,reference,accountNumber,bankCode,accountName',
    ...ITEMS.map(({ amount, reference, bankAccount: { accountNumber, bankCode, accountName } }) =>
      [amount, reference, accountNumber, bankCode, accountName].join(),
    ),
  ].join('\n'),
};

/** What reads each, and its text. */
export const HOSTILE: Readonly<Record<string, [Reader, string]>> = {
  'CSV of commas': [csv, fill(',')],
  'CSV of line breaks': [csv, fill('\n')],
  'CSV of quotes': [csv, fill('"')],
  'CSV of empty rows': [csv, `amount,reference\n${fill(',\n').slice(20)}`],
  'CSV with a row of commas': [csv, `amount,reference\n${fill(',').slice(20)}`],
  'JSON of commas': [json, fill(',')],
  'JSON of brackets': [json, fill('[')],
  'JSON of spaces': [json, `{"items":[${fill(' ').slice(20)}]}`],
  'an object of spaces': [json, `{"items":{${fill(' ').slice(20)}}}`],
  'half a million items': [json, `{"items":[${fill('0,').slice(20)}0]}`],
  'items that are empty': [json, `{"items":[${fill('{},').slice(30)}{}]}`],
  'items of one field': [json, `{"items":[${fill('{"":0},').slice(35)}{}]}`],
  'unknown fields': [json, fillFields('0')],
  'unknown fields of an item': [json, `{"items":[${fillFields('0')}]}`],
  'keys of metadata': [json, `{"items":[],"metadata":${fillFields('"x"')}}`],
  'an amount of digits': [json, itemWith(`"amount":${fill('1').slice(100)}`)],
  'an amount of fractions': [json, itemWith(`"amount":1.${fill('0').slice(100)}1`)],
  'a name that is escaped': [json, itemWith(`"reference":"${fill('\\n').slice(100)}"`)],
  'a name of marks': [json, itemWith(`"reference":"a${fillMarks('\u0301')}"`)],
  'a name of marks out of order': [
    json,
    itemWith(
      `"reference":"a${fillMarks('\u0301').slice(PAYOUT_BYTES_MAX / 4)}${fillMarks('\u0316').slice(PAYOUT_BYTES_MAX / 4)}"`,
    ),
  ],
  'characters of thirty marks': [
    json,
    itemWith(`"reference":"${fillMarks(`a${'\u0301'.repeat(15)}${'\u0316'.repeat(15)}`)}"`),
  ],
  'wrong values of metadata': [json, `{"items":[],"metadata":${fillFields('0')}}`],
};

export interface Cost {
  /** Milliseconds of processor time for each byte. */
  ordinary: number;
  hostile: number;
  refusalBytes: number;
}

if (import.meta.main) {
  const measureOrdinary = () => new Map([json, csv].map((reader) => [reader, costOf(reader.read, reader.ordinary)]));
  const before = measureOrdinary();
  const hostile = Object.entries(HOSTILE).map(([name, [{ read }, text]]) => ({
    name,
    hostile: costOf(read, text),
    refusalBytes: refusalOf(read, text).length,
  }));
  const after = measureOrdinary(); // the code is warm by now
  const ordinaryOf = ([reader]: [Reader, string]): number => Math.min(before.get(reader) ?? 0, after.get(reader) ?? 0);
  const costs = hostile.map(({ name, ...cost }): [string, Cost] => [
    name,
    { ...cost, ordinary: ordinaryOf(HOSTILE[name] as [Reader, string]) },
  ]);
  console.log(JSON.stringify(Object.fromEntries(costs)));
}
