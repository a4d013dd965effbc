// Public ids: `svc_<26 characters>_<suffix>`, the lower-case Crockford base32 of a UUIDv7. Inside the service and in
// Postgres an id is the plain UUID; only views, account codes and workflow messages use the public form.
import { randomUUID } from 'node:crypto';

/** The suffix of each kind of id (contract, section 2.1). */
export const ID_SUFFIXES = {
  wallet: 'wlt',
  payment: 'pay',
  splitTemplate: 'spt',
  transfer: 'trf',
  hold: 'hld',
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
  feeSweep: 'fsw',
  operator: 'opr',
  statementEntry: 'ste',
  adjustment: 'adj',
  debtRecovery: 'dbr',
  railContract: 'rct',
  railCheck: 'rck',
} as const;

export type IdKind = keyof typeof ID_SUFFIXES;

/** A UUID in its canonical text form, as Postgres returns it. */
export type Uuid = string;

/** The nil UUID: stands for all organisations in a row that belongs to none, such as a pause of a rail. */
export const ALL_ORGANISATIONS: Uuid = '00000000-0000-0000-0000-000000000000';

/** Crockford's base32: it has no letter that can be mistaken for a digit. */
export const BASE32_DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const PUBLIC_ID = /^svc_([0-7][0-9a-hjkmnp-tv-z]{25})_([a-z]{3})$/;

let clock = 0;
let count = 0;
/** Start of every UUID of the current `clock` millisecond: its 48 bits and the version. */
let prefix = '';

/**
 * Returns a new UUIDv7, greater than every earlier one of this process: rows written together are adjacent in indexes,
 * and lists show them in the order in which they were written. A request makes half a dozen of them, so the random bits
 * come from `randomUUID`, for which Node caches random bytes, and the 12 bits that RFC 9562 allows for a counter
 * (rand_a) hold a counter within the millisecond.
 */
export function newUuid(): Uuid {
  const now = Date.now();
  count += 1;
  if (now > clock || count > COUNT_MAX) {
    clock = Math.max(now, clock + 1); // when the counter of a millisecond is used up, continue in the next one
    count = 0;
    const time = clock.toString(16).padStart(12, '0');
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  }
  const digits = (COUNT_MAX + 1 + count).toString(16).slice(1); // three digits, with leading zeros
  return `${prefix}${digits}-${randomUUID().slice(RANDOM_FROM)}`;
}

const COUNT_MAX = 0xfff;

/** Index in the text of the variant and the 62 random bits, which versions 4 and 7 share. */
const RANDOM_FROM = 19;

/**
 * The public form of a UUID, for example `svc_01k…_wlt`; 34 characters, so it fits a rail's reference field. A request
 * makes a dozen of them, so the conversion takes 20 bits at a time: five hexadecimal digits, four of base32.
 */
export function publicId(kind: IdKind, uuid: Uuid): string {
  // 26 digits hold 130 bits: two leading zero bits.
  let text = PAIRS[bitsAt(uuid, 0, 2)] as string;
  for (let digit = 2; digit < HEX_PLACES.length; digit += 5) {
    const bits = bitsAt(uuid, digit, digit + 5);
    text += (PAIRS[bits >> 10] as string) + PAIRS[bits & 0x3ff];
  }
  return `svc_${text}_${ID_SUFFIXES[kind]}`;
}

/** The two base32 digits of each 10-bit value. */
const PAIRS = Array.from(BASE32_DIGITS, (first) => Array.from(BASE32_DIGITS, (second) => first + second)).flat();

/** Where the hexadecimal digits are in the text of a UUID. */
const HEX_PLACES = Array.from(ALL_ORGANISATIONS, (_, place) => place).filter(
  (place) => ALL_ORGANISATIONS[place] !== '-',
);

/** The value of each hexadecimal digit, by its character code. */
const HEX_VALUES = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16));

/** The bits of the hexadecimal digits from one to before another. */
function bitsAt(uuid: Uuid, from: number, to: number): number {
  let bits = 0;
  for (let digit = from; digit < to; digit += 1)
    bits = (bits << 4) | (HEX_VALUES[uuid.charCodeAt(HEX_PLACES[digit] as number)] as number);
  return bits;
}

/** Returns the UUID of a public id of this kind; null for any other text, which callers report as "not found". */
export function parseId(kind: IdKind, id: string): Uuid | null {
  const match = PUBLIC_ID.exec(id);
  if (match === null || match[2] !== ID_SUFFIXES[kind]) return null;
  const digits = match[1] as string;
  let hex = readDigits(digits, 0, 2).toString(16).padStart(2, '0');
  for (let index = 2; index < 26; index += 4) hex += readDigits(digits, index, 4).toString(16).padStart(5, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** When the id at the start of a text was made, by the clock of its process; undefined for any other text. */
export function timeOfId(text: string): Date | undefined {
  const [, digits] = /^svc_([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}_/.exec(text) ?? [];
  // Ten digits: two leading zero bits, and the 48 bits of the time with which a UUIDv7 begins.
  return digits === undefined ? undefined : new Date(readDigits(digits, 0, 10));
}

export const isPublicId = (text: string): boolean => SUFFIXES.has(PUBLIC_ID.exec(text)?.[2] ?? '');

const SUFFIXES: ReadonlySet<string> = new Set(Object.values(ID_SUFFIXES));

function readDigits(digits: string, from: number, count: number): number {
  let value = 0;
  for (let index = from; index < from + count; index += 1)
    value = value * 32 + BASE32_DIGITS.indexOf(digits[index] as string);
  return value;
}

/** The UUID of a public id that this service wrote (a workflow input, an outbox message); throws if it is none. */
export function requireUuid(kind: IdKind, id: string): Uuid {
  const uuid = parseId(kind, id);
  if (uuid === null) throw new Error(`not a ${kind} id: ${id}`);
  return uuid;
}
