// Money is a whole number of kobo: a safe integer in JSON and in TypeScript, a bigint in SQL.

/** An amount in kobo (100 kobo are one naira). */
export type Kobo = number;

/** The currency of every book (contract, section 1). */
export const CURRENCY = 'NGN' as const;

/** An amount for people, such as `₦25,000.00`. Programs get kobo. Digits only, so it is exact. */
export function nairaText(amount: Kobo | bigint): string {
  const digits = String(amount).replace('-', '').padStart(3, '0');
  const naira = digits.slice(0, -2).replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return `${amount < 0 ? '-' : ''}₦${naira}.${digits.slice(-2)}`;
}

/** The largest amount in a request: ten billion naira. The sum of a thousand of them is still a safe integer. */
export const AMOUNT_MAX: Kobo = 1_000_000_000_000;

export const sumOf = (amounts: readonly Kobo[]): Kobo => amounts.reduce((sum, amount) => sum + amount, 0);

/**
 * Divides an amount in proportion to weights, by largest remainder: the parts sum to the amount, and each is its exact
 * share, rounded up or down. Of equal remainders the first is rounded up. Throws if all weights are zero and the amount
 * is not. In BigInt: a product may exceed a safe integer.
 */
export function apportion(amount: Kobo, weights: readonly (number | bigint)[]): Kobo[] {
  const whole = weights.reduce((sum: bigint, weight) => sum + BigInt(weight), 0n);
  if (whole === 0n && amount > 0) throw new RangeError('an amount cannot be divided by weights of zero');
  const parts = weights.map((weight) => {
    const product = BigInt(amount) * BigInt(weight);
    return whole === 0n ? { part: 0, remainder: 0n } : { part: Number(product / whole), remainder: product % whole };
  });
  const rest = parts.reduce((left, { part }) => left - part, amount);
  const largest = parts.toSorted(
    (one, other) => Number(other.remainder > one.remainder) - Number(other.remainder < one.remainder),
  );
  for (const rounded of largest.slice(0, rest)) rounded.part += 1;
  return parts.map(({ part }) => part);
}

/** `test` is the sandbox. No row, account or query spans both environments. */
export const ENVIRONMENTS = ['test', 'live'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** The books of one organisation in one environment. Every account, row and query belongs to exactly one book. */
export interface Book {
  organisationId: string;
  environment: Environment;
}

/** A book as the key of a map, and back. */
export const bookKey = ({ organisationId, environment }: Book): string => `${organisationId} ${environment}`;
export function bookOfKey(key: string): Book {
  const [organisationId = '', environment] = key.split(' ');
  return { organisationId, environment: environment as Environment };
}
