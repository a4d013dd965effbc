// Queries for holds. Only `ledger.post` writes them, in the same statement as the money.
import { readDatabaseTime } from '../../database/clock.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import { bookTable, type Versioned } from '../bookTable.ts';

export const HOLD_STATUSES = ['held', 'released', 'cancelled'] as const;

/** Money beside a wallet, which can spend it once it is released. */
export interface Hold extends Versioned {
  /** `cancelled`: what was left of it went back; a part may have been released before. */
  status: (typeof HOLD_STATUSES)[number];
  walletId: Uuid;
  /** The wallet that it goes back to if it is cancelled. */
  sourceWalletId: Uuid;
  /** What moved the money here. */
  transferId: Uuid;
  amount: Kobo;
  amountReleased: Kobo;
  amountCancelled: Kobo;
  /** Null: only a request releases it. */
  releaseAt: Date | null;
  createdAt: Date;
  /** When nothing of it was held any more. */
  endedAt: Date | null;
}

/** What is still held. */
export const amountHeld = ({ amount, amountReleased, amountCancelled }: Hold): Kobo =>
  amount - amountReleased - amountCancelled;

export const { find: findHold, list: listHolds } = bookTable<Hold, 'status' | 'walletId'>(
  'holds',
  (sql) => sql`
    id, version, status, wallet_id, source_wallet_id, transfer_id, amount, amount_released, amount_cancelled, release_at,
    created_at, ended_at`,
);

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
