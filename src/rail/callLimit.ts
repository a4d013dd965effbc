// The time limit of one call of a rail. It is enforced here for every adapter: a call that passes it is aborted, and whether the
// rail acted is unknown. A call also ends with the attempt that it belongs to.
import { currentAttempt } from '../concurrency/attempt.ts';
import { RailUnavailableError } from './port.ts';

/** Makes the call, and gives it up after the limit, at the end of the attempt in hand, or when `given` is aborted. */
export async function withinLimit<Answer>(
  limitMs: number,
  given: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const attempt = currentAttempt();
  const limit = new AbortController();
  const giveUp = (reason: unknown): void => limit.abort(reason);
  const allowedMs = Math.min(limitMs, attempt === undefined ? limitMs : attempt.endsAt - performance.now());
  const timedOut = (): void =>
    giveUp(new RailUnavailableError(`the rail did not answer within ${Math.round(allowedMs)} ms`, { timedOut: true }));
  // Listeners and the timer are removed by hand: an attempt's signal outlives the many calls that are made within it.
  const endings = [given, attempt?.signal].flatMap((signal) =>
    signal === undefined ? [] : [{ signal, end: (): void => giveUp(signal.reason) }],
  );
  for (const { signal, end } of endings) {
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  }
  if (allowedMs <= 0) timedOut();
  const timer = setTimeout(timedOut, Math.max(1, allowedMs));
  try {
    limit.signal.throwIfAborted();
    return await Promise.race([call(limit.signal), abortOf(limit.signal)]);
  } catch (error) {
    // An adapter reports an aborted request in words of its own.
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clearTimeout(timer);
    for (const { signal, end } of endings) signal.removeEventListener('abort', end);
  }
}

/** Rejects when the signal is aborted. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
