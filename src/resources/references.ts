// What callers may attach to a resource that moves money: a reference of their own, unique among the resources of its
// kind, and metadata, which is stored and never interpreted.
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
