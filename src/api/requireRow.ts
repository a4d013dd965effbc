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

/** Returns the row with this public id in the caller's book. Throws the 404 of the resource, also for a bad id. */
export async function requireRow<Row>(
  { dependencies, caller }: Pick<Call<unknown, unknown>, 'dependencies' | 'caller'>,
  resource: keyof typeof ID_KINDS,
  id: string,
  find: (sql: Sql, book: Book, uuid: Uuid) => Promise<Row | null>,
): Promise<Row> {
  const uuid = parseId(ID_KINDS[resource], id);
  const row = uuid === null ? null : await find(dependencies.sql, caller.book, uuid);
  if (row === null) throw notFound(resource, id);
  return row;
}
