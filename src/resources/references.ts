// What callers may attach to a resource that moves money: a reference of their own, unique among the resources of its
// kind, and metadata, which is stored and never interpreted and may change.
import postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { TABLES } from './tables.ts';

export type Metadata = Readonly<Record<string, string>>;

export interface Attached {
  reference: string | null;
  /** Null: none. */
  metadata: Metadata | null;
}

export const METADATA_KEYS_MAX = 50;

/**
 * SQL: whether the metadata of a row has all of these pairs, by the terms that are indexed: pairs of other books are
 * not read. For values that few rows have: all rows that have them are read and sorted.
 */
export const hasPairs = (sql: Sql, book: Book, pairs: Metadata, column = (name: string) => sql(name)) =>
  sql`${column('metadata')} IS NOT NULL
    AND ledger.metadata_terms(${column('organisation_id')}, ${column('environment')}, ${column('metadata')})
      @> ledger.metadata_terms(${book.organisationId}, ${book.environment}, ${JSON.stringify(pairs)}::text::jsonb)`;

/** SQL: whether any key of the metadata of a row has this value: no key is empty, so this is the term of a value. */
export const hasValue = (sql: Sql, book: Book, value: string) => hasPairs(sql, book, { '': value });

/** Changes of metadata by key, of which null removes one. Null: all keys are removed; undefined: it stays as it is. */
type MetadataChanges = Readonly<Record<string, string | null>> | null | undefined;

/**
 * Changes what moves no money of a resource, the given fields only, in one statement. Its version stays, so that no
 * movement conflicts with it. False: the book has no such resource, or its metadata would have too many keys.
 */
export async function updateAttached(
  sql: Sql,
  book: Book,
  resource: ReferencedResource | 'wallet',
  id: Uuid,
  { metadata, ...fields }: { metadata?: MetadataChanges } & Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const pairs = JSON.stringify(metadata ?? {});
  const merged =
    metadata === null
      ? sql`NULL::jsonb`
      : sql`nullif(jsonb_strip_nulls(coalesce(metadata, '{}') || ${pairs}::text::jsonb), '{}')`;
  const others = Object.entries(fields as Record<string, string | null | undefined>)
    .filter((field): field is [string, string | null] => field[1] !== undefined)
    .map(([name, value]) => sql`, ${sql(postgres.fromCamel(name))} = ${value}`);
  const { count } = await sql`
    UPDATE ${sql(TABLES[resource])} SET metadata = ${merged} ${others.length > 0 ? others : sql``}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}
      AND (SELECT count(*) FROM jsonb_object_keys(${merged})) <= ${METADATA_KEYS_MAX}`;
  return count > 0;
}

export type ReferencedResource = 'payment' | 'transfer' | 'withdrawal' | 'refund' | 'payout';

/** Whether a unique constraint is that of the references of a resource. */
export const isReferenceTaken = (resource: ReferencedResource, constraint: string | null): boolean =>
  constraint === `${resource}_reference_unique`;

/**
 * The id of the resource that has a reference; null when there is none. A payment that ended unpaid has none, until
 * money of it comes late: then it counts again, beside one that has its reference by then.
 */
export async function findByReference(
  sql: Sql,
  book: Book,
  resource: ReferencedResource,
  reference: string,
): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    SELECT id FROM ${sql(TABLES[resource])}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND reference = ${reference}
      ${
        resource === 'payment'
          ? sql`AND (NOT reference_is_free OR amount_received + amount_in_review > 0) ORDER BY reference_is_free LIMIT 1`
          : sql``
      }`;
  return row?.id ?? null;
}
