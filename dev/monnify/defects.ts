// What a provider may do otherwise than documented, for `rail check` to find. The fake does none of these by
// itself.
export const DEFECTS = [
  /** Any secret logs in. */
  'any_secret',
  /** A wrong secret is a fault of the server. */
  'secret_500',
  /** A wrong secret is forbidden. */
  'secret_403',
  /** A login ends the tokens before it. */
  'one_token',
  /** Its clock is five minutes fast. */
  'clock_fast',
  'few_banks',
  /** Two banks have one NIP code. */
  'nip_code_twice',
  /** Name enquiry finds a holder of every number. */
  'every_account_exists',
  /** An enquiry at an unknown bank is refused in words of its own. */
  'refuses_banks',
  /** Times are in UTC, where the documentation has the time of Lagos. */
  'utc_expiry',
  /** The same reference is given another number. */
  'forgets_references',
  /** An invoice takes any amount. */
  'any_amount',
  /** The look-up of a transaction reports another amount than the list. */
  'other_amount',
  /** A repeated reference is paid again. */
  'pays_again',
  /** A reference that was never sent has a status. */
  'invents_transfers',
  /** The second of two equal transfers is refused as an invalid one. */
  'refuses_twins',
  /** There is no guard against duplicates. */
  'no_guard',
  /** Kobo are rounded to naira. */
  'rounds',
  /** Narrations have 30 characters at most. */
  'short_narrations',
  /** The charge of a transfer is not reported. */
  'no_charges',
  /** The statement has no transfers. */
  'empty_statement',
  /** Each transfer is on the statement twice. */
  'statement_twice',
  /** More than ten enquiries are refused for their rate. */
  'rate_limit',
  /** More than ten enquiries end in a page of a proxy. */
  'overload',
] as const;
export type Defect = (typeof DEFECTS)[number];
