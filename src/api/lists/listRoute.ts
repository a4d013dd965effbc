// List routes. A list declares its filters, how to read a page, and the view of a row; page size, cursor and pagination
// (contract, section 4.10) are implemented here for all lists. Most resources have a list and a route that reads one.
import { z } from 'zod';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { Scope } from '../../resources/keys.ts';
import { ORDERS, type PageRequest, type Position } from '../../resources/pages.ts';
import { type ErrorCode, invalidField } from '../errors.ts';
import { kindOf, type Resource, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { createdFilters, parse } from '../schemas.ts';
import { columnsOf, exportCsv } from './csv.ts';
import { paginate, type QueryFilters, readPaging } from './cursor.ts';
import { expandableOf, expandedItem, expandField, expansion } from './expand.ts';

type List<Filters extends z.ZodRawShape, Row, Item> = Pick<Route, 'operationId' | 'errors' | 'path'> & {
  access: Scope | readonly Scope[];
  /** The schema of an item. */
  item: z.ZodType<Item>;
  /** The supported filters. Other parameters are rejected, so that a misspelt filter does not return all rows. */
  filters: Filters;
  /** Reads a page in its order, plus one row when another page exists. */
  find: (call: Call<undefined>, filters: z.output<z.ZodObject<Filters>>, page: PageRequest) => Promise<readonly Row[]>;
  view: (row: Row, call: Call<undefined>) => Item;
  /** How it is written as CSV, if not as usual. */
  csv?: Csv;
} & (Row extends Position ? Partial<Sorted<Row>> : Sorted<Row>);

interface Csv {
  /** The columns; default: all fields of an item. */
  columns?: readonly string[];
  /** The rows that are read at a time; for lists whose rows have many others below them. */
  pageSize?: number;
}

/** Rows of an export that are read at a time: more are no faster, and need more memory. */
const CSV_PAGE_SIZE = 500;

/** A list whose rows are not sorted by creation time and id. */
type Sorted<Row> = { positionOf: (row: Row) => Position };

/** The position of a row by its creation time, then its id. */
export const byCreation = ({ createdAt, id }: Position): Position => ({ createdAt, id });

/** Replaces a cursor that is not a string. It is never a valid cursor, so it leads to INVALID_CURSOR. */
const UNREADABLE_CURSOR = '.';

/**
 * The paging parameters of every list. An invalid limit falls back to the default; an invalid cursor is INVALID_CURSOR.
 * A repeated parameter is parsed as an array, which is invalid too. An empty cursor counts as none, because client
 * loops often start with an empty string.
 */
const paging = z.looseObject({
  limit: z.string().optional().catch(undefined),
  cursor: z
    .string()
    .optional()
    .catch(UNREADABLE_CURSOR)
    .transform((cursor) => (cursor === '' ? undefined : cursor)),
});

/** Parsed with the filters, so that a cursor carries it. */
const orderFilter = z.enum(ORDERS).describe('`asc`: oldest first; default: newest first');

const PAIR = /^metadata\[.*\]$/s;

/** The parameters `metadata[key]` of a query as one, `metadata`, by key. */
function withMetadata(query: QueryFilters): QueryFilters {
  const entries = Object.entries(query);
  const pairs = entries.filter(([name]) => PAIR.test(name));
  if (pairs.length === 0) return query;
  const metadata = Object.fromEntries(pairs.map(([name, value]) => [name.slice('metadata['.length, -1), value]));
  return { metadata, ...Object.fromEntries(entries.filter(([name]) => !PAIR.test(name))) };
}

/**
 * Declares a GET route that returns a paginated list. It throws VALIDATION_FAILED for invalid filters, and
 * INVALID_CURSOR.
 */
export function listRoute<Filters extends z.ZodRawShape, Row, Item>(list: List<Filters, Row, Item>): Route {
  const { operationId, item, errors = [], path, access, find, view, csv = {} } = list;
  const { positionOf = byCreation as (row: Row) => Position } = list as Partial<Sorted<Row>>;
  const expandable = expandableOf(item);
  const own = { order: orderFilter.optional(), ...expandField(expandable) };
  const filterSchema = z.strictObject({ ...(list.filters as z.ZodRawShape), ...own });
  const parseFilters = (query: QueryFilters) => parse(filterSchema, withMetadata(query));
  return route({
    operationId,
    success: { status: 200, data: z.array(expandedItem(item)), paginated: true, files: ['csv'] },
    errors: [...errors, 'INVALID_CURSOR'],
    endpoint: `GET ${path}`,
    access,
    query: paging,
    filters: filterSchema,
    handle: async (call) => {
      const { limit, cursor, ...queryFilters } = call.query;
      const parsedFilters = parseFilters(queryFilters); // an invalid filter is reported before a cursor mismatch
      const { keyring } = call.dependencies;
      const listPath = path.replaceAll(/:([a-z]+)/gi, (_, name: string) => call.params[name] ?? '');
      const scope = { list: listPath, book: call.book };
      const page = readPaging(keyring, scope, { limit, cursor, filters: queryFilters });
      // A cursor carries its own filters.
      const { order, expand, ...given } = cursor === undefined ? parsedFilters : parseFilters(page.filters);
      const filters = given as unknown as z.output<z.ZodObject<Filters>>;
      const ordered = { ...page, order };
      const expanded = expansion(call, expandable, expand);
      if (call.format === 'csv') {
        if (expand !== undefined) throw invalidField({ field: 'expand', code: 'custom', message: 'is for JSON only' });
        const { columns = columnsOf(item), pageSize = CSV_PAGE_SIZE } = csv;
        const read = (after: PageRequest['after'], max: number) =>
          find(call, filters, { limit: max, after: after ?? page.after, order });
        return { file: await exportCsv({ columns, view: (row) => view(row, call), positionOf, read, pageSize }) };
      }
      const { rows, pagination } = paginate(keyring, scope, page, await find(call, filters, ordered), positionOf);
      return { data: await expanded(rows.map((row) => view(row, call))), pagination };
    },
  });
}

type Created = typeof createdFilters;

interface ReadRoutes<Filters extends z.ZodRawShape, Row, Item> {
  /** In the words of its 404. The operations are named after it: `listReviewCases`, `getReviewCase`. */
  resource: Resource;
  path: string;
  access: Scope;
  /** The schema of the resource. */
  item: z.ZodType<Item>;
  /** Besides those by creation time, which every resource has. */
  filters?: Filters;
  list: (
    sql: Sql,
    book: Book,
    filters: z.output<z.ZodObject<Created & Filters>>,
    page: PageRequest,
  ) => Promise<readonly Row[]>;
  find: (sql: Sql, book: Book, id: Uuid) => Promise<Row | null>;
  view: (row: Row, call: Call<undefined>) => Item;
  positionOf?: (row: Row) => Position;
  csv?: Csv;
}

/** The routes that read a resource: `GET` of its path, a list, and `GET` of one by its id. */
export function readRoutes<Filters extends z.ZodRawShape, Row extends Position, Item>(
  declaration: ReadRoutes<Filters, Row, Item>,
): [list: Route, read: Route] {
  const { resource, path, access, item, filters, list, find, view, positionOf = byCreation, csv } = declaration;
  const name = kindOf(resource).replace(/^./, (initial) => initial.toUpperCase());
  const expandable = expandableOf(item);
  return [
    listRoute<Created & Filters, Row, Item>({
      operationId: `list${name}s`,
      item,
      path,
      access,
      filters: { ...createdFilters, ...filters } as Created & Filters,
      find: ({ sql, book }, given, page) => list(sql, book, given, page),
      view,
      positionOf,
      ...(csv !== undefined && { csv }),
    } as List<Created & Filters, Row, Item>),
    route({
      operationId: `get${name}`,
      success: { status: 200, data: expandedItem(item) },
      errors: [`${resource.toUpperCase()}_NOT_FOUND` as ErrorCode],
      endpoint: `GET ${path}/:id`,
      access,
      query: z.strictObject(expandField(expandable)),
      handle: async (call) => {
        const expanded = expansion(call, expandable, call.query.expand);
        const [data] = await expanded([view(await requireRow(call, resource, find), call)]);
        return data as Item;
      },
    }),
  ];
}
