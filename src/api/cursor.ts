// Cursors for keyset pagination (contract, section 4.10): base64url of a position, the page size and the filters,
// signed, and bound to one list of one book. A cursor that was changed, or belongs elsewhere, is INVALID_CURSOR.
import { createHash } from 'node:crypto';
import { ApiError } from '../errors.ts';
import type { Keyring } from '../keyring.ts';
import type { Book } from '../money.ts';
import type { PageRequest, Position } from '../records/lists.ts';

const PAGE_SIZE_DEFAULT = 20;
const PAGE_SIZE_MAX = 100;
const SIGNATURE_BYTES = 32;

/** What a cursor is bound to: the list, its book and its filters. */
export interface ListScope {
  list: string;
  book: Book;
  filters: Readonly<Record<string, unknown>>;
}

function bindingOf(scope: ListScope): string {
  const filters = Object.entries(scope.filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([scope.list, scope.book.organisationId, scope.book.environment, filters]))
    .digest('base64url')
    .slice(0, 22);
}

/** The page size of a `limit` parameter: anything that is not a whole number from 1 to 100 falls back to 20. */
function pageSize(limit: string | undefined): number {
  if (limit === undefined || !/^[0-9]{1,3}$/.test(limit)) return PAGE_SIZE_DEFAULT;
  const value = Number(limit);
  return value >= 1 && value <= PAGE_SIZE_MAX ? value : PAGE_SIZE_DEFAULT;
}

/** Reads `limit` and `cursor`. A cursor carries its own limit. Throws INVALID_CURSOR. */
export function readPage(
  keyring: Keyring,
  scope: ListScope,
  query: { limit?: string | undefined; cursor?: string | undefined },
): PageRequest {
  if (query.cursor === undefined) return { limit: pageSize(query.limit), after: null };
  const bytes = Buffer.from(query.cursor, 'base64url');
  // Node's decoder skips characters that are not base64url; a cursor is valid in its one spelling only.
  if (bytes.toString('base64url') !== query.cursor || bytes.length <= SIGNATURE_BYTES) {
    throw new ApiError('INVALID_CURSOR');
  }
  const text = bytes.subarray(SIGNATURE_BYTES).toString('utf8');
  if (!keyring.verify('cursor', text, bytes.subarray(0, SIGNATURE_BYTES))) throw new ApiError('INVALID_CURSOR');
  const [binding, limit, createdAt, id] = JSON.parse(text) as [string, number, string, string];
  if (binding !== bindingOf(scope)) throw new ApiError('INVALID_CURSOR');
  return { limit, after: { createdAt: new Date(createdAt), id } };
}

/** The page of `rows`, which were read with one more than the limit to learn whether another page exists. */
export function paginate<Row extends Position>(keyring: Keyring, scope: ListScope, page: PageRequest, rows: Row[]) {
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const hasMore = rows.length > page.limit && last !== undefined;
  return {
    rows: shown,
    pagination: {
      limit: page.limit,
      hasMore,
      nextCursor: hasMore ? writeCursor(keyring, scope, page.limit, last) : null,
    },
  };
}

function writeCursor(keyring: Keyring, scope: ListScope, limit: number, last: Position): string {
  const text = JSON.stringify([bindingOf(scope), limit, last.createdAt.toISOString(), String(last.id)]);
  return Buffer.concat([keyring.sign('cursor', text), Buffer.from(text)]).toString('base64url');
}
