// What a route is: a declaration that app.ts turns into a chain of middleware. Every rule that holds for all routes
// (keys, rate, scopes, validation, idempotency, envelopes) reads this declaration; a handler only does its own work.
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Uuid } from '../ids.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Book, Environment } from '../money.ts';
import type { ApiDependencies } from './dependencies.ts';

export type Scope = 'wallet' | 'payment' | 'transfer' | 'payout' | 'webhook';
export const SCOPES = ['wallet', 'payment', 'transfer', 'payout', 'webhook'] as const satisfies readonly Scope[];

/** Who asks: the key, and the book that every query of this request is scoped by. */
export interface Caller {
  keyId: Uuid;
  scopes: readonly Scope[];
  book: Book;
}

/**
 * What a handler is given. `outcome` makes the idempotency record that the handler commits with the money; on a route
 * that takes no Idempotency-Key it makes none.
 */
export interface Call<Body, Query> {
  services: ApiDependencies;
  caller: Caller;
  /** The environment of the host that was asked. */
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
  /** The scope its key needs; `any` for every live key; `none` for a route without authentication. */
  access: Scope | 'any' | 'none';
  /** Where it exists. A route of one environment is ROUTE_NOT_FOUND on the other's host. */
  environments?: readonly Environment[];
  /**
   * One of the money POSTs: requires an Idempotency-Key. `moves`: all that it changes is one movement, which carries its key.
   * `acts_first`: before that it has something done elsewhere, such as an account opened, which two must not begin at once.
   */
  idempotency?: 'with_commit' | 'claim_first';
  body?: z.ZodType<Body>;
  /** Strict: an unknown parameter is refused. A route without one takes no parameters. */
  query?: z.ZodType<Query>;
  /** The largest body it takes, in bytes. */
  bodyBytesMax?: number;
  handle: (call: Call<Body, Query>) => Promise<ItemResponse | Page>;
}

/** Keeps the types of body and query together with their schemas. */
export function route<Body = undefined, Query = undefined>(declaration: Route<Body, Query>): Route {
  return declaration as Route;
}
