// Public ids: `svc_<26 characters>_<suffix>`, the lower-case Crockford base32 of a UUIDv7. Inside the service and in
// Postgres an id is the plain UUID; it becomes public in views, account codes and workflow messages only.
import { randomUUID } from 'node:crypto';

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
const PUBLIC_ID = /^svc_([0-7][0-9a-hjkmnp-tv-z]{25})_([a-z]{3})$/;

let clock = 0;
let count = 0;
/** What a UUID of the clock's millisecond begins with: its 48 bits and the version. */
let head = '';

/**
 * A new UUIDv7, later in order than every one that this process made before, so that rows written together lie together and
 * stand in a list as they were written. A request makes half a dozen of them: this takes its random half from Node, which
 * keeps a store of it, and puts a count within the millisecond into the twelve bits that RFC 9562 leaves for one.
 */
export function newUuid(): Uuid {
  const now = Date.now();
  count += 1;
  if (now > clock || count > COUNT_MAX) {
    clock = Math.max(now, clock + 1); // a millisecond that has no count left borrows from the next one
    count = 0;
    const time = clock.toString(16).padStart(12, '0');
    head = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  const digits = (COUNT_MAX + 1 + count).toString(16).slice(1); // three of them, leading zeros too
  return `${head}${digits}-${randomUUID().slice(RANDOM_FROM)}`;
}

const COUNT_MAX = 0xfff;

/** Where the variant and the random 62 bits begin, which versions 4 and 7 have in common. */
const RANDOM_FROM = 19;

/**
 * The public form of a UUID, for example `svc_01k…_wlt`; 34 characters, so it fits a rail's reference field. A request
 * makes a dozen of them, so the bits go through one number, a hexadecimal digit in and two digits of ours out.
 */
export function publicId(kind: IdKind, uuid: Uuid): string {
  let text = '';
  let waiting = 0;
  let bits = 2; // 128 bits are two short of 26 digits: zeros come first
  for (let place = 0; place < uuid.length; place += 1) {
    const code = uuid.charCodeAt(place);
    if (code === HYPHEN) continue;
    waiting = (waiting << 4) | (code > NINE ? (code | LOWER_CASE) - LETTER_A + 10 : code - ZERO);
    bits += 4;
    if (bits < 10) continue;
    bits -= 10;
    text += PAIRS[waiting >> bits];
    waiting &= (1 << bits) - 1;
  }
  return `svc_${text}_${ID_SUFFIXES[kind]}`;
}

/** Two digits for every ten bits. */
const PAIRS = Array.from(ALPHABET, (first) => Array.from(ALPHABET, (second) => first + second)).flat();

const [HYPHEN, ZERO, NINE, LETTER_A, LOWER_CASE] = [0x2d, 0x30, 0x39, 0x61, 0x20];

/** The UUID behind a public id of this kind; null for anything else, so that a stranger's id reads as "not found". */
export function parseId(kind: IdKind, id: string): Uuid | null {
  const match = PUBLIC_ID.exec(id);
  if (match === null || match[2] !== ID_SUFFIXES[kind]) return null;
  const digits = match[1] as string;
  let hex = readDigits(digits, 0, 2).toString(16).padStart(2, '0');
  for (let place = 2; place < 26; place += 4) hex += readDigits(digits, place, 4).toString(16).padStart(5, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Whether a text is a public id of any kind. */
export const isPublicId = (text: string): boolean => SUFFIXES.has(PUBLIC_ID.exec(text)?.[2] ?? '');

const SUFFIXES: ReadonlySet<string> = new Set(Object.values(ID_SUFFIXES));

function readDigits(digits: string, from: number, count: number): number {
  let value = 0;
  for (let place = from; place < from + count; place += 1)
    value = value * 32 + ALPHABET.indexOf(digits[place] as string);
  return value;
}

/** The UUID behind a public id that this service itself wrote (a workflow input, an outbox message). Throws otherwise. */
export function requireUuid(kind: IdKind, id: string): Uuid {
  const uuid = parseId(kind, id);
  if (uuid === null) throw new Error(`not a ${kind} id: ${id}`);
  return uuid;
}
