// Fields of providers' responses, for schemas: lenient in what may be missing. Numbers are texts (http.ts), and amounts
// are read and written digit by digit: an amount is never a floating-point number.
import { z } from 'zod';
import type { Kobo } from '../money.ts';

/** A text of Postgres has no NUL. */
const storable = z.string().refine((value) => !value.includes('\0'));
export const text = storable.min(1).max(1_000);
export const reference = storable.min(1).max(255);

/** Naira, exactly. */
export const amount = z
  .string()
  .transform((value, context) => koboOf(value) ?? invalid(context, 'not an exact amount'));

/** Naira, to the nearest kobo: for a charge, which some providers compute with fractions of a kobo. */
export const roundedAmount = z.string().transform((value, context) => {
  const [, whole, fraction = ''] = /^([0-9]{1,20}(?:\.[0-9]{1,2})?)([0-9]*)$/.exec(value) ?? [];
  const kobo = koboOf(whole ?? '');
  return kobo === null ? invalid(context, 'not an amount') : kobo + (fraction >= '5' ? 1 : 0);
});

export const fieldOfTime = (read: (text: string) => Date | null) =>
  z.string().transform((value, context) => read(value) ?? invalid(context, 'not a time'));

/** What may be missing or of another type: then it is null. */
export const maybe = <Output>(schema: z.ZodType<Output>) => schema.nullable().catch(null).default(null);

/** The value of a word that a provider sent; undefined: the table does not have it, as for `constructor`. */
export const entryOf = <Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

function invalid(context: { addIssue: (message: string) => void }, message: string): never {
  context.addIssue(message);
  return z.NEVER;
}

/** An amount in naira with two decimals, such as `2020.37`. */
export function nairaDecimal(amount: Kobo): string {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError('an amount is a whole number of kobo');
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/**
 * Reads an amount in naira. Null unless the text is an exact number of kobo: no sign, exponent or separator of
 * thousands, no digit but zero after the second decimal, and at most the largest safe integer. Null is
 * unknown, never zero.
 */
export function koboOf(text: string): Kobo | null {
  const [, naira, fraction = ''] = /^([0-9]{1,20})(?:\.([0-9]{1,20}))?$/.exec(text) ?? [];
  if (naira === undefined || /[1-9]/.test(fraction.slice(2))) return null;
  const amount = Number(naira + fraction.slice(0, 2).padEnd(2, '0'));
  return Number.isSafeInteger(amount) ? amount : null;
}
