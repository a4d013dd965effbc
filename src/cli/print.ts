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

/** The columns of a table: the heading of each, and its cell in a row. */
type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/** Prints rows as one JSON value or, for people, as a table; `whenEmpty` when there are none. */
export function printRows<Row>(
  { json }: { json?: true },
  rows: readonly Row[],
  columns: Columns<Row>,
  whenEmpty: string,
): void {
  if (json) {
    printJson(rows);
    return;
  }
  const cells = Object.values(columns);
  printTable(
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cell(row))),
    whenEmpty,
  );
}

/** Prints what operators did, from the audit log. */
export const printAudit = (
  entries: readonly { createdAt: Date; operator: string; action: string; reason: string | null }[],
  whenEmpty: string,
): void =>
  printTable(
    ['Time (UTC)', 'Operator', 'Action', 'Reason'],
    entries.map((entry) => [timeText(entry.createdAt), entry.operator, entry.action, entry.reason ?? '-']),
    whenEmpty,
  );

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
