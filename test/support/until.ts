// Waiting for something to become true, without sleeping for a guessed time.

/** Far longer than anything takes: it ends a wait in vain and is no measure of speed. Shorter than Jest's own limit. */
const LIMIT_MS = 180_000;
const POLL_MS = 10;

/** The first answer of `look` that is neither undefined, null nor false. Fails with `what` when it does not come. */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | null | false> | Found | undefined | null | false,
  limitMs: number = LIMIT_MS,
): Promise<Found> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
