// Reading the resource that an id of a request names.
import type { Sql } from '../database/pool.ts';
import { type IdKind, parseId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { type FoundResource, notFound } from './errors.ts';
import type { Call } from './route.ts';

/** The kind of id by which each resource is found. */
const ID_KINDS = {
  wallet: 'wallet',
  payment: 'payment',
  transfer: 'transfer',
  withdrawal: 'withdrawal',
  refund: 'refund',
  payout: 'payout',
  event: 'event',
  api_key: 'apiKey',
  webhook_endpoint: 'webhookEndpoint',
  transaction: 'transaction',
  review_case: 'reviewCase',
} as const satisfies Partial<Record<FoundResource, IdKind>>;

/** The id as a key of the database. Throws the 404 of the resource unless it has the format of its public ids. */
export function requireId(resource: keyof typeof ID_KINDS, id: string): Uuid {
  return orNotFound(resource, id, parseId(ID_KINDS[resource], id));
}

/**
 * Returns the row with this public id, by default that of the path, in the caller's book. Throws the 404 of the
 * resource, also for a bad id.
 */
export async function requireRow<Row>(
  { dependencies, caller, params }: Pick<Call<unknown, unknown>, 'dependencies' | 'caller' | 'params'>,
  resource: keyof typeof ID_KINDS,
  find: (sql: Sql, book: Book, uuid: Uuid) => Promise<Row | null>,
  id: string = params.id ?? '',
): Promise<Row> {
  return orNotFound(resource, id, await find(dependencies.sql, caller.book, requireId(resource, id)));
}

/** Returns what was found by this id. Throws the 404 of the resource for null. */
export function orNotFound<Found>(resource: FoundResource, id: string, found: Found | null): Found {
  if (found === null) throw notFound(resource, id);
  return found;
}
