// The wallet that paid what is held: whether a cancelled hold can go back to it.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { type ReturnRefusal, returnRefusalOf } from '../reviewCases/movements.ts';
import { findWallet } from '../wallets/queries.ts';

/** Why it takes nothing back; null: it does. */
export async function readReturnRefusal(sql: Sql, book: Book, walletId: Uuid): Promise<ReturnRefusal> {
  const wallet = await findWallet(sql, book, walletId);
  if (wallet === null) throw new Error(`there is no wallet ${walletId}`);
  return returnRefusalOf(wallet);
}
