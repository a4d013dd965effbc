// A result that many callers share, so that their number does not matter to what is asked.

/** How long a result is shared after it arrived. */
const FRESH_FOR_MS = 1_000;

/** Concurrent callers share one call of `load`, and its result for a second. `load` must not fail. */
export function cached<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let freshUntil = 0;
  return () => {
    if (current === undefined || performance.now() >= freshUntil) {
      freshUntil = Number.POSITIVE_INFINITY;
      current = load();
      void current.then(() => {
        freshUntil = performance.now() + FRESH_FOR_MS;
      });
    }
    return current;
  };
}
