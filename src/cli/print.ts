// Output of commands: one JSON value with --json, else tables, comma-separated values and lines of text. Amounts are
// kobo in JSON, for programs, and naira in tables, for people.
import Table from 'cli-table3';
import { nairaText } from '../money.ts';

/** Prints one JSON value and nothing else to standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints the result of a command: one JSON value, or lines for people; a line that is false is left out. */
export function printResult({ json }: { json?: true }, value: unknown, ...lines: readonly (string | false)[]): void {
  if (json) printJson(value);
  else for (const line of lines) if (line !== false) printLine(line);
}

/** Prints a table with a heading row, or `whenEmpty` when there are no rows. */
function printTable(heading: readonly string[], rows: readonly (readonly string[])[], whenEmpty = ''): void {
  if (rows.length === 0) {
    printLine(whenEmpty);
    return;
  }
  const table = new Table({ head: [...heading], style: { head: [], border: [] } });
  table.push(...rows.map((row) => [...row]));
  printLine(table.toString());
}

type Cell = string | number | boolean | Date | readonly string[] | null | undefined;

/** The columns of a table: fields of its rows, and other cells by their headings. */
export type Columns<Row> = readonly ((keyof Row & string) | Readonly<Record<string, (row: Row) => Cell>>)[];

/** How a command prints its result. */
export interface Format {
  json?: true;
  format?: 'table' | 'csv' | 'json';
}

/**
 * Prints rows as one JSON value, by default the rows themselves, as comma-separated values or, for people, as a table:
 * `whenEmpty` when there are none.
 */
export function printRows<Row>(
  { json, format }: Format,
  rows: readonly Row[],
  columns: Columns<Row>,
  whenEmpty?: string,
  value: unknown = rows,
): void {
  const shown = columns.flatMap((column) =>
    typeof column === 'string' ? [fieldColumn<Row>(column)] : Object.entries(column),
  );
  const heading = shown.map(([name]) => name);
  const cells = rows.map((row) => shown.map(([name, cellOf]) => cellText(name, cellOf(row))));
  if (json || format === 'json') printJson(value);
  else if (format === 'csv') printCsv(heading, cells);
  else printTable(heading, cells, whenEmpty);
}

/** A field under its name in words: `createdAt` is `Created (UTC)`. */
function fieldColumn<Row>(field: keyof Row & string): [string, (row: Row) => Cell] {
  const words = field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/ at$/, ' (UTC)');
  return [words.charAt(0).toUpperCase() + words.slice(1), (row) => row[field] as Cell];
}

/** Prints what operators did, from the audit log. */
export const printAudit = (
  entries: readonly { createdAt: Date; operator: string; action: string; reason: string | null }[],
  whenEmpty?: string,
): void => printRows({}, entries, ['createdAt', 'operator', 'action', 'reason'], whenEmpty);

/** Prints comma-separated values (RFC 4180) with a heading row. */
function printCsv(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  process.stdout.write([heading, ...rows].map((row) => `${row.map(quoted).join()}\r\n`).join(''));
}

/** Reports a truncated list, on standard error: standard output holds only the table or the JSON value. */
export function printLeftOut(count: number, total: number, which: string, how: string): void {
  if (count < total) process.stderr.write(`Showing ${count} of ${total}: ${which}. ${how}\n`);
}

/** Formats a time in UTC, to the second; `-` for null. */
export const timeText = (at: Date | null): string => at?.toISOString().replace('T', ' ').slice(0, 19) ?? '-';

/** Prints a table of the fields of one thing, by their names. */
export const printFields = (kind: string, id: string, fields: Readonly<Record<string, Cell>>): void =>
  printTable(
    [kind, id],
    Object.entries(fields).map(([name, value]) => [name, cellText(name, value)]),
  );

/** The names of fields with an amount. */
const OF_MONEY = /(amount|balance|owed|fee)$/i;

/** Formats the value of a field for people: an amount, by the field's name, in naira; `-` for null. */
function cellText(name: string, value: Cell): string {
  if (value instanceof Date) return timeText(value);
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'number' && OF_MONEY.test(name) ? nairaText(value) : String(value ?? '-');
}
