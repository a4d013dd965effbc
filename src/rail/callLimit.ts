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
  const limit = new AbortController();
  const abort = (reason: unknown): void => limit.abort(reason);
  const allowedMs = Math.min(limitMs, attempt === undefined ? limitMs : attempt.endsAt - performance.now());
  const timedOut = (): void =>
    abort(new RailUnavailableError(`the rail did not respond within ${Math.round(allowedMs)} ms`, { timedOut: true }));
  // Listeners and the timer are removed explicitly: an attempt's signal outlives the many calls made within it.
  const sources = [given, attempt?.signal].flatMap((signal) =>
    signal === undefined ? [] : [{ signal, onAbort: (): void => abort(signal.reason) }],
  );
  for (const { signal, onAbort } of sources) {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  }
  if (allowedMs <= 0) timedOut();
  const timer = setTimeout(timedOut, Math.max(1, allowedMs));
  try {
    limit.signal.throwIfAborted();
    return await Promise.race([call(limit.signal), abortOf(limit.signal)]);
  } catch (error) {
    // Throw the reason of the abort: adapters wrap an aborted request in errors of their own.
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clearTimeout(timer);
    for (const { signal, onAbort } of sources) signal.removeEventListener('abort', onAbort);
  }
}

/** A promise that rejects when the signal is aborted. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
