// How activities post: read, decide, post, and read again where another writer was first. What the ledger has no reason to
// refuse parks its flow when it is refused all the same.
import { setTimeout as pause } from 'node:timers/promises';
import { violatedCheck } from '../database/errors.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Movement, PostResult } from '../ledger/movement.ts';
import { invariantViolation, postingRefused } from './failures.ts';

/** More rounds than any race between a credit, an expiry and a refund can need. */
const CONFLICT_RETRIES_MAX = 20;

/** Room for a score of writers of one row, each of whose rounds may take some twenty milliseconds on a busy machine. */
const PAUSE_MAX_MS = 500;

type Refusal = Extract<PostResult, { outcome: 'refused' }>;

/** `overtaken`: it is there since an earlier attempt, or somebody else was first; reading again tells. */
export type Posted = { outcome: 'posted' | 'stale' } | Refusal;

export interface Poster {
  /** Posts what the books may refuse: the caller has an answer to that, or calls `refuse`. */
  post: (movement: Movement) => Promise<Posted>;
  /** Posts what the books have no reason to refuse. Whether it was this call that posted it; false: read again. */
  postOrPark: (movement: Movement) => Promise<boolean>;
}

/** Parks the flow because of a refusal that has no story. */
export function refuse({ transaction }: Movement, { code, account }: { code: string; account: string | null }): never {
  throw postingRefused({
    code,
    account,
    transaction: transaction?.key ?? null,
    postings: (transaction?.postings ?? []).map(({ debit, credit, amount }) => ({ debit, credit, amount })),
  });
}

/**
 * Reads, decides and posts until it holds: `round` answers null when another writer was first, and then everything is
 * read again. Throws POSTING_REFUSED, which is for an operator; any other failure is repeated.
 */
export async function retryOnConflict<Result>(
  journal: Journal,
  round: (poster: Poster) => Promise<Result | null>,
): Promise<Result> {
  const duplicates = new Set<string>();

  async function post(movement: Movement): Promise<Posted> {
    const result = await postOnce(journal, movement);
    if (result.outcome === 'refused') return result;
    if (result.outcome === 'posted') return { outcome: 'posted' };
    if (result.outcome === 'conflict') return { outcome: 'stale' };
    // An earlier attempt posted it, perhaps after another decision, and reading again shows so. A second time, the rows
    // contradict the books.
    const key = movement.transaction?.key ?? '';
    if (duplicates.has(key)) refuse(movement, { code: result.outcome.toUpperCase(), account: null });
    duplicates.add(key);
    return { outcome: 'stale' };
  }

  async function postOrPark(movement: Movement): Promise<boolean> {
    const result = await post(movement);
    if (result.outcome === 'refused') refuse(movement, result);
    return result.outcome === 'posted';
  }

  for (let count = 1; count <= CONFLICT_RETRIES_MAX; count += 1) {
    const result = await round({ post, postOrPark });
    if (result !== null) return result;
    // Many who write one row are overtaken by one of them in each round; apart from each other they are not.
    if (count < CONFLICT_RETRIES_MAX) await pause(Math.random() * Math.min(2 ** count, PAUSE_MAX_MS));
  }
  throw invariantViolation(`overtaken ${CONFLICT_RETRIES_MAX} times in a row`);
}

/** Posts one movement. A constraint that it breaks is a refusal that nobody may have foreseen. */
async function postOnce(journal: Journal, movement: Movement): Promise<PostResult> {
  try {
    return await journal.post(movement);
  } catch (error) {
    const constraint = violatedCheck(error);
    if (constraint !== null) refuse(movement, { code: constraint, account: null });
    throw error;
  }
}
