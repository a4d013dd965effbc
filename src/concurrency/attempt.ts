// Deadline and cancellation of the current attempt (of an activity or of a request), carried by an AsyncLocalStorage.
// No rail call may outlive its attempt: once an attempt has timed out or was cancelled, the next one may be running.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface Attempt {
  /** The deadline, by `performance.now()`. Unfinished work is then abandoned and may be retried in another process. */
  endsAt: number;
  /** Aborted when the attempt is cancelled before its deadline. */
  signal?: AbortSignal;
  /** Aborted when the process shuts down: work in progress may finish, but nothing irreversible may start. */
  closing?: AbortSignal;
}

const current = new AsyncLocalStorage<Attempt>();

/** Runs `work` within an attempt. */
export const withinAttempt = <Result>(attempt: Attempt, work: () => Result): Result => current.run(attempt, work);

/** The current attempt; undefined outside of one, as in a CLI command. */
export const currentAttempt = (): Attempt | undefined => current.getStore();

/** The attempt is over, or too little of its time is left for the next step. That step was not started. */
export class AttemptOverError extends Error {
  override readonly name = 'AttemptOverError';
}

/** Throws AttemptOverError when the attempt was cancelled, the process shuts down or less time is left. */
export function requireTimeLeft(neededMs: number): void {
  const attempt = current.getStore();
  if (attempt === undefined) return;
  if (attempt.signal?.aborted)
    throw new AttemptOverError('the attempt was cancelled', { cause: attempt.signal.reason });
  if (attempt.closing?.aborted) throw new AttemptOverError('the process is shutting down');
  if (attempt.endsAt - performance.now() < neededMs)
    throw new AttemptOverError('not enough time is left in the attempt');
}

/**
 * For long-running work: rejects with AttemptOverError as soon as the attempt is cancelled or the process shuts down,
 * even while the work waits for something that cannot be cancelled. The work itself is not stopped. Use it only for
 * work that can be repeated from the start: the next attempt does that, possibly in another process.
 */
export async function untilAborted<Result>(attempt: Attempt, work: () => Promise<Result>): Promise<Result> {
  const signal = AbortSignal.any([attempt.signal, attempt.closing].filter((one) => one !== undefined));
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {}); // no unhandled rejection when it rejects after the race
  const abort = (): void => reject(new AttemptOverError('the attempt was cancelled, or the process is shutting down'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([aborted, withinAttempt(attempt, work)]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
