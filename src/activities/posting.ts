// How activities post: read, decide, post, and start again from the read on a conflict with another writer. A refusal
// that no rule expects parks the flow.
import { setTimeout as pause } from 'node:timers/promises';
import { violatedCheck } from '../database/errors.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Movement, PostResult, RefusalCode } from '../ledger/movement.ts';
import { TAKES_NOTHING } from '../resources/reviewCases/movements.ts';
import { invariantViolation, postingRefused } from './failures.ts';

/** More rounds than any race between a credit, an expiry and a refund needs. */
const CONFLICT_RETRIES_MAX = 20;

/** Enough for about twenty writers of one row, each of whose rounds may take about 20 ms on a busy machine. */
const PAUSE_MAX_MS = 500;

type Refusal = Extract<PostResult, { outcome: 'refused' }>;

/** The wallet has less, or more, than was read. */
const BALANCE_CHANGED: readonly RefusalCode[] = ['WALLET_INSUFFICIENT_FUNDS', 'WALLET_HAS_FUNDS'];
/** `stale`: an earlier attempt has posted it, or another writer was first; the next read shows which. */
export type Posted = { outcome: 'posted' | 'stale' } | Refusal;

export interface Poster {
  /** Posts what the ledger may refuse: the caller handles the refusal, or calls `refuse`. */
  post: (movement: Movement) => Promise<Posted>;
  /** Posts what the ledger has no reason to refuse. Returns whether this call posted it; false: read again. */
  postOrPark: (movement: Movement) => Promise<boolean>;
  /** Posts by the balance that was read. False: the wallet has less or more by now, and is read again. */
  postAsRead: (movement: Movement) => Promise<boolean>;
  /** Posts what gives money back. False: the wallet takes nothing, or owes less, by now, and is read again. */
  postBack: (movement: Movement) => Promise<boolean>;
}

/** Parks the flow on a refusal that no rule expects. */
export function refuse({ transaction }: Movement, { code, account }: { code: string; account: string | null }): never {
  throw postingRefused({
    code,
    account,
    transaction: transaction?.key ?? null,
    postings: (transaction?.postings ?? []).map(({ debit, credit, amount }) => ({ debit, credit, amount })),
  });
}

/**
 * Reads, decides and posts until that succeeds: `round` returns null on a conflict with another writer, and runs again
 * from its read. Throws POSTING_REFUSED, which needs an operator; the activity is retried after any other failure.
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
    // An earlier attempt posted it, perhaps after another decision; the next read shows that. A second duplicate means
    // that the rows contradict the ledger.
    const key = movement.transaction?.key ?? '';
    if (duplicates.has(key)) refuse(movement, { code: result.outcome.toUpperCase(), account: null });
    duplicates.add(key);
    return { outcome: 'stale' };
  }

  /** `stale`: refusals that the next read explains. Any other parks the flow. */
  const postExcept =
    (...stale: RefusalCode[]) =>
    async (movement: Movement): Promise<boolean> => {
      const result = await post(movement);
      if (result.outcome === 'refused' && !stale.includes(result.code)) refuse(movement, result);
      return result.outcome === 'posted';
    };
  const poster: Poster = {
    post,
    postOrPark: postExcept(),
    postAsRead: postExcept(...BALANCE_CHANGED),
    postBack: postExcept(...TAKES_NOTHING, 'DEBT_EXCEEDED'),
  };

  for (let count = 1; count <= CONFLICT_RETRIES_MAX; count += 1) {
    const result = await round(poster);
    if (result !== null) return result;
    // Random backoff: in each round only one of the concurrent writers of a row succeeds, unless they are spread out.
    if (count < CONFLICT_RETRIES_MAX) await pause(Math.random() * Math.min(2 ** count, PAUSE_MAX_MS));
  }
  throw invariantViolation(`version conflict ${CONFLICT_RETRIES_MAX} times in a row`);
}

/** Posts one movement. The violation of a check constraint is a refusal that no rule expects. */
async function postOnce(journal: Journal, movement: Movement): Promise<PostResult> {
  try {
    return await journal.post(movement);
  } catch (error) {
    const constraint = violatedCheck(error);
    if (constraint !== null) refuse(movement, { code: constraint, account: null });
    throw error;
  }
}
