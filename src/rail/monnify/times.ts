// The times in Monnify's responses, which have several formats. Times without a zone are in Lagos.
import { LAGOS_OFFSET_MS } from '../texts.ts';

const ISO = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(?:\.(\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d|AM|PM|:AM|:PM)?$/i;
const DAY_FIRST = /^(\d\d)\/(\d\d)\/(\d{4}) (\d{1,2}):(\d\d):(\d\d)(?:\s?(AM|PM))?$/i;

/** Null: the text is in none of the documented formats, or is not a time. */
export function timeOf(text: string): Date | null {
  const iso = ISO.exec(text);
  if (iso !== null) {
    const [, year, month, day, hour, minute, second = '0', fraction = '', suffix = ''] = iso as unknown as string[];
    const millisecond = fraction.padEnd(3, '0').slice(0, 3);
    const half = suffix.replace(':', '').toUpperCase();
    if (half === 'AM' || half === 'PM') {
      return utc([year, month, day, hour24(hour, half), minute, second, millisecond], LAGOS_OFFSET_MS);
    }
    return utc([year, month, day, hour, minute, second, millisecond], offsetOf(suffix));
  }
  const dayFirst = DAY_FIRST.exec(text);
  if (dayFirst === null) return null;
  const [, day, month, year, hour, minute, second, half = ''] = dayFirst as unknown as string[];
  return utc([year, month, day, hour24(hour, half.toUpperCase()), minute, second, 0], LAGOS_OFFSET_MS);
}

/** `13:05 PM` is seen too: an hour after noon stays as it is. */
function hour24(hour: string | undefined, half: string): number {
  const value = Number(hour);
  if (half === 'PM' && value < 12) return value + 12;
  return half === 'AM' && value === 12 ? 0 : value;
}

function offsetOf(zone: string): number {
  if (zone === '') return LAGOS_OFFSET_MS;
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (sign === undefined) return 0; // Z
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Null for a day or an hour that does not exist, which Date would carry over. */
function utc(parts: readonly (string | number | undefined)[], offsetMs: number): Date | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, millisecond = 0] = parts.map(Number);
  const local = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  const date = new Date(local);
  const exists =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCHours() === hour && minute < 60;
  return exists && second < 60 ? new Date(local - offsetMs) : null;
}
