// A payout as a CSV file: a header, and a line for each item. It becomes the body that the same items have as JSON, so
// every rule is checked once; what is wrong is reported by line and column.
import { type CastingContext, CsvError, parse as parseCsv } from 'csv-parse/sync';
import { z } from 'zod';
import { ApiError, type FieldError, invalidField } from './errors.ts';
import { ITEMS_MAX } from './payoutRequest.ts';
import type { CsvUpload, LocationOf } from './route.ts';
import { id, reference } from './schemas.ts';

/** The columns, by the field of an item that each fills. */
const COLUMNS: Readonly<Record<string, string>> = {
  amount: 'amount',
  reference: 'reference',
  destinationWalletId: 'destinationWalletId',
  'bankAccount.accountNumber': 'accountNumber',
  'bankAccount.bankCode': 'bankCode',
  'bankAccount.accountName': 'accountName',
};
const NAMES = Object.values(COLUMNS);
/** Of a file, without the header: lines that are read. Half of them may be empty. */
const LINES_MAX = 2 * ITEMS_MAX;
/** Of a line, whatever a spreadsheet shows. */
const EMPTY_CELLS_MAX = 256;
/** Of a column that does not exist; it may be the whole file. */
const NAME_SHOWN_MAX = 100;

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

export const payoutFile: CsvUpload = {
  query: z.strictObject({ sourceWalletId: id.optional(), reference: reference.optional() }),
  read(file) {
    const [header, ...others] = readRecords(file);
    const rows = others.filter(({ record }) => record.some((cell) => cell !== ''));
    if (others.length === LINES_MAX && rows.length <= ITEMS_MAX)
      throw fileError(others.at(-1)?.info.lines ?? 1, `must have fewer than ${LINES_MAX} lines, empty ones included`);
    // A spreadsheet writes empty cells for columns that it shows: those of no column are left out.
    const last = header?.record.findLastIndex((name) => name !== '') ?? -1;
    const names = header?.record.slice(0, last + 1) ?? [];
    checkHeader(names, header?.info.lines ?? 1);
    const lines = rows.map(({ info }) => info.lines);
    return { body: { items: rows.map((row) => itemOf(names, row)) }, locationOf: locationsOf(lines) };
  },
};

/** An error of the file itself. */
const fileError = (line: number, message: string, column?: string): ApiError =>
  invalidField({ field: '', code: 'invalid_csv', message, line, ...(column !== undefined && { column }) });

function readRecords(file: Buffer): CsvRecord[] {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(file);
  } catch {
    throw fileError(1, 'must be UTF-8');
  }
  // Spreadsheets with a decimal comma separate by semicolons, and some name the separator in a line of its own.
  const [firstLine = ''] = text.split('\n', 1);
  const named = /^\ufeff?sep=(.)\r?$/i.exec(firstLine)?.[1];
  const isBySemicolon = firstLine.includes(';') && !firstLine.includes(',');
  try {
    return parseCsv(text, {
      bom: true,
      delimiter: named ?? (isBySemicolon ? ';' : ','),
      from_line: named === undefined ? 1 : 2,
      info: true,
      skip_empty_lines: true,
      trim: true,
      to: 1 + LINES_MAX, // with the header: no file is read further
      cast: requireColumn,
    }) as unknown as CsvRecord[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw fileError(Number((error as { lines?: number }).lines ?? 1), error.message);
  }
}

/** Called with each cell, so that a line of a million cells ends with the first that belongs to no column. */
function requireColumn(cell: string, { index, lines }: CastingContext): string {
  if (index < NAMES.length || (cell === '' && index < EMPTY_CELLS_MAX)) return cell;
  throw fileError(lines, `a line has at most ${NAMES.length} cells`);
}

/** A misspelt column would leave its values out: it is an error. */
function checkHeader(names: readonly string[], line: number): void {
  const expected = `the header must name columns of ${NAMES.join(', ')}`;
  const wrong = names.find((name, index) => !NAMES.includes(name) || names.indexOf(name) !== index);
  if (wrong !== undefined) throw fileError(line, expected, wrong.slice(0, NAME_SHOWN_MAX));
  if (!names.includes('amount')) throw fileError(line, expected, 'amount');
}

/** An item as JSON has it. An empty cell is a field that was not given; what is no number stays a text. */
function itemOf(names: readonly string[], { record }: CsvRecord): object {
  const cell = (name: string): string | undefined => record[names.indexOf(name)] || undefined;
  const amount = cell('amount');
  const account = {
    accountNumber: cell('accountNumber'),
    bankCode: cell('bankCode'),
    accountName: cell('accountName'),
  };
  return {
    amount: amount !== undefined && /^[0-9]{1,15}$/.test(amount) ? Number(amount) : amount,
    reference: cell('reference'),
    destinationWalletId: cell('destinationWalletId'),
    ...(Object.values(account).some((value) => value !== undefined) && { bankAccount: account }),
  };
}

/** The location of a field such as `items.3.bankAccount.bankCode`. */
const locationsOf =
  (lines: readonly number[]): LocationOf =>
  (field) => {
    const [, position = '', path = ''] = /^items\.(\d+)\.?(.*)$/.exec(field) ?? [];
    const line = lines[Number(position)];
    if (position === '' || line === undefined) return null;
    const column = COLUMNS[path];
    return { line, ...(column !== undefined && { column }) };
  };

/** The error with the locations of its fields; any other error unchanged. */
export function withLocations(error: unknown, locationOf: LocationOf): unknown {
  if (!(error instanceof ApiError) || error.code !== 'VALIDATION_FAILED') return error;
  const fields = (error.details.fields ?? []) as FieldError[];
  const located = fields.map((field) => ({ ...field, ...locationOf(field.field) }));
  return new ApiError('VALIDATION_FAILED', { ...error.details, fields: located });
}
