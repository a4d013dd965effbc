// Formatting of times, with a one-entry cache.
let lastMs = Number.NaN;
let lastText = '';

/** In UTC, with milliseconds. The last result is cached. Throws RangeError for an invalid date. */
export function isoTime(at: Date): string {
  const ms = at.getTime();
  if (ms !== lastMs) {
    lastText = at.toISOString();
    lastMs = ms;
  }
  return lastText;
}
