// Maps a result of the journal to an API error: the refusal's code, with details that a program can act on.

import { type AccountCode, walletOf } from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../ledger/movement.ts';
import type { Kobo } from '../money.ts';
import { ApiError, notFound } from './errors.ts';

/**
 * Throws an ApiError if a ledger rule refused the movement; an Error if its business key was posted with other
 * postings.
 */
export function throwIfRefused({ transaction }: Movement, result: PostResult): void {
  if (result.outcome === 'duplicate_differs')
    throw new Error('the business key was already posted with different postings');
  if (result.outcome !== 'refused') return;
  if (result.code === 'IDEMPOTENCY_IN_PROGRESS') throw new ApiError(result.code);
  const walletId = result.account === null ? null : walletOf(result.account);
  if (walletId === null)
    throw new Error(`the ledger refused a posting to a platform account: ${result.code} ${result.account}`);
  if (result.code === 'WALLET_NOT_FOUND') throw notFound('wallet', walletId);
  const { detail } = result;
  // The ledger reports the one posting that the balance did not cover, such as the fee. The caller gets the whole
  // debit.
  if (result.code === 'WALLET_INSUFFICIENT_FUNDS') detail.attemptedAmount = debitOf(result.account, transaction);
  throw new ApiError(result.code, { walletId, ...detail });
}

/** The sum that a transaction debits from an account, fees included. */
function debitOf(account: AccountCode | null, transaction: Transaction | undefined): Kobo {
  const debits = transaction?.postings.filter(({ debit }) => debit === account) ?? [];
  return debits.reduce((sum, { amount }) => sum + amount, 0);
}

/**
 * Posts a movement whose rows are all new. Durable when this resolves; otherwise it throws. The only conflict that
 * another request can cause is on the Idempotency-Key.
 */
export async function postNew(journal: Journal, movement: Movement): Promise<void> {
  const result = await journal.post(movement);
  throwIfRefused(movement, result);
  if (result.outcome !== 'conflict') return;
  if (result.constraint !== null) throw new Error(`a new row violates a unique constraint: ${result.constraint}`);
  throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
}
