// The declaration of a route. app.ts applies the rules that all routes share (API key, rate limit, scopes, validation,
// idempotency, envelopes) from this declaration, so a handler contains only its own logic.
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Book, Environment } from '../money.ts';
import type { KeyScope, Scope } from '../resources/keys.ts';
import type { Proof } from '../resources/proofs.ts';
import type { ApiDependencies } from './dependencies.ts';
import { ApiError, type ErrorCode } from './errors.ts';

/** A limit of requests a minute that a request counts against, of the caller's key or of one that made it. */
export interface Budget {
  keyId: Uuid;
  /** Null: the default. */
  rateLimit: number | null;
}

/** The authenticated caller: its API key, and the book that scopes every query of the request. */
export interface Caller {
  keyId: Uuid;
  /** Proves to the database who calls. */
  proof: Proof;
  scopes: readonly KeyScope[];
  budgets: readonly [Budget, ...Budget[]];
  book: Book;
}

/** The input of a handler. */
export interface Call<Body = unknown, Query = unknown> {
  dependencies: ApiDependencies;
  /** Of the dependencies: durable connections. */
  sql: Sql;
  caller: Caller;
  /** The book of the caller. */
  book: Book;
  /** The environment of the host that received the request. */
  environment: Environment;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  body: Body;
  query: Query;
  requestId: string;
  /** By the clock of the database: a process whose own clock is wrong dates and expires nothing wrongly. */
  now: Date;
  /**
   * Builds the outcome of the request's Idempotency-Key, which the handler commits with its change; undefined without a
   * key. Where a handler does not build it, it is stored after the handler: only for a change that may be made twice.
   */
  outcome: (data: unknown) => IdempotencyOutcome | undefined;
  /** The same for each attempt at a request with an Idempotency-Key; null without one. */
  repeatId: string | null;
  /** What the caller prefers of what the route has. */
  format: 'json' | FileFormat;
}

export interface Page<Data = unknown> {
  data: Data;
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
}

export type FileFormat = 'csv' | 'pdf';

/** The answer as a file of the format that the caller prefers. */
export interface FileAnswer {
  file: AsyncIterable<string | Uint8Array> | Iterable<string>;
}

/** A body as CSV: how it is read, and the query that goes with it. */
export interface CsvUpload {
  query: z.ZodType<object>;
  /** The body as if it were JSON, without what the query has, and where each part is in the file. */
  read: (file: Buffer) => { body: object; locationOf: LocationOf };
}

/** The location of a field in an uploaded file; null: it has none of its own. */
export type LocationOf = (field: string) => { line: number; column?: string } | null;

/** Its status and the schema of `data`. Documentation and a type: nothing is checked at run time. */
export interface Success<Data> {
  status: 200 | 201 | 202;
  data: z.ZodType<Data>;
  /** For a list: the envelope has `pagination`. */
  paginated?: true;
  /** By `Accept`, in place of JSON; of a list, all of it. */
  files?: readonly FileFormat[];
}

export interface Route<Body = unknown, Query = unknown, Data = unknown> {
  /** The name of the operation in the OpenAPI document, and of the method of generated clients. */
  operationId: string;
  success: Success<Data>;
  /**
   * The errors of this route, besides those of its declaration (key, scope, validation, Idempotency-Key, outages) and
   * the 404 of the resource that its path names by `:id`.
   */
  errors?: readonly ErrorCode[];
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below `/v1`, with `:name` for parameters. */
  path: string;
  /** The scope that the API key needs, or one of several; `any`: any valid key; `none`: without authentication. */
  access: Scope | readonly Scope[] | 'any' | 'none';
  /**
   * Of a route without authentication that serves one organisation: which one. Found before the body is read; it takes
   * a place among those for callbacks. Throws ROUTE_NOT_FOUND. Without it the route takes no place.
   */
  organisationOf?: (
    dependencies: ApiDependencies,
    environment: Environment,
    params: Readonly<Record<string, string>>,
  ) => Promise<Uuid>;
  /** The environments that have this route; default: both. On the other host it is ROUTE_NOT_FOUND. */
  environments?: readonly Environment[];
  /**
   * A POST takes an Idempotency-Key. `required`: it moves money; the handler makes one movement, which commits the
   * key's outcome with it, and no other change that a second attempt must not make. `none`: it creates nothing.
   */
  idempotencyKey?: 'required' | 'none';
  /** `data` has a secret, which is shown once: a stored response is sealed. */
  returnsSecret?: true;
  body?: z.ZodType<Body>;
  /** Should be strict, so that unknown parameters are rejected. A route without a query schema takes no parameters. */
  query?: z.ZodType<Query>;
  /** Of a list: the schema of the query parameters besides `limit` and `cursor`. The list parses them. */
  filters?: z.ZodType;
  /** The maximum body size in bytes. */
  bodyBytesMax?: number;
  /** The body may be CSV. */
  fromCsv?: CsvUpload;
  /** Resolves with the `data` of the response; with a page where the success is paginated. */
  handle: (call: Call<Body, Query>) => Promise<Data | Page<Data> | FileAnswer>;
}

/** Whether requests of the route may have an Idempotency-Key: all POSTs of an API key that create something. */
export const takesIdempotencyKey = ({ method, access, idempotencyKey }: Route): boolean =>
  method === 'post' && access !== 'none' && idempotencyKey !== 'none';

type Declaration<Body, Query, Data> = Omit<Route<Body, Query, Data>, 'method' | 'path'> & {
  /** The method and the path below `/v1`, such as `GET /wallets/:id`. */
  endpoint: `${Uppercase<Route['method']>} ${string}`;
};

/** Infers the handler's types of body, query and response from their schemas. */
export function route<Data extends z.ZodType, Body = undefined, Query = undefined>({
  endpoint,
  ...declared
}: Declaration<Body, Query, z.output<Data>> & { success: { data: Data } }): Route {
  const [method, path] = endpoint.split(' ');
  return { ...declared, method: method?.toLowerCase(), path } as unknown as Route;
}

/** Whether the key has one of these scopes, or with `reads` the reads of one. */
export const hasScope = ({ scopes }: Caller, accepted: readonly Scope[], { reads = false } = {}): boolean =>
  accepted.some((scope) => scopes.includes(scope) || (reads && scopes.includes(`${scope}:read`)));

/** Throws API_KEY_SCOPE_FORBIDDEN unless the key has a scope as of `hasScope`. */
export function requireScope(caller: Caller, accepted: readonly Scope[], options: { reads?: boolean } = {}): void {
  if (hasScope(caller, accepted, options)) return;
  throw new ApiError('API_KEY_SCOPE_FORBIDDEN', { requiredScopes: accepted, providedScopes: [...caller.scopes] });
}
