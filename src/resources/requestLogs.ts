// The request log in the database: what the API answered, kept for some days. A request id begins with its time, so the
// primary key sorts by time, and retention and filters by time are ranges of it.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Environment } from '../money.ts';
import type { PageRequest } from './pages.ts';

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

/** A row with its environment: requests of both are written together. */
export type LoggedRequest = RequestLogRow & { environment: Environment };

/** Writes requests of one organisation, with one statement. Twice is harmless. */
export async function insertRequestLogs(sql: Sql, organisationId: Uuid, rows: readonly LoggedRequest[]): Promise<void> {
  const column = <Name extends keyof LoggedRequest>(name: Name) => rows.map((row) => row[name]);
  await sql`
    INSERT INTO request_logs (organisation_id, environment, request_id, key_id, method, route, resource, status,
                              error_code, error, idempotency_key, duration_ms, created_at)
    SELECT ${organisationId}::uuid, r.environment, decode(r.request_id, 'hex'), r.key_id, r.method, r.route, r.resource,
           r.status, r.error_code, r.error::json, r.idempotency_key, r.duration_ms, r.created_at
    FROM unnest(
      ${column('environment')}::text[], ${column('requestId')}::text[], ${column('keyId')}::uuid[],
      ${column('method')}::text[], ${column('route')}::text[], ${column('resource')}::text[],
      ${column('status')}::smallint[], ${column('errorCode')}::text[],
      ${rows.map(({ error }) => (error === null ? null : JSON.stringify(error)))}::text[],
      ${column('idempotencyKey')}::text[], ${column('durationMs')}::integer[], ${rows.map(({ createdAt }) => createdAt.toISOString())}::timestamptz[]
    ) AS r (environment, request_id, key_id, method, route, resource, status, error_code, error, idempotency_key,
            duration_ms, created_at)
    ON CONFLICT DO NOTHING`;
}

export interface RequestLogFilters {
  requestId?: string | undefined;
  status?: '2xx' | '4xx' | '5xx' | undefined;
  errorCode?: string | undefined;
  /** Request ids, without the prefix: those of a period. */
  from?: string | undefined;
  to?: string | undefined;
}

/** A page of requests, newest first, plus one row when another page exists. */
export async function listRequestLogs(
  sql: Sql,
  book: Book,
  { requestId, status, errorCode, from, to }: RequestLogFilters,
  page: PageRequest,
): Promise<RequestLogRow[]> {
  const hex = (id: string) => sql`decode(${id}, 'hex')`;
  const floor = Number(status?.[0]) * 100;
  return await sql<RequestLogRow[]>`
    SELECT encode(request_id, 'hex') AS request_id, key_id, method, route, resource, status, error_code, error,
           idempotency_key, duration_ms, created_at
    FROM request_logs l
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
    ${page.after ? sql`AND request_id < ${hex(page.after.id)}` : sql``}
    ${requestId === undefined ? sql`` : sql`AND request_id = ${hex(requestId)}`}
    ${from === undefined ? sql`` : sql`AND request_id >= ${hex(from)}`}
    ${to === undefined ? sql`` : sql`AND request_id < ${hex(to)}`}
    ${status === undefined ? sql`` : sql`AND status >= ${floor} AND status < ${floor + 100}`}
    ${status === '4xx' || status === '5xx' || errorCode !== undefined ? sql`AND status >= 400` : sql``}
    ${errorCode === undefined ? sql`` : sql`AND error_code = ${errorCode}`}
    ORDER BY l.request_id DESC LIMIT ${page.limit + 1}`;
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
