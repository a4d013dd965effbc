// The time limit of a rail call, enforced here for every adapter. A call that exceeds it is aborted, and whether the
// rail acted is unknown. A call is also aborted when the attempt that it belongs to ends.
import { currentAttempt } from '../concurrency/attempt.ts';
import { RailUnavailableError } from './errors.ts';

/** Makes the call and aborts it after the limit, at the end of the current attempt, or when `given` is aborted. */
export async function withinLimit<Result>(
  limitMs: number,
  given: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const attempt = currentAttempt();
  const allowedMs = Math.min(limitMs, (attempt?.endsAt ?? Number.POSITIVE_INFINITY) - performance.now());
  const timeOut = (): RailUnavailableError =>
    new RailUnavailableError(`the rail did not respond within ${Math.round(allowedMs)} ms`, { timedOut: true });
  if (allowedMs <= 0) throw timeOut();
  const timeout = AbortSignal.timeout(Math.ceil(allowedMs));
  const signal = AbortSignal.any([timeout, given, attempt?.signal].filter((one) => one !== undefined));
  try {
    signal.throwIfAborted();
    return await Promise.race([call(signal), abortOf(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
    // Adapters wrap an aborted request in errors of their own.
    throw signal.reason === timeout.reason ? timeOut() : signal.reason;
  }
}

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
