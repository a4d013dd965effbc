// Fields of a provider's responses that the adapter does not map, because the service does not rely on them, and that
// checks report. They are found by the names that providers usually give them.
import type { Exchange } from '../exchanges.ts';

const DEPTH_MAX = 8;

/** The first text in a response with one of these names. Numbers are their text. */
function textOf(value: unknown, name: RegExp, depth = 0): string | null {
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return null;
  for (const [key, of] of Object.entries(value)) {
    const found = name.test(key) && typeof of === 'string' ? of : textOf(of, name, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** How long a token lives, by the response to the login: a number of seconds, or a time. */
export function tokenLifeMs(exchanges: readonly Exchange[], now: Date): number | null {
  for (const { json } of exchanges) {
    const seconds = Number(textOf(json, /^expires_?in$/i) ?? Number.NaN);
    if (Number.isFinite(seconds)) return seconds * 1_000;
    const at = Date.parse(textOf(json, /^expires_?at$/i) ?? '');
    if (Number.isFinite(at)) return at - now.getTime();
  }
  return null;
}

/** The narration of a transfer in the last response that has one. */
export const narrationReturned = (exchanges: readonly Exchange[]): string | null =>
  exchanges.map(({ json }) => textOf(json, /^narration$/i)).findLast((text) => text !== null) ?? null;

/** How each request with a body ended: by its HTTP status and the code in the response. */
const endings = (exchanges: readonly Exchange[]): Map<string, string> =>
  new Map(
    exchanges
      .filter(({ method }) => method === 'POST')
      .map(({ route, status, json }) => [route, `${status} ${textOf(json, /^(?:response_?)?code$/i)}`]),
  );

/**
 * How a repetition of the same request ended: as the first one, or otherwise. Null: no request was made, or none that
 * the first had made.
 */
export function repetitionOf(first: readonly Exchange[], second: readonly Exchange[]): 'replayed' | 'refused' | null {
  const before = endings(first);
  const both = [...endings(second)].filter(([route]) => before.has(route));
  if (both.length === 0) return null;
  return both.every(([route, end]) => before.get(route) === end) ? 'replayed' : 'refused';
}
