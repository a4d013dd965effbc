// Polls until something is there, instead of waiting for a fixed time.

const POLL_MS = 100;

/** Returns the first result of `check` that is not undefined. Throws with `what` on timeout. */
export async function until<Result>(
  what: string,
  check: () => Promise<Result | undefined> | Result | undefined,
  limitMs: number,
): Promise<Result> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const result = await check();
    if (result !== undefined) return result;
    if (Date.now() > deadline) throw new Error(`timed out after ${limitMs / 1000} s waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
