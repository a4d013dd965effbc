// Counts a request's rail calls in flight, so that a request that times out can report whether the rail is the cause.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface PendingCalls {
  /** Rail calls in flight. */
  railCalls: number;
}

const current = new AsyncLocalStorage<PendingCalls>();

/** Runs work and counts its rail calls in `pending`. */
export const trackPendingCalls = <Result>(pending: PendingCalls, work: () => Result): Result =>
  current.run(pending, work);

/** Makes a rail call and counts it as pending until it settles. */
export async function countPendingCall<Result>(call: () => Promise<Result>): Promise<Result> {
  const pending = current.getStore();
  if (pending === undefined) return await call();
  pending.railCalls += 1;
  try {
    return await call();
  } finally {
    pending.railCalls -= 1;
  }
}
