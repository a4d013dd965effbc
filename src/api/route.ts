// The declaration of a route. app.ts applies the rules that all routes share (API key, rate limit, scopes, validation,
// idempotency, envelopes) from this declaration, so a handler contains only its own logic.
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Uuid } from '../ids.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Book, Environment } from '../money.ts';
import type { ApiDependencies } from './dependencies.ts';

export type Scope = 'wallet' | 'payment' | 'transfer' | 'payout' | 'webhook';
export const SCOPES = ['wallet', 'payment', 'transfer', 'payout', 'webhook'] as const satisfies readonly Scope[];

/** The authenticated caller: its API key, and the book that scopes every query of the request. */
export interface Caller {
  keyId: Uuid;
  scopes: readonly Scope[];
  book: Book;
}

/**
 * The input of a handler. `outcome` builds the idempotency record that the handler commits with the money; on a route
 * without Idempotency-Key it returns undefined.
 */
export interface Call<Body, Query> {
  dependencies: ApiDependencies;
  caller: Caller;
  /** The environment of the host that received the request. */
  environment: Environment;
  params: Readonly<Record<string, string>>;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  body: Body;
  query: Query;
  requestId: string;
  outcome: (result: ItemResponse) => IdempotencyOutcome | undefined;
}

export interface ItemResponse {
  status: 200 | 201 | 202;
  data: unknown;
}

export interface Page {
  status: 200;
  data: unknown[];
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
}

export interface Route<Body = unknown, Query = unknown> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below `/v1`, with `:name` for parameters. */
  path: string;
  /** The scope that the API key needs; `any`: any valid key; `none`: a route without authentication. */
  access: Scope | 'any' | 'none';
  /** The environments that have this route; default: both. On the other host it is ROUTE_NOT_FOUND. */
  environments?: readonly Environment[];
  /**
   * For the money POSTs, which require an Idempotency-Key. The handler makes one movement, which commits the key's
   * outcome with it, and no other change that a second attempt must not make.
   */
  idempotent?: true;
  body?: z.ZodType<Body>;
  /** Should be strict, so that unknown parameters are rejected. A route without a query schema takes no parameters. */
  query?: z.ZodType<Query>;
  /** The maximum body size in bytes. */
  bodyBytesMax?: number;
  handle: (call: Call<Body, Query>) => Promise<ItemResponse | Page>;
}

/** Infers the handler's types of body and query from their schemas. */
export function route<Body = undefined, Query = undefined>(declaration: Route<Body, Query>): Route {
  return declaration as Route;
}
