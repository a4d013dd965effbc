// What a list is: a route that declares its filters, how a page of it is read, and how a row is shown. Page size, cursor
// and pagination (contract, section 4.10) are the same for all, and are done here.
import { z } from 'zod';
import type { PageRequest, Position } from '../../resources/pages.ts';
import { type Call, type Route, route, type Scope } from '../route.ts';
import { parse } from '../schemas.ts';
import { paginate, readPaging } from './cursor.ts';

interface List<Filters extends z.ZodRawShape, Row> {
  path: string;
  access: Scope;
  /** The filters it takes. Other parameters are refused: a misspelt filter must not answer with everything. */
  filters: Filters;
  /** Reads a page, newest first, and one row more when another page exists. */
  find: (
    call: Call<undefined, unknown>,
    filters: z.output<z.ZodObject<Filters>>,
    page: PageRequest,
  ) => Promise<readonly Row[]>;
  view: (row: Row) => unknown;
  /** Where a row stands in the list; `byCreation` for most. */
  positionOf: (row: Row) => Position;
}

/** By its own time and id. */
export const byCreation = ({ createdAt, id }: Position): Position => ({ createdAt, id });

/** No cursor that was ever made: what cannot be read as one stands for it. */
const UNREADABLE_CURSOR = '.';

/**
 * What every list takes. An unusable limit falls back to the default, and an unusable cursor is INVALID_CURSOR, also when
 * one is given twice: that makes a list of it, which is neither. An empty cursor is none, as loops that begin with one send it.
 */
const paging = z.looseObject({
  limit: z.string().optional().catch(undefined),
  cursor: z
    .string()
    .optional()
    .catch(UNREADABLE_CURSOR)
    .transform((cursor) => (cursor === '' ? undefined : cursor)),
});

/** A GET route that answers a list by pages. Throws VALIDATION_FAILED for a bad filter, and INVALID_CURSOR. */
export function listRoute<Filters extends z.ZodRawShape, Row>(list: List<Filters, Row>): Route {
  const contract = z.strictObject(list.filters);
  return route({
    method: 'get',
    path: list.path,
    access: list.access,
    query: paging,
    handle: async (call) => {
      const { limit, cursor, ...given } = call.query;
      const asked = parse(contract, given); // a bad filter is told before a cursor that does not fit it
      const { keyring } = call.services;
      const place = list.path.replaceAll(/:([a-z]+)/gi, (_, name: string) => call.params[name] ?? '');
      const scope = { list: place, book: call.caller.book };
      const page = readPaging(keyring, scope, { limit, cursor, filters: given });
      const filters = cursor === undefined ? asked : parse(contract, page.filters); // a cursor brings its own
      const found = await list.find(call, filters, page);
      const { rows, pagination } = paginate(keyring, scope, page, [...found], list.positionOf);
      return { status: 200, data: rows.map(list.view), pagination };
    },
  });
}
