// Monnify's lists, page by page. Rows move to a later page when rows are added before them, so a cursor has the names
// of the rows of its page, which the next one leaves out.
import { z } from 'zod';
import { type ProviderClient, readAsDocumented } from '../client.ts';
import type { HttpRequest } from '../http.ts';
import { replyOf } from './wire.ts';

/** A position in one of several lists that are read one after the other. */
const cursor = z.object({ list: z.string(), page: z.coerce.number().int().nonnegative(), seen: z.array(z.string()) });
export type Cursor = z.infer<typeof cursor>;

export const startOf = (list: string): Cursor => ({ list, page: 0, seen: [] });

export const cursorText = (position: Cursor): string => JSON.stringify(position);

export function cursorOf(text: string | null, first: string): Cursor {
  return text === null ? startOf(first) : cursor.parse(JSON.parse(text));
}

export interface Page<Row> {
  rows: Row[];
  /** Where the list goes on; null: this was its last page. */
  next: Cursor | null;
}

/** Reads a page. Some lists come without the envelope. */
export async function readPage<Row>(
  client: ProviderClient,
  request: HttpRequest,
  schema: z.ZodType<{ content: Row[]; last: boolean }>,
  at: Cursor,
  nameOf: (row: Row) => string,
  signal?: AbortSignal,
): Promise<Page<Row>> {
  const response = await client.call(request, signal);
  const isBare = replyOf(response.http) === null && response.http.status === 200;
  const { content, last } = isBare
    ? readAsDocumented(`monnify: ${request.method} ${request.route}`, schema, response.http.json)
    : response.read(schema);
  const seen = new Set(at.seen);
  const next = { list: at.list, page: at.page + 1, seen: content.map(nameOf) };
  return { rows: content.filter((row) => !seen.has(nameOf(row))), next: last || content.length === 0 ? null : next };
}
