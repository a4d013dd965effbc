// Turns what the journal refused into the answer for the caller: the same code, with details that a program can act on.

import { type AccountCode, walletOf } from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../ledger/movement.ts';
import type { Kobo } from '../money.ts';
import { ApiError, notFound } from './errors.ts';

/** Throws the refusal of a movement by a rule of the books, and the fault of a business key that stands for another one. */
export function throwIfRefused({ transaction }: Movement, result: PostResult): void {
  if (result.outcome === 'duplicate_differs') throw new Error('a business key was posted before with other postings');
  if (result.outcome !== 'refused') return;
  if (result.code === 'IDEMPOTENCY_IN_PROGRESS') throw new ApiError(result.code);
  const walletId = result.account === null ? null : walletOf(result.account);
  if (walletId === null) throw new Error(`the ledger refused a platform account: ${result.code} ${result.account}`);
  if (result.code === 'WALLET_NOT_FOUND') throw notFound('wallet', walletId);
  const { detail } = result;
  // The books name the posting that the balance did not cover, such as the fee alone. The caller asked for all of them.
  if (result.code === 'WALLET_INSUFFICIENT_FUNDS') detail.attemptedAmount = debitOf(result.account, transaction);
  throw new ApiError(result.code, { walletId, ...detail });
}

/** What a transaction takes from an account, fees and all. */
function debitOf(account: AccountCode | null, transaction: Transaction | undefined): Kobo {
  const debits = transaction?.postings.filter(({ debit }) => debit === account) ?? [];
  return debits.reduce((sum, { amount }) => sum + amount, 0);
}

/** Posts a movement whose rows are all new: it is durable, or this throws. All it can be raced for is its claim. */
export async function postNew(journal: Journal, movement: Movement): Promise<void> {
  const result = await journal.post(movement);
  throwIfRefused(movement, result);
  if (result.outcome !== 'conflict') return;
  if (result.constraint !== null) throw new Error(`a new row met a unique value: ${result.constraint}`);
  throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
}
