// Times as text, for what is written several times a request.
let lastMs = Number.NaN;
let lastText = '';

/**
 * A time in ISO 8601, UTC, with milliseconds. Whoever handles a request writes one and the same moment several times over,
 * so the last one is kept. Throws RangeError for an invalid date.
 */
export function isoTime(at: Date): string {
  const ms = at.getTime();
  if (ms !== lastMs) {
    lastText = at.toISOString();
    lastMs = ms;
  }
  return lastText;
}
