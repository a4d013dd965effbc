// Generated from the OpenAPI document by `npm run generate -- clients`. Do not edit.

/** The paths of the POST requests that take an Idempotency-Key. */
export const IDEMPOTENT_POSTS: readonly RegExp[] = [
  /\/wallets\/[^/]+\/transfer$/,
  /\/wallets\/[^/]+\/pay$/,
  /\/wallets\/[^/]+\/withdraw$/,
  /\/payments$/,
  /\/payments\/[^/]+\/refund$/,
  /\/payouts$/,
  /\/review-cases\/[^/]+\/resolve$/,
];
