// Money is a whole number of kobo. On every wire it is a safe integer, in SQL a bigint.

/** An amount in kobo (100 kobo are one naira). */
export type Kobo = number;

/** The currency of every book (contract, section 1). */
export const CURRENCY = 'NGN';

/** The largest single amount a request may name: ten billion naira, far below the safe-integer line even when summed. */
export const AMOUNT_MAX: Kobo = 1_000_000_000_000;

/** What each organisation's money is kept apart by: sandbox and live never meet. */
export type Environment = 'test' | 'live';

/** One set of books: every account, row and query belongs to exactly one. */
export interface Book {
  organisationId: string;
  environment: Environment;
}
