// Fields of providers' responses, for schemas: lenient in what may be missing. Numbers are texts (http.ts).
import { z } from 'zod';
import { koboOf } from './naira.ts';

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
