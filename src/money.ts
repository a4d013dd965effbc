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

/** `test` is the sandbox. No row, account or query spans both environments. */
export const ENVIRONMENTS = ['test', 'live'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** The books of one organisation in one environment. Every account, row and query belongs to exactly one book. */
export interface Book {
  organisationId: string;
  environment: Environment;
}
