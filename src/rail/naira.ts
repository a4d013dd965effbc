// Kobo to and from the naira text of providers, digit by digit: an amount is never a floating-point number.
import type { Kobo } from '../money.ts';

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
