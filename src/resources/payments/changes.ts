// What open payment pages ask for: which of many payments have changed.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';

/** A payment, and the version of it that somebody has seen. */
export interface SeenPayment {
  book: Book;
  paymentId: Uuid;
  version: number;
}

/**
 * The current versions of those payments that are newer than seen. One statement for any number, of any organisations
 * (src/ledger/sql/changed_payments.sql).
 */
export async function readChangedPayments(
  sql: Sql,
  seen: readonly SeenPayment[],
): Promise<{ paymentId: Uuid; version: number }[]> {
  // Array literals, because the driver's serialiser of arrays takes several times as long for thousands of elements.
  const column = (cell: (one: SeenPayment) => string | number): string => `{${seen.map(cell).join(',')}}`;
  return await sql<{ paymentId: Uuid; version: number }[]>`
    SELECT payment_id, version FROM ledger.changed_payments(
      ${column(({ book }) => book.organisationId)}::text::uuid[], ${column(({ book }) => book.environment)}::text::text[],
      ${column(({ paymentId }) => paymentId)}::text::uuid[], ${column(({ version }) => version)}::text::integer[])`;
}
