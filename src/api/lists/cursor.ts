// Cursors for keyset pagination (contract, section 4.10): base64url of a position, the page size and the filters,
// signed, and bound to one list of one book. A cursor that was changed, or belongs elsewhere, is INVALID_CURSOR.

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

/** Filters as they stood in the query, by name. */
export type QueryFilters = Readonly<Record<string, unknown>>;

/** What a request for a page comes down to. */
export interface Paging extends PageRequest {
  filters: QueryFilters;
}

/** The page size of a `limit` parameter: anything that is not a whole number from 1 to 100 falls back to 20. */
function pageSize(limit: string | undefined): number {
  if (limit === undefined || !/^[0-9]{1,3}$/.test(limit)) return PAGE_SIZE_DEFAULT;
  const value = Number(limit);
  return value >= 1 && value <= PAGE_SIZE_MAX ? value : PAGE_SIZE_DEFAULT;
}

/**
 * Reads `limit` and `cursor`. A cursor carries its own limit and filters: given alone it goes on with them, and filters
 * that come with it must be the same. Throws INVALID_CURSOR.
 */
export function readPaging(
  keyring: Keyring,
  scope: CursorScope,
  query: { limit?: string | undefined; cursor?: string | undefined; filters: QueryFilters },
): Paging {
  if (query.cursor === undefined) return { limit: pageSize(query.limit), after: null, filters: query.filters };
  const bytes = Buffer.from(query.cursor, 'base64url');
  // Node's decoder skips characters that are not base64url; a cursor is valid in its one spelling only.
  if (bytes.toString('base64url') !== query.cursor || bytes.length <= SIGNATURE_BYTES) {
    throw new ApiError('INVALID_CURSOR');
  }
  const text = bytes.subarray(SIGNATURE_BYTES).toString('utf8');
  if (!keyring.verify('cursor', text, bytes.subarray(0, SIGNATURE_BYTES))) throw new ApiError('INVALID_CURSOR');
  const [place, limit, filters, createdAt, id] = JSON.parse(text) as [string, number, QueryFilters, string, string];
  if (place !== scopeKey(scope)) throw new ApiError('INVALID_CURSOR');
  if (Object.keys(query.filters).length > 0 && canonical(query.filters) !== canonical(filters)) {
    throw new ApiError('INVALID_CURSOR');
  }
  return { limit, after: { createdAt: new Date(createdAt), id }, filters };
}

/** The page of `rows`, which were read with one more than the limit to learn whether another page exists. */
export function paginate<Row>(
  keyring: Keyring,
  scope: CursorScope,
  { limit, filters }: Paging,
  rows: Row[],
  positionOf: (row: Row) => Position,
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return {
    rows: shown,
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

/** The same filters in another order are the same filters. */
const canonical = (filters: QueryFilters): string =>
  JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)));
