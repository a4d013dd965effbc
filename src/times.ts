// Calendar days of Nigeria, and the one reader of dates and times that come as text: from a command, from a file, or
// from a rail. A day or an hour that does not exist is refused, where `Date` would carry it over to the next.

/** A date as `2026-11-30`, and a month as `2026-11`. */
export type Day = string;
export type Month = string;

/** Nigeria has been at UTC+1 all year since 1919. */
export const LAGOS_OFFSET_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** When something was last done; 0, if never, or in the future: a clock was ahead then, and it says nothing. */
export const lastTime = (at: Date | null | undefined, now: number): number =>
  at && at.getTime() <= now ? at.getTime() : 0;

/** The first moment of a day in Nigeria; as `ledger.accounting_day` in SQL. */
export const dayStart = (day: Day): Date => new Date(Date.parse(`${day}T00:00:00Z`) - LAGOS_OFFSET_MS);

/** The day in Nigeria of a time. */
export const dayOf = (time: Date): Day => new Date(time.getTime() + LAGOS_OFFSET_MS).toISOString().slice(0, 10);

export const dayAfter = (day: Day): Day => dayOf(new Date(dayStart(day).getTime() + DAY_MS));

export const isMonth = (text: string): boolean => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);

/** The month in Nigeria of a time. */
export const monthOf = (time: Date): Month => dayOf(time).slice(0, 'YYYY-MM'.length);

export const monthAfter = (month: Month): Month => monthOf(new Date(dayStart(`${month}-28`).getTime() + 4 * DAY_MS));

/** The parts of a time by the clock of a place; months and days count from 1. */
export type ClockTime = Record<'year' | 'month' | 'day', number> &
  Partial<Record<'hour' | 'minute' | 'second' | 'millisecond', number>>;

/** `offsetMs`: how far the clock is ahead of UTC. Null: there is no such time. */
export function timeAt(
  { year, month, day, hour = 0, minute = 0, second = 0, millisecond = 0 }: ClockTime,
  offsetMs: number,
): Date | null {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC would take the years 0 to 99 for those of the last century
  date.setUTCHours(hour, minute, second, millisecond);
  const exists =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCHours() === hour && minute < 60;
  return exists && second < 60 ? new Date(date.getTime() - offsetMs) : null;
}

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?)?(Z|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * A time in ISO 8601; parts of a millisecond are cut off. `offsetMs`: the clock of a time without a zone; null: such a
 * time is refused. A date alone is null: see `readDay`.
 */
export function readTime(text: string, offsetMs: number | null): Date | null {
  const [, year, month, day, hour, minute, second = '0', fraction = '', zone] = ISO.exec(text) ?? [];
  const ahead = zone === undefined ? offsetMs : zoneOffset(zone);
  if (hour === undefined || ahead === null) return null;
  const millisecond = Number(fraction.padEnd(3, '0').slice(0, 3));
  return timeAt(
    {
      year: Number(year),
      month: Number(month),
      day: Number(day),
      hour: Number(hour),
      minute: Number(minute),
      second: Number(second),
      millisecond,
    },
    ahead,
  );
}

/** A date that exists, without its zone if it has one, as an `xs:date` of XML may. Null: it is none. */
export function readDay(text: string): Day | null {
  const [, year, month, day, hour] = ISO.exec(text) ?? [];
  if (year === undefined || hour !== undefined) return null;
  return timeAt({ year: Number(year), month: Number(month), day: Number(day) }, 0) && `${year}-${month}-${day}`;
}

/** Null: there is no such zone. */
function zoneOffset(zone: string): number | null {
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined) return 0; // Z
  if (Number(hours) > 14 || Number(minutes) > 59) return null;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
