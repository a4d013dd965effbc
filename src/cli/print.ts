// Output of commands: one JSON value with --json, else tables, comma-separated values and lines of text. Amounts are
// kobo in JSON, for programs, and naira in tables, for people.
import Table from 'cli-table3';
import { type Kobo, nairaText } from '../money.ts';

/** Prints one JSON value and nothing else to standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints a table with a heading row, or `whenEmpty` when there are no rows. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[], whenEmpty: string): void {
  if (rows.length === 0) {
    printLine(whenEmpty);
    return;
  }
  const table = new Table({ head: [...heading], style: { head: [], border: [] } });
  table.push(...rows.map((row) => [...row]));
  printLine(table.toString());
}

/** Prints comma-separated values (RFC 4180) with a heading row. */
export function printCsv(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  process.stdout.write([heading, ...rows].map((row) => `${row.map(quoted).join()}\r\n`).join(''));
}

/**
 * Reports that a list is truncated, and how to see the rest. On standard error, so that standard output holds only the
 * table or the JSON value.
 */
export function printLeftOut(count: number, total: number, which: string, how: string): void {
  if (count < total) process.stderr.write(`Showing ${count} of ${total}: ${which}. ${how}\n`);
}

/** Formats an amount for people; `-` for null. */
export const moneyText = (amount: Kobo | null): string => (amount === null ? '-' : nairaText(amount));

/** Formats a time in UTC, to the second; `-` for null. */
export const timeText = (at: Date | null): string => at?.toISOString().replace('T', ' ').slice(0, 19) ?? '-';

type Field = string | number | boolean | Date | null | undefined;

/** The rows of a table of names and values. */
export const fieldRows = (fields: Readonly<Record<string, Field>>): string[][] =>
  Object.entries(fields).map(([name, value]) => [name, fieldText(name, value)]);

function fieldText(name: string, value: Field): string {
  if (value instanceof Date) return timeText(value);
  return typeof value === 'number' && /amount$/i.test(name) ? nairaText(value) : String(value ?? '-');
}
