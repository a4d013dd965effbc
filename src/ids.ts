// Public ids: `svc_<26 characters>_<suffix>`, the lower-case Crockford base32 of a UUIDv7. Inside the service and in
// Postgres an id is the plain UUID; it becomes public in views, account codes and workflow messages only.
import { v7 } from 'uuid';

/** What an id names: the suffix of contract section 2.1 (`rfd`, `txn` and the ones after it are this service's own). */
export const ID_SUFFIXES = {
  wallet: 'wlt',
  payment: 'pay',
  transfer: 'trf',
  withdrawal: 'wth',
  payout: 'pyo',
  payoutItem: 'poi',
  event: 'evt',
  refund: 'rfd',
  transaction: 'txn',
  webhookEndpoint: 'whe',
  apiKey: 'key',
  organisation: 'org',
  inboundCredit: 'inc',
  reviewCase: 'rev',
} as const;

export type IdKind = keyof typeof ID_SUFFIXES;

/** A UUID in its canonical text form, as Postgres gives it. */
export type Uuid = string;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const VALUES = new Map(Array.from(ALPHABET, (character, value) => [character, BigInt(value)] as const));
const PUBLIC_ID = /^svc_([0-7][0-9a-hjkmnp-tv-z]{25})_([a-z]{3})$/;

/** A new UUIDv7: ordered by time, so that rows written together lie together. */
export function newUuid(): Uuid {
  return v7();
}

/** The public form of a UUID, for example `svc_01k…_wlt`; 34 characters, so it fits a rail's reference field. */
export function publicId(kind: IdKind, uuid: Uuid): string {
  let rest = BigInt(`0x${uuid.replaceAll('-', '')}`);
  let text = '';
  for (let position = 0; position < 26; position += 1) {
    text = ALPHABET[Number(rest & 31n)] + text;
    rest >>= 5n;
  }
  return `svc_${text}_${ID_SUFFIXES[kind]}`;
}

/** The UUID behind a public id of this kind; null for anything else, so that a stranger's id reads as "not found". */
export function parseId(kind: IdKind, id: string): Uuid | null {
  const match = PUBLIC_ID.exec(id);
  if (match === null || match[2] !== ID_SUFFIXES[kind]) return null;
  let value = 0n;
  for (const character of match[1] as string) value = (value << 5n) | (VALUES.get(character) as bigint);
  const hex = value.toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The UUID behind a public id that this service itself wrote (a workflow input, an outbox message). Throws otherwise. */
export function requireUuid(kind: IdKind, id: string): Uuid {
  const uuid = parseId(kind, id);
  if (uuid === null) throw new Error(`not a ${kind} id: ${id}`);
  return uuid;
}
