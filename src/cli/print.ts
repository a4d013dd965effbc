// What a command shows: one JSON value for programs (--json), a table or a line for people.
import Table from 'cli-table3';

/** One JSON value and nothing else on standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A table with a heading row. An empty one says so in a sentence instead. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[], whenEmpty: string): void {
  if (rows.length === 0) {
    printLine(whenEmpty);
    return;
  }
  const table = new Table({ head: [...heading], style: { head: [], border: [] } });
  table.push(...rows.map((row) => [...row]));
  printLine(table.toString());
}

/**
 * Says that a list is not whole, and how to see the rest. On standard error, so that what is on standard output stays one
 * table, or one JSON value.
 */
export function printLeftOut(shown: number, total: number, which: string, how: string): void {
  if (shown < total) process.stderr.write(`Showing ${shown} of ${total}: ${which}. ${how}\n`);
}

/** A time as people read it, to the second, in UTC. */
export const timeText = (at: Date | null): string => at?.toISOString().replace('T', ' ').slice(0, 19) ?? '-';
