// Turns what the journal refused into the answer for the caller: the same code, with details that a program can act on.
import { ApiError, notFound } from '../errors.ts';
import { walletOf } from '../ledger/chart.ts';
import type { PostResult } from '../ledger/journal.ts';

/** Throws the refusal of a movement by a rule of the books, and the fault of a business key that stands for another one. */
export function throwRefusal(result: PostResult): void {
  if (result.outcome === 'duplicate_differs') throw new Error('a business key was posted before with other postings');
  if (result.outcome !== 'refused') return;
  if (result.code === 'IDEMPOTENCY_IN_PROGRESS') throw new ApiError(result.code);
  const walletId = result.account === null ? null : walletOf(result.account);
  if (walletId === null) throw new Error(`the ledger refused a platform account: ${result.code} ${result.account}`);
  if (result.code === 'WALLET_NOT_FOUND') throw notFound('wallet', walletId);
  throw new ApiError(result.code, { walletId, ...result.detail });
}

/** For a movement whose rows are all new: it is durable, or this throws. All it can be raced for is its claim. */
export function requirePosted(result: PostResult): void {
  throwRefusal(result);
  if (result.outcome !== 'conflict') return;
  if (result.constraint !== null) throw new Error(`a new row met a unique value: ${result.constraint}`);
  throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
}
