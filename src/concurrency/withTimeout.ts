// A limit on how long a caller waits.

/** As the work, or rejects with what `timedOut` returns. The work is not cancelled; its result is ignored. */
export async function withTimeout<Result>(
  work: Promise<Result>,
  limitMs: number,
  timedOut: () => Error = () => new Error(`timed out after ${limitMs} ms`),
): Promise<Result> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timedOut()), limitMs);
  work.catch(() => {}); // no unhandled rejection when it rejects after the timeout
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
