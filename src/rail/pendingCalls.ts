// Whether the work in hand waits for the bank rail just now, so that a request that takes too long can say whose fault it is.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface PendingCalls {
  /** Calls of the rail that have not been answered yet. */
  railCalls: number;
}

const current = new AsyncLocalStorage<PendingCalls>();

/** Runs work whose waiting is watched in `waiting`. */
export const trackPendingCalls = <Result>(waiting: PendingCalls, work: () => Result): Result =>
  current.run(waiting, work);

/** Makes a call of the rail, and notes that the work in hand waits for it. */
export async function countPendingCall<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  const waiting = current.getStore();
  if (waiting === undefined) return await call();
  waiting.railCalls += 1;
  try {
    return await call();
  } finally {
    waiting.railCalls -= 1;
  }
}
