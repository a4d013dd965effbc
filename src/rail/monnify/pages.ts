// Monnify's lists, page by page. Rows move to a later page when rows are added before them, so a cursor has the names
// of the rows of its page, which the next one leaves out.
import { z } from 'zod';
import { type ProviderClient, readAsDocumented } from '../client.ts';
import { unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import { type ListedRow, readRows } from '../rows.ts';
import { timeOf } from './times.ts';
import { replyOf, rowsPage } from './wire.ts';

/** A position in one of several lists that are read one after the other. */
const cursor = z.object({ list: z.string(), page: z.coerce.number().int().nonnegative(), seen: z.array(z.string()) });
export type Cursor = z.infer<typeof cursor>;

export const startOf = (list: string): Cursor => ({ list, page: 0, seen: [] });

export const cursorText = (position: Cursor): string => JSON.stringify(position);

export const cursorOf = (text: string | null, first: string): Cursor =>
  text === null ? startOf(first) : cursor.parse(JSON.parse(text));

/** The rows of a list: their shape, and the fields that have their names and times. */
export interface RowsOf<Row> {
  schema: z.ZodType<Row>;
  names: { ids: readonly string[]; times: readonly string[] };
}

export interface Page<Row> {
  rows: ListedRow<Row>[];
  /** Where the list goes on; null: this was its last page. */
  next: Cursor | null;
}

/** Reads a page of `size` rows. Some lists come without the envelope. */
export async function readPage<Row>(
  client: ProviderClient,
  request: HttpRequest,
  { schema, names }: RowsOf<Row>,
  at: Cursor,
  size: number,
  signal?: AbortSignal,
): Promise<Page<Row>> {
  const response = await client.call(request, signal);
  const isBare = replyOf(response.http) === null && response.http.status === 200;
  const { content, last } = isBare
    ? readAsDocumented(`monnify: ${request.method} ${request.route}`, rowsPage, response.http.json)
    : response.read(rowsPage);
  const all = readRows(client.rail, content, schema, names, timeOf);
  const seen = new Set(at.seen);
  const rows = all.filter(({ reference }) => !seen.has(reference));
  const isLast = (last ?? content.length < size) || content.length === 0;
  if (rows.length === 0 && (all.length === size || !isLast)) throw unclear('monnify', 'a list repeats a page');
  const next = { list: at.list, page: at.page + 1, seen: all.map(({ reference }) => reference) };
  return { rows, next: isLast ? null : next };
}
