// Queries for holds. Only `ledger.post` writes them, in the same statement as the money.
import { readDatabaseTime, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import { bookTable, type Versioned } from '../bookTable.ts';
import type { Payment } from '../payments/queries.ts';

export const HOLD_STATUSES = ['held', 'released', 'cancelled'] as const;

/** Money beside a wallet, which can spend it once it is released. */
export interface Hold extends Versioned {
  /** `cancelled`: what was left of it went back; a part may have been released before. */
  status: (typeof HOLD_STATUSES)[number];
  walletId: Uuid;
  /** The wallet that paid; null: a bank account has paid the payment. */
  sourceWalletId: Uuid | null;
  /** What moved the money here: a transfer or a payment. */
  transferId: Uuid | null;
  paymentId: Uuid | null;
  amount: Kobo;
  amountReleased: Kobo;
  amountCancelled: Kobo;
  /** Null: only a request releases it. */
  releaseAt: Date | null;
  createdAt: Date;
  /** When nothing of it was held any more. */
  endedAt: Date | null;
}

/** Of which what is held can go back to a wallet. */
export type HoldOfTransfer = Hold & { sourceWalletId: Uuid };

export const isOfTransfer = (hold: Hold): hold is HoldOfTransfer => hold.transferId !== null;

/** What is still held. */
export const amountHeld = ({ amount, amountReleased, amountCancelled }: Hold): Kobo =>
  amount - amountReleased - amountCancelled;

const table = bookTable<Hold, 'status' | 'walletId' | 'paymentId'>(
  'holds',
  (sql) => sql`
    id, version, status, wallet_id, source_wallet_id, transfer_id, payment_id, amount, amount_released, amount_cancelled, release_at,
    created_at, ended_at`,
);

export const { find: findHold, findAll: findHolds, list: listHolds } = table;

/** What is held of a payment, the oldest first; without a query for one that holds nothing. */
export async function listHoldsOf(sql: Sql, book: Book, { id, hold, splits }: HeldPayment): Promise<Hold[]> {
  if (hold === null && splits.every((split) => split.hold === undefined)) return [];
  return await sql<Hold[]>`
    ${table.rowsOf(sql, book)} AND payment_id = ${id} AND status = 'held' ORDER BY created_at, id`;
}

type HeldPayment = Pick<Payment, 'id' | 'hold' | 'splits'>;

/** A hold, and how long it is until it is due, by the clock of the database; null: it is not released by time. */
export async function findDueHold(
  sql: Sql,
  book: Book,
  id: Uuid,
): Promise<{ hold: Hold; waitMs: number | null } | null> {
  const hold = await findHold(sql, book, id);
  if (hold === null || hold.releaseAt === null) return hold && { hold, waitMs: null };
  const { releaseAt } = hold;
  return { hold, waitMs: Math.max(0, releaseAt.getTime() - (await readDatabaseTime(sql)).getTime()) };
}
