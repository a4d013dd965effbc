// The attempt that the work in hand belongs to: of an activity, or of a request. It says until when the work counts, so that no
// call of the rail outlives it: when an attempt has been given up, another one may be under way.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface Attempt {
  /** By `performance.now()`: what is not done by then is given up, and maybe tried again elsewhere. */
  endsAt: number;
  /** Aborted when the attempt is given up before that. */
  signal?: AbortSignal;
  /** Aborted when the process is about to end: what was begun may finish, and nothing that cannot be taken back is begun. */
  closing?: AbortSignal;
}

const current = new AsyncLocalStorage<Attempt>();

/** Does the work as part of an attempt. */
export const withinAttempt = <Result>(attempt: Attempt, work: () => Result): Result => current.run(attempt, work);

/** Undefined where the work belongs to none, as in a command. */
export const currentAttempt = (): Attempt | undefined => current.getStore();

/** The attempt is over, or has no time left for what it was about to do. Nothing was begun; the next attempt does it. */
export class AttemptOverError extends Error {
  override readonly name = 'AttemptOver';
}

/** Throws AttemptOver unless the attempt in hand is still wanted and has this much time left. */
export function requireTimeLeft(neededMs: number): void {
  const attempt = current.getStore();
  if (attempt === undefined) return;
  if (attempt.signal?.aborted) throw new AttemptOverError('the attempt was given up', { cause: attempt.signal.reason });
  if (attempt.closing?.aborted) throw new AttemptOverError('the process is about to end');
  if (attempt.endsAt - performance.now() < neededMs)
    throw new AttemptOverError('the attempt has no time left for this');
}

/**
 * Leaves work that may take long as soon as the attempt is given up or the process is about to end, whatever the work waits for.
 * Only for work that may be repeated from the start: it goes on in the next attempt, elsewhere.
 */
export async function untilAborted<Result>(attempt: Attempt, work: () => Promise<Result>): Promise<Result> {
  const signals = [attempt.signal, attempt.closing].filter((signal) => signal !== undefined);
  let leave = (): void => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(new AttemptOverError('the attempt was given up, or the process is about to end'));
  });
  left.catch(() => {}); // heard below, unless it comes after the end
  for (const signal of signals) {
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
  }
  try {
    return await Promise.race([left, withinAttempt(attempt, work)]);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', leave);
  }
}
