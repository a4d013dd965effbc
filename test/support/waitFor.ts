// Waiting for something to become true, without sleeping for a guessed time.

/** Far longer than anything takes: it ends a wait in vain and is no measure of speed. Shorter than Jest's own limit. */
const LIMIT_MS = 180_000;
/**
 * The pause between two looks is a share of the time waited so far: what comes soon is seen at once, and a long wait, of
 * which there are many at a time, leaves the processor to those who are waited for.
 */
const PAUSE_SHARE = 1 / 4;
/** The shortest pause, where the caller names none. The longest is ten times as long. */
const PAUSE_MIN_MS = 20;

/** The first answer of `look` that is neither undefined, null nor false. Fails with `what` when it does not come. */
export async function waitFor<Found>(
  what: string,
  look: () => Promise<Found | undefined | null | false> | Found | undefined | null | false,
  limitMs: number = LIMIT_MS,
  pauseMinMs: number = PAUSE_MIN_MS,
): Promise<Found> {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    const waited = Date.now() - began;
    if (waited > limitMs) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    const pause = Math.min(10 * pauseMinMs, Math.max(pauseMinMs, waited * PAUSE_SHARE));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
