// Lists as CSV: the columns are the fields of the resource, and the rows are read page by page as the caller takes
// them, so that an export of any length needs the memory of one page.
import { stringify } from 'csv-stringify/sync';
import { z } from 'zod';
import type { Position } from '../../resources/pages.ts';

/**
 * The columns of a resource: the paths of its fields. Objects are flattened; what has no fixed fields (`metadata`, the
 * `data` of an event) or is a list is JSON in one column.
 */
export function columnsOf(schema: z.ZodType): string[] {
  const plain = unwrapped(schema);
  if (plain instanceof z.ZodDiscriminatedUnion) return Object.keys((plain.options[0] as z.ZodObject).shape);
  if (!(plain instanceof z.ZodObject)) return [''];
  return Object.entries(plain.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
    columnsOf(field).map((path) => (path === '' ? name : `${name}.${path}`)),
  );
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodOptional
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}

/** What a spreadsheet takes for a formula; some skip white space before it. */
const FORMULA = /^(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/u;

/**
 * Items as CSV (RFC 4180). What a spreadsheet would take for a formula is guarded by an apostrophe; null and an empty
 * map are an empty cell.
 */
export const csvText = (columns: readonly string[], items: unknown[], header = false): string =>
  stringify(items, {
    columns: [...columns],
    header,
    record_delimiter: 'windows',
    quoted_match: /[\r\n]/, // only the record delimiter is quoted by itself
    cast: {
      boolean: String,
      string: (value) => (FORMULA.test(value) ? `'${value}` : value),
      object: (value) => (Object.keys(value).length === 0 ? '' : JSON.stringify(value)),
    },
  });

interface Pages<Row> {
  positionOf: (row: Row) => Position;
  /** Reads the rows after a position: at most `limit`, and one more where there are others. */
  read: (after: { createdAt: Date; id: string } | null, limit: number) => Promise<readonly Row[]>;
  /** Rows read at a time. */
  pageSize: number;
}

/** All rows, page by page. The first page is read before this resolves, so that its errors are ordinary responses. */
export async function readPages<Row>({ positionOf, read, pageSize }: Pages<Row>): Promise<AsyncIterable<Row[]>> {
  let rows = await read(null, pageSize);
  async function* pages(): AsyncGenerator<Row[]> {
    for (;;) {
      const page = rows.slice(0, pageSize);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      if (rows.length <= pageSize) return;
      const { createdAt, id } = positionOf(last);
      rows = await read({ createdAt, id: String(id) }, pageSize);
    }
  }
  return pages();
}

interface Export<Row> extends Pages<Row> {
  columns: readonly string[];
  view: (row: Row) => unknown;
}

/** The texts of an export. */
export async function exportCsv<Row>({ columns, view, ...list }: Export<Row>): Promise<AsyncIterable<string>> {
  const pages = await readPages(list);
  async function* texts(): AsyncGenerator<string> {
    yield csvText(columns, [], true);
    for await (const page of pages) yield csvText(columns, page.map(view));
  }
  return texts();
}
