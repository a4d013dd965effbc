// Polls until a condition is true, instead of sleeping for a fixed time.

/** Timeout: far longer than any wait takes, and shorter than Jest's test timeout. */
const LIMIT_MS = 180_000;
/**
 * The polling interval is a fraction of the time waited so far: short waits end promptly, and long waits, of which many
 * run concurrently, use little CPU.
 */
const PAUSE_SHARE = 1 / 4;
/** Default of the shortest interval. The longest is ten times as long. */
const PAUSE_MIN_MS = 20;

/** Returns the first result of `check` that is not undefined, null or false. Throws with `what` on timeout. */
export async function waitFor<Found>(
  what: string,
  check: () => Promise<Found | undefined | null | false> | Found | undefined | null | false,
  limitMs: number = LIMIT_MS,
  pauseMinMs: number = PAUSE_MIN_MS,
): Promise<Found> {
  const startedAt = Date.now();
  for (;;) {
    const result = await check();
    if (result !== undefined && result !== null && result !== false) return result;
    const waitedMs = Date.now() - startedAt;
    if (waitedMs > limitMs) throw new Error(`timed out after ${limitMs} ms waiting for ${what}`);
    const pause = Math.min(10 * pauseMinMs, Math.max(pauseMinMs, waitedMs * PAUSE_SHARE));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
