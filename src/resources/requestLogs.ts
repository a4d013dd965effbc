// The request log in the database: what the API answered, kept for some days. A request id begins with its time, so the
// primary key sorts by time, and retention and filters by time are ranges of it.
import { arrayLiteral, quotedArrayLiteral } from '../database/arrayLiterals.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { directionOf, type PageRequest } from './pages.ts';

export interface RequestLogRow {
  /** Hexadecimal, without the prefix. */
  requestId: string;
  keyId: Uuid;
  method: string;
  /** The pattern of the path. */
  route: string;
  /** Public id of the resource that the request was about, where there is one. */
  resource: string | null;
  status: number;
  errorCode: string | null;
  /** The details of the error. */
  error: Record<string, unknown> | null;
  idempotencyKey: string | null;
  durationMs: number;
  createdAt: Date;
}

/** A row without the key, which a batch has in common. */
export type LoggedRequest = Omit<RequestLogRow, 'keyId'>;

/**
 * Writes requests of one API key, with one statement. Every answered request is a row, so it is cheap: what all rows
 * have in common is sent once, and the arrays are unnested in the SELECT list, because in FROM each would be
 * materialised first.
 */
export async function insertRequestLogs(
  sql: Sql,
  { organisationId, environment }: Book,
  keyId: Uuid,
  rows: readonly LoggedRequest[],
): Promise<void> {
  const text = (value: (row: LoggedRequest) => string | null) => quotedArrayLiteral(rows, value);
  await sql`
    INSERT INTO request_logs (organisation_id, environment, request_id, key_id, method, route, resource, status,
                              error_code, error, idempotency_key, duration_ms, created_at)
    SELECT ${organisationId}::uuid, ${environment}::text, decode(r.request_id, 'hex'), ${keyId}::uuid, r.method, r.route,
           r.resource, r.status, r.error_code, r.error::json, r.idempotency_key, r.duration_ms, r.created_at
    FROM (
      SELECT unnest(${arrayLiteral(rows, ({ requestId }) => requestId)}::text[]) AS request_id,
             unnest(${text(({ method }) => method)}::text[]) AS method,
             unnest(${text(({ route }) => route)}::text[]) AS route,
             unnest(${text(({ resource }) => resource)}::text[]) AS resource,
             unnest(${arrayLiteral(rows, ({ status }) => status)}::smallint[]) AS status,
             unnest(${text(({ errorCode }) => errorCode)}::text[]) AS error_code,
             unnest(${text(({ error }) => (error === null ? null : JSON.stringify(error)))}::text[]) AS error,
             unnest(${text(({ idempotencyKey }) => idempotencyKey)}::text[]) AS idempotency_key,
             unnest(${arrayLiteral(rows, ({ durationMs }) => durationMs)}::integer[]) AS duration_ms,
             unnest(${arrayLiteral(rows, ({ createdAt }) => createdAt.toISOString())}::timestamptz[]) AS created_at
    ) r`;
}

export interface RequestLogFilters {
  requestId?: string | undefined;
  status?: '2xx' | '4xx' | '5xx' | undefined;
  errorCode?: string | undefined;
  /** Request ids, without the prefix: those of a period. */
  from?: string | undefined;
  to?: string | undefined;
}

/** SQL: with literals, as in the partial indexes. */
const STATUSES = {
  '2xx': (sql: Sql) => sql`status < 300`,
  '4xx': (sql: Sql) => sql`status BETWEEN 400 AND 499`,
  '5xx': (sql: Sql) => sql`status >= 500`,
};

/** A page of requests, plus one row when another page exists. */
export async function listRequestLogs(
  sql: Sql,
  book: Book,
  { requestId, status, errorCode, from, to }: RequestLogFilters,
  page: PageRequest,
): Promise<RequestLogRow[]> {
  const [direction, isAfter] = directionOf(sql, page);
  const hex = (id: string) => sql`decode(${id}, 'hex')`;
  return await sql<RequestLogRow[]>`
    SELECT encode(request_id, 'hex') AS request_id, key_id, method, route, resource, status, error_code, error,
           idempotency_key, duration_ms, created_at
    FROM request_logs l
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
    ${page.after ? sql`AND request_id ${isAfter} ${hex(page.after.id)}` : sql``}
    ${requestId === undefined ? sql`` : sql`AND request_id = ${hex(requestId)}`}
    ${from === undefined ? sql`` : sql`AND request_id >= ${hex(from)}`}
    ${to === undefined ? sql`` : sql`AND request_id < ${hex(to)}`}
    ${status === undefined ? sql`` : sql`AND ${STATUSES[status](sql)}`}
    ${errorCode === undefined ? sql`` : sql`AND error_code = ${errorCode}`}
    ORDER BY l.request_id ${direction} LIMIT ${page.limit + 1}`;
}

/** Deletes requests of a book that are older than this many days, at most so many. Returns how many there were. */
export async function deleteRequestLogs(sql: Sql, book: Book, keptDays: number, rowsMax: number): Promise<number> {
  const { count } = await sql`
    WITH old AS MATERIALIZED (
      SELECT request_id FROM request_logs
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
        AND request_id < decode(lpad(to_hex((extract(epoch FROM now() - make_interval(days => ${keptDays})) * 1000)::bigint), 12, '0'), 'hex')
      ORDER BY request_id LIMIT ${rowsMax}
    )
    DELETE FROM request_logs l USING old
    WHERE l.organisation_id = ${book.organisationId} AND l.environment = ${book.environment}
      AND l.request_id = old.request_id`;
  return count;
}
