// Generated from the OpenAPI document by `npm run generate -- clients`. Do not edit.

/** The paths of the POST requests that take an Idempotency-Key. */
export const IDEMPOTENT_POSTS: readonly RegExp[] = [
  /\/wallets$/,
  /\/wallets\/[^/]+\/kyc$/,
  /\/wallets\/[^/]+\/transfer$/,
  /\/holds\/[^/]+\/release$/,
  /\/holds\/[^/]+\/cancel$/,
  /\/wallets\/[^/]+\/pay$/,
  /\/wallets\/[^/]+\/withdraw$/,
  /\/payments$/,
  /\/payments\/[^/]+\/cancel$/,
  /\/simulations\/payments\/[^/]+\/expire$/,
  /\/payments\/[^/]+\/refund$/,
  /\/split-templates$/,
  /\/payouts$/,
  /\/webhook-endpoints$/,
  /\/webhook-endpoints\/[^/]+\/rotate-secret$/,
  /\/webhook-endpoints\/[^/]+\/test$/,
  /\/review-cases\/[^/]+\/resolve$/,
  /\/api-keys$/,
  /\/api-keys\/[^/]+\/rotate$/,
  /\/simulations\/inbound-credits$/,
  /\/simulations\/statement-lines$/,
  /\/simulations\/inbound-credits\/[^/]+\/recall$/,
];

/** The codes of the errors of the API. */
export type ApiErrorCode =
  | 'API_KEY_ENVIRONMENT_MISMATCH'
  | 'API_KEY_EXCEEDS_OWN'
  | 'API_KEY_INVALID'
  | 'API_KEY_MISSING'
  | 'API_KEY_NOT_ACTIVE'
  | 'API_KEY_NOT_FOUND'
  | 'API_KEY_SCOPE_FORBIDDEN'
  | 'BANK_ACCOUNT_NOT_RESOLVED'
  | 'BANK_CODE_UNKNOWN'
  | 'BANK_RAIL_ERROR'
  | 'BANK_RAIL_TIMEOUT'
  | 'BANK_TRANSFER_ENDED'
  | 'BANK_TRANSFER_NOT_FOUND'
  | 'BODY_TOO_LARGE'
  | 'DEPOSIT_ACCOUNT_UNAVAILABLE'
  | 'EVENT_NOT_FOUND'
  | 'EXTERNAL_REFERENCE_TAKEN'
  | 'HOLD_AMOUNT_EXCEEDED'
  | 'HOLD_ENDED'
  | 'HOLD_NOT_FOUND'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_KEY_INVALID'
  | 'IDEMPOTENCY_KEY_MISSING'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INBOUND_CREDIT_NOT_FOUND'
  | 'INTERNAL_ERROR'
  | 'INVALID_CURSOR'
  | 'IP_NOT_ALLOWED'
  | 'MALFORMED_JSON'
  | 'PAYMENT_METHOD_MISMATCH'
  | 'PAYMENT_NOT_CANCELLABLE'
  | 'PAYMENT_NOT_FOUND'
  | 'PAYMENT_NOT_PAYABLE'
  | 'PAYMENT_NOT_REFUNDABLE'
  | 'PAYOUT_NOT_FOUND'
  | 'RAIL_CALLBACK_INVALID'
  | 'RATE_LIMIT_EXCEEDED'
  | 'REFERENCE_TAKEN'
  | 'REFUND_AMOUNT_EXCEEDED'
  | 'REFUND_DESTINATION_REQUIRED'
  | 'REFUND_NOT_FOUND'
  | 'REVIEW_ACTION_UNAVAILABLE'
  | 'REVIEW_CASE_NOT_FOUND'
  | 'REVIEW_NEEDS_OPERATORS'
  | 'ROUTE_NOT_FOUND'
  | 'SAME_WALLET'
  | 'SERVICE_UNAVAILABLE'
  | 'SPLIT_TEMPLATE_NOT_FOUND'
  | 'TRANSACTION_NOT_FOUND'
  | 'TRANSFER_NOT_FOUND'
  | 'UNSUPPORTED_CONTENT_TYPE'
  | 'VALIDATION_FAILED'
  | 'WALLET_BVN_LIMIT_REACHED'
  | 'WALLET_CLOSED'
  | 'WALLET_FROZEN'
  | 'WALLET_INSUFFICIENT_FUNDS'
  | 'WALLET_KYC_NOT_APPLICABLE'
  | 'WALLET_KYC_REQUIRED'
  | 'WALLET_LIMIT_EXCEEDED'
  | 'WALLET_NOT_FOUND'
  | 'WALLET_TIER1_LIMIT_EXCEEDED'
  | 'WALLET_TIER_UNAVAILABLE'
  | 'WEBHOOK_ENDPOINT_DISABLED'
  | 'WEBHOOK_ENDPOINT_LIMIT_REACHED'
  | 'WEBHOOK_ENDPOINT_NOT_FOUND'
  | 'WEBHOOK_URL_FORBIDDEN'
  | 'WITHDRAWAL_NAME_VERIFICATION_FAILED'
  | 'WITHDRAWAL_NOT_FOUND';
