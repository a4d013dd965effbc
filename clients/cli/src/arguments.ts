// What developers type, as values: amounts, times, addresses to forward to, event types and statuses. Pure; null or a
// message for what is not understood.

/** The largest amount of a request: ten billion naira, in kobo. */
const AMOUNT_MAX = 1_000_000_000_000;

/**
 * An amount in kobo. Naira, as people write them: `25000`, `25,000.00`, `NGN 2020.5`; with `inKobo` whole kobo, as in
 * the API. Null for anything else, zero included.
 */
export function parseAmount(text: string, inKobo = false): number | null {
  const digits = text.trim().replace(/^(NGN|₦)\s*/i, '');
  if (inKobo) return /^\d{1,13}$/.test(digits) ? withinRange(Number(digits)) : null;
  const [, naira, kobo = ''] = /^(\d{1,3}(?:,\d{3})+|\d{1,11})(?:\.(\d{1,2}))?$/.exec(digits) ?? [];
  return naira === undefined ? null : withinRange(Number(naira.replaceAll(',', '') + kobo.padEnd(2, '0')));
}

const withinRange = (amount: number): number | null => (amount >= 1 && amount <= AMOUNT_MAX ? amount : null);

/** An amount for people: `₦25,000.00`. */
export const nairaText = (kobo: number): string =>
  `₦${(kobo / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time: how long ago (`90s`, `10m`, `2h`, `1d`), or in ISO 8601 with a time zone. Null for anything else. */
export function parseSince(text: string, now: Date): Date | null {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(now.getTime() - Number(count) * (UNIT_MS[unit] ?? 0));
  const at = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text) ? new Date(text) : null;
  return at === null || Number.isNaN(at.getTime()) ? null : at;
}

/** The address of `--forward-to`: `3000`, `3000/hooks`, `localhost:3000/hooks` or a URL. Null for anything else. */
export function parseTarget(text: string): string | null {
  const withHost = /^\d{1,5}(\/|$)/.test(text) ? `localhost:${text}` : text;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(withHost) ? withHost : `http://${withHost}`;
  if (/\s/.test(url) || !URL.canParse(url)) return null;
  const { protocol, hostname, username, href } = new URL(url);
  return ['http:', 'https:'].includes(protocol) && hostname !== '' && username === '' ? href : null;
}

/** The base address of an API: a URL whose path is /v1 unless it has one of its own. Null for anything else. */
export function parseApiUrl(text: string): string | null {
  const target = parseTarget(text);
  if (target === null) return null;
  const { origin, pathname } = new URL(target);
  return `${origin}${pathname === '/' ? '/v1' : pathname.replace(/\/+$/, '')}`;
}

/**
 * Which of these event types a list such as `payment.*,refund.failed` names. A message where a part of it names none,
 * which would be a filter that lets nothing through.
 */
export function parseEventTypes<Type extends string>(text: string, types: readonly Type[]): ReadonlySet<Type> | string {
  const patterns = text.split(',').map((pattern) => pattern.trim());
  const named = (pattern: string): Type[] =>
    types.filter((type) => type === pattern || (pattern.endsWith('*') && type.startsWith(pattern.slice(0, -1))));
  const unknown = patterns.find((pattern) => named(pattern).length === 0);
  return unknown === undefined ? new Set(patterns.flatMap(named)) : `No event type is ${unknown || 'empty'}.`;
}

/** A test of statuses: a class (`4xx`), or one status (`422`). Null for anything else. */
export function parseStatus(text: string): { class: '2xx' | '4xx' | '5xx'; exact: number | null } | null {
  const [, digit, rest] = /^([245])(xx|\d\d)$/i.exec(text) ?? [];
  if (digit === undefined || rest === undefined) return null;
  return { class: `${digit}xx` as '2xx' | '4xx' | '5xx', exact: /^\d/.test(rest) ? Number(text) : null };
}
