// Reading the resource that an id of a request names.
import type { Sql } from '../database/pool.ts';
import { type IdKind, parseId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { type FoundResource, notFound } from './errors.ts';
import type { Call } from './route.ts';

/** A resource with a public id, whose kind has the same name in camel case. */
export type Resource = Exclude<FoundResource, 'route' | 'bank_transfer'>;

export const kindOf = (resource: Resource): IdKind =>
  resource.replace(/_(.)/, (_, initial: string) => initial.toUpperCase()) as IdKind;

/** The id as a key of the database. Throws the 404 of the resource unless it has the format of its public ids. */
export const requireId = (resource: Resource, id: string): Uuid =>
  orNotFound(resource, id, parseId(kindOf(resource), id));

/** The row with this public id, by default that of the path. Throws the 404 of the resource, also for a bad id. */
export async function requireRow<Row>(
  { sql, book, params }: Pick<Call, 'sql' | 'book' | 'params'>,
  resource: Resource,
  find: (sql: Sql, book: Book, uuid: Uuid) => Promise<Row | null>,
  id: string = params.id ?? '',
): Promise<Row> {
  return orNotFound(resource, id, await find(sql, book, requireId(resource, id)));
}

/** Returns what was found by this id. Throws the 404 of the resource for null. */
function orNotFound<Found>(resource: Resource, id: string, found: Found | null): Found {
  if (found === null) throw notFound(resource, id);
  return found;
}
