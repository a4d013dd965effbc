// Cursors for keyset pagination (contract, section 4.10): base64url of a position, the page size and the filters,
// signed, and bound to one list of one book. A modified cursor, or one of another list or book, is INVALID_CURSOR.

import type { Keyring } from '../../keyring.ts';
import type { Book } from '../../money.ts';
import type { PageRequest, Position } from '../../resources/pages.ts';
import { ApiError } from '../errors.ts';

const PAGE_SIZE_DEFAULT = 20;
const PAGE_SIZE_MAX = 100;
const SIGNATURE_BYTES = 32;

/** The list that a cursor is bound to: its path with the parameters filled in, and its book. */
export interface CursorScope {
  list: string;
  book: Book;
}

/** The unparsed filters of a query string, by name. */
export type QueryFilters = Readonly<Record<string, unknown>>;

export interface Paging extends PageRequest {
  filters: QueryFilters;
}

/** The page size of a `limit` parameter; anything but an integer from 1 to 100 falls back to 20. */
function pageSize(limit: string | undefined): number {
  if (limit === undefined || !/^[0-9]{1,3}$/.test(limit)) return PAGE_SIZE_DEFAULT;
  const value = Number(limit);
  return value >= 1 && value <= PAGE_SIZE_MAX ? value : PAGE_SIZE_DEFAULT;
}

/**
 * Reads `limit` and `cursor`. A cursor carries its own limit and filters, so it is sufficient alone; filters sent with
 * it must equal its own. Throws INVALID_CURSOR.
 */
export function readPaging(
  keyring: Keyring,
  scope: CursorScope,
  query: { limit?: string | undefined; cursor?: string | undefined; filters: QueryFilters },
): Paging {
  if (query.cursor === undefined) return { limit: pageSize(query.limit), after: null, filters: query.filters };
  const bytes = Buffer.from(query.cursor, 'base64url');
  // Node's decoder skips characters that are not base64url; only the canonical encoding of a cursor is valid.
  if (bytes.toString('base64url') !== query.cursor || bytes.length <= SIGNATURE_BYTES) {
    throw new ApiError('INVALID_CURSOR');
  }
  const text = bytes.subarray(SIGNATURE_BYTES).toString('utf8');
  if (!keyring.verify('cursor', text, bytes.subarray(0, SIGNATURE_BYTES))) throw new ApiError('INVALID_CURSOR');
  const [key, limit, filters, createdAt, id] = JSON.parse(text) as [string, number, QueryFilters, string, string];
  if (key !== scopeKey(scope)) throw new ApiError('INVALID_CURSOR');
  if (Object.keys(query.filters).length > 0 && canonical(query.filters) !== canonical(filters)) {
    throw new ApiError('INVALID_CURSOR');
  }
  return { limit, after: { createdAt: new Date(createdAt), id }, filters };
}

/** Builds a page from `rows`, which were read with limit + 1 to detect whether another page exists. */
export function paginate<Row>(
  keyring: Keyring,
  scope: CursorScope,
  { limit, filters }: Paging,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
) {
  const pageRows = rows.slice(0, limit);
  const last = pageRows.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return {
    rows: pageRows,
    pagination: {
      limit,
      hasMore,
      nextCursor: hasMore ? writeCursor(keyring, scope, limit, filters, positionOf(last)) : null,
    },
  };
}

function writeCursor(
  keyring: Keyring,
  scope: CursorScope,
  limit: number,
  filters: QueryFilters,
  { createdAt, id }: Position,
): string {
  const text = JSON.stringify([scopeKey(scope), limit, filters, createdAt.toISOString(), String(id)]);
  return Buffer.concat([keyring.sign('cursor', text), Buffer.from(text)]).toString('base64url');
}

const scopeKey = ({ list, book }: CursorScope): string => `${book.environment} ${book.organisationId} ${list}`;

/** Serialises filters independent of their order. */
const canonical = (filters: QueryFilters): string =>
  JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)));
