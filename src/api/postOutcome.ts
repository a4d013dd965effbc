// Maps a result of the journal to an API error: the refusal's code, with details that a program can act on.
import { publicId, type Uuid } from '../ids.ts';
import { type AccountCode, walletOf } from '../ledger/chart.ts';
import type { Movement, PostResult, Transaction } from '../ledger/movement.ts';
import { findTransactionId } from '../ledger/transactions.ts';
import type { Kobo } from '../money.ts';
import { findByReference, isReferenceTaken, type ReferencedResource } from '../resources/references.ts';
import type { ApiDependencies } from './dependencies.ts';
import { ApiError, notFound } from './errors.ts';
import type { Call } from './route.ts';
import { WALLET_REFUSALS } from './walletRefusal.ts';

/** With which a wallet that pays, or one that receives, refuses a posting. */
export const POSTING_ERRORS = ['WALLET_INSUFFICIENT_FUNDS', 'WALLET_TIER1_LIMIT_EXCEEDED', ...WALLET_REFUSALS] as const;

/** The same for what its owner sends from a wallet. */
export const SENDING_ERRORS = [...POSTING_ERRORS, 'WALLET_LIMIT_EXCEEDED'] as const;

/** Other requests, operators and flows change a row too; so often only by a bug. */
const ATTEMPTS_MAX = 60;

/** Reads a row, decides and posts with `attempt`, and again where that gives null: another writer was first. */
export async function untilPosted<Data>(attempt: (isFirst: boolean) => Promise<Data | null>): Promise<Data> {
  for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
    const data = await attempt(count === 0);
    if (data !== null) return data;
  }
  throw new Error(`what a request changes was changed by others during each of ${ATTEMPTS_MAX} attempts`);
}

/** Throws an ApiError if the ledger refused the movement; an Error if its key was posted with other postings. */
export function throwIfRefused({ transaction }: Movement, result: PostResult): void {
  if (result.outcome === 'duplicate_differs')
    throw new Error('the business key was already posted with different postings');
  if (result.outcome !== 'refused') return;
  if (result.code === 'IDEMPOTENCY_IN_PROGRESS') throw new ApiError(result.code);
  // The key was revoked, or lost the scope, since it was authenticated some seconds ago.
  if (result.code === 'DECISION_REFUSED') throw new ApiError('API_KEY_INVALID');
  if (result.code === 'DECISION_PROPOSED' || result.code === 'REVIEW_NEEDS_OPERATORS')
    throw new Error(`a movement of a caller needs operators: ${result.code}`);
  const walletId = result.account === null ? null : walletOf(result.account);
  if (walletId === null || result.code === 'DEBT_EXCEEDED' || result.code === 'WALLET_HAS_FUNDS')
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

/** Whether this movement is posted. A duplicate is, only if the transaction that has its key is this one. */
export async function wasPosted(
  { sql, book }: Pick<Call, 'sql' | 'book'>,
  { transaction }: Movement,
  { outcome }: PostResult,
): Promise<boolean> {
  if (outcome !== 'duplicate') return outcome === 'posted';
  return (await findTransactionId(sql, book, transaction?.key ?? '')) === transaction?.id;
}

type PostingCall = Pick<Call, 'sql' | 'book'> & { dependencies: Pick<ApiDependencies, 'journal'> };

/** A new resource, with the caller's own reference of it. */
interface Referenced {
  resource: ReferencedResource;
  reference: string | null;
}

/** Throws REFERENCE_TAKEN, which names the resource that has the reference, if the movement conflicts with that. */
export async function throwIfReferenceTaken(
  { sql, book }: PostingCall,
  { resource, reference }: Referenced,
  result: PostResult,
): Promise<void> {
  if (result.outcome !== 'conflict' || reference === null || !isReferenceTaken(resource, result.constraint)) return;
  throw referenceTaken(resource, reference, await findByReference(sql, book, resource, reference));
}

export const referenceTaken = (resource: ReferencedResource, reference: string, id: Uuid | null): ApiError =>
  new ApiError('REFERENCE_TAKEN', { resource, reference, ...(id !== null && { id: publicId(resource, id) }) });

/**
 * Posts a movement whose rows are all new. Durable when this resolves; otherwise it throws. The only conflicts that
 * another request can cause are on the Idempotency-Key and on the caller's own reference.
 */
export async function postNew(call: PostingCall, movement: Movement, referenced: Referenced): Promise<void> {
  const result = await call.dependencies.journal.post(movement);
  throwIfRefused(movement, result);
  if (result.outcome !== 'conflict') return;
  await throwIfReferenceTaken(call, referenced, result);
  if (result.constraint !== null) throw new Error(`a new row violates a unique constraint: ${result.constraint}`);
  throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
}
