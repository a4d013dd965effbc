// The times in Monnify's responses, which have several formats. Times without a zone are in Lagos.
import { LAGOS_OFFSET_MS, readTime } from '../../times.ts';

const DAY_FIRST = /^(\d\d)\/(\d\d)\/(\d{4}) (\d{1,2}:\d\d:\d\d)/;
const HALF_OF_DAY = /^(\d{4}-\d\d-\d\d[T ])(\d\d)(:[\d:.]+?)\s?:?(AM|PM)$/i;

/** Null: the text is in none of the documented formats, or is not a time. */
export function timeOf(text: string): Date | null {
  const yearFirst = text.replace(
    DAY_FIRST,
    (_, day, month, year, time: string) => `${year}-${month}-${day} ${time.padStart(8, '0')}`,
  );
  const hour24 = yearFirst.replace(
    HALF_OF_DAY,
    (_, day, hour: string, rest, half: string) => `${day}${hourOf(Number(hour), half.toUpperCase())}${rest}`,
  );
  return readTime(hour24, LAGOS_OFFSET_MS);
}

/** `13:05 PM` is seen too: an hour after noon stays as it is. */
function hourOf(hour: number, half: string): string {
  const value = half === 'PM' && hour < 12 ? hour + 12 : half === 'AM' && hour === 12 ? 0 : hour;
  return String(value).padStart(2, '0');
}
