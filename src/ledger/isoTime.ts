// Formatting of times, with a one-entry cache.
let lastMs = Number.NaN;
let lastText = '';

/**
 * A time in ISO 8601, UTC, with milliseconds. A request formats the same time several times, so the last result is
 * cached. Throws RangeError for an invalid date.
 */
export function isoTime(at: Date): string {
  const ms = at.getTime();
  if (ms !== lastMs) {
    lastText = at.toISOString();
    lastMs = ms;
  }
  return lastText;
}
