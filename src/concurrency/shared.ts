// Work that many callers share, so that their number does not matter to what is asked; and work that is repeated, one
// run at a time.

/** Concurrent callers share one run of `work`. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  return () => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
}

/** Runs `work`, which must not fail, in this interval until `stop`, which waits for a run in progress. */
export function repeated(work: () => Promise<void>, everyMs: number): { stop: () => Promise<void> } {
  const run = shared(work);
  let last = Promise.resolve();
  const timer = setInterval(() => {
    last = run();
  }, everyMs).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await last;
    },
  };
}

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
