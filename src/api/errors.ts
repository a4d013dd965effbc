// The error catalog: every error code with its HTTP status and message (contract, section 7). No other place maps a
// code to a status. `npm run generate -- errors` generates `docs/errors.md` from it.

export type ErrorType =
  | 'validation_error'
  | 'authentication_error'
  | 'authorization_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'unprocessable_error'
  | 'rate_limit_error'
  | 'internal_error';

const TYPE_OF_STATUS = {
  400: 'validation_error',
  401: 'authentication_error',
  403: 'authorization_error',
  404: 'not_found_error',
  409: 'conflict_error',
  422: 'unprocessable_error',
  429: 'rate_limit_error',
  500: 'internal_error',
  502: 'internal_error',
  503: 'internal_error',
  504: 'internal_error',
} as const satisfies Record<number, ErrorType>;

export type ErrorStatus = keyof typeof TYPE_OF_STATUS;

/**
 * Status and message by code. The message says what is wrong and what to do next. Messages may change; the meaning of a
 * code never does.
 */
export const CATALOG = {
  VALIDATION_FAILED: [400, 'The request is invalid. Correct the fields listed in details.fields and send it again.'],
  MALFORMED_JSON: [400, 'The request body is not valid JSON. Send one JSON value, encoded as UTF-8.'],
  BODY_TOO_LARGE: [
    400,
    'The request body is too large. Send fewer items or shorter texts; details.fields states the limit in bytes.',
  ],
  UNSUPPORTED_CONTENT_TYPE: [
    400,
    'The content type of the request body is not supported. Send JSON with the header Content-Type: application/json.',
  ],
  IDEMPOTENCY_KEY_MISSING: [
    400,
    'This request requires an Idempotency-Key header. Send a unique value, such as a UUID, and reuse it when you retry.',
  ],
  IDEMPOTENCY_KEY_INVALID: [
    400,
    'The Idempotency-Key header is invalid. Send 1 to 255 visible ASCII characters without spaces, such as a UUID.',
  ],
  INVALID_CURSOR: [
    400,
    'The cursor is not valid for this list. Pass the nextCursor of the previous page unchanged, alone or with the same filters.',
  ],
  API_KEY_MISSING: [401, 'No API key was sent. Send it in the header Authorization: Bearer <API_KEY>.'],
  API_KEY_INVALID: [
    401,
    'The API key is malformed, unknown, expired or revoked. Send a valid key as Authorization: Bearer <API_KEY>.',
  ],
  RAIL_CALLBACK_INVALID: [
    401,
    'The callback could not be verified: its signature or content is invalid, or it is too old. Sign the raw body and send it again.',
  ],
  API_KEY_ENVIRONMENT_MISMATCH: [
    401,
    "The API key belongs to the other environment. Use a key of this environment, or the host of the key's environment.",
  ],
  API_KEY_SCOPE_FORBIDDEN: [
    403,
    'The API key lacks the scope that this request requires. Use a key with the scope in details.requiredScopes.',
  ],
  IP_NOT_ALLOWED: [
    403,
    'The API key may not be used from details.address. Use an allowed address, or change the allowedIps of the key.',
  ],
  ROUTE_NOT_FOUND: [
    404,
    'No route matches this method and path. Paths start with /v1; if the path exists, details.allowedMethods lists its methods.',
  ],
  WALLET_NOT_FOUND: [404, 'No such wallet. Check the id and the environment of the API key.'],
  PAYMENT_NOT_FOUND: [404, 'No such payment. Check the id and the environment of the API key.'],
  TRANSFER_NOT_FOUND: [404, 'No such transfer. Check the id and the environment of the API key.'],
  WITHDRAWAL_NOT_FOUND: [404, 'No such withdrawal. Check the id and the environment of the API key.'],
  REFUND_NOT_FOUND: [404, 'No such refund. Check the id and the environment of the API key.'],
  PAYOUT_NOT_FOUND: [404, 'No such payout. Check the id and the environment of the API key.'],
  TRANSACTION_NOT_FOUND: [404, 'No such ledger transaction. Check the id and the environment of the API key.'],
  REVIEW_CASE_NOT_FOUND: [404, 'No such review case. Check the id and the environment of the API key.'],
  API_KEY_NOT_FOUND: [404, 'No such API key. Check the id and the environment of the API key of the request.'],
  EVENT_NOT_FOUND: [404, 'No such event. Check the id and the environment of the API key.'],
  INBOUND_CREDIT_NOT_FOUND: [404, 'The sandbox bank has no inbound credit with this session id.'],
  BANK_TRANSFER_NOT_FOUND: [
    404,
    'The sandbox bank has no transfer with this reference. Use the id of a withdrawal, refund or payout item that was sent.',
  ],
  WEBHOOK_ENDPOINT_NOT_FOUND: [404, 'No such webhook endpoint. Check the id and the environment of the API key.'],
  IDEMPOTENCY_KEY_REUSED: [
    409,
    'This Idempotency-Key was used with another method, path or body. Use a new key for a new request; retry a request unchanged.',
  ],
  IDEMPOTENCY_IN_PROGRESS: [
    409,
    'A request with this Idempotency-Key is still in progress. Wait a moment, then retry with the same key.',
  ],
  BANK_TRANSFER_ENDED: [
    409,
    'The transfer has ended with details.status. Simulate this outcome with a new transfer, or add "contradict": true.',
  ],
  EXTERNAL_REFERENCE_TAKEN: [
    409,
    'Another wallet has this externalReference. Use the wallet in details.walletId, or choose another reference.',
  ],
  REFERENCE_TAKEN: [
    409,
    'Another resource of this kind, details.id, has this reference. Choose another reference for a new one.',
  ],
  DEPOSIT_ACCOUNT_UNAVAILABLE: [
    409,
    'The bank opens no account number for this wallet, or needs details of its holder that are not recorded. Collect money with payments.',
  ],
  WALLET_KYC_REQUIRED: [422, 'The wallet has not reached tier1. Submit its KYC details first.'],
  WALLET_KYC_NOT_APPLICABLE: [
    422,
    'A settlement wallet has no KYC details and no tier1 limits. Submit KYC details for other wallets only.',
  ],
  WALLET_TIER1_LIMIT_EXCEEDED: [
    422,
    'The amount exceeds a limit of the wallet, which details.limit and details.limitAmount describe. Send a smaller amount.',
  ],
  WALLET_INSUFFICIENT_FUNDS: [
    422,
    'The wallet balance is too low for the amount and its fee, details.attemptedAmount in total. Fund the wallet or send a smaller amount.',
  ],
  WALLET_FROZEN: [
    422,
    'The wallet is frozen and cannot move money. Use another wallet, or ask support to unfreeze it.',
  ],
  WALLET_CLOSED: [422, 'The wallet is closed and cannot move money. Use another wallet.'],
  WITHDRAWAL_NAME_VERIFICATION_FAILED: [
    422,
    "accountName differs from the bank's name for this account. Compare details.providedName with details.resolvedName, then correct the account or omit accountName.",
  ],
  BANK_CODE_UNKNOWN: [422, 'No bank has this code. Use a code from GET /banks.'],
  BANK_ACCOUNT_NOT_RESOLVED: [422, 'The bank has no account with this number. Check accountNumber and bankCode.'],
  SAME_WALLET: [422, 'The source and destination wallets are the same. Use two different wallets.'],
  PAYMENT_NOT_PAYABLE: [
    422,
    'The payment is not pending or has expired; see details.status and details.expiresAt. Create a new payment if it is still to be paid.',
  ],
  PAYMENT_METHOD_MISMATCH: [
    422,
    'This payment cannot be paid from a wallet. Pay it by details.method, or create one with details.requiredMethod.',
  ],
  PAYMENT_NOT_REFUNDABLE: [
    422,
    'Only a settled or partially refunded payment can be refunded. Check details.status before you request a refund.',
  ],
  REFUND_AMOUNT_EXCEEDED: [422, 'The amount exceeds what is left to refund. Refund at most details.refundableAmount.'],
  REFUND_DESTINATION_REQUIRED: [
    422,
    'The destination of this refund is unclear; details.reason says why. Send destination "bank" with the bankAccount to refund to.',
  ],
  REVIEW_ACTION_UNAVAILABLE: [
    422,
    'The review case does not allow this action now. Read it again, and choose one of its actions.',
  ],
  REVIEW_NEEDS_OPERATORS: [422, 'Crediting another wallet, or a large amount, needs two operators. Ask support.'],
  API_KEY_EXCEEDS_OWN: [
    422,
    'A key cannot create a key with more rights than its own. Lower details.field, or use another key.',
  ],
  API_KEY_NOT_ACTIVE: [422, 'The API key has expired or was revoked; see details.status. Create a new one.'],
  WEBHOOK_URL_FORBIDDEN: [422, 'Webhooks cannot be sent to this URL; details.reason says why. Use another URL.'],
  WEBHOOK_ENDPOINT_DISABLED: [422, 'The webhook endpoint is disabled. Enable it first.'],
  WEBHOOK_ENDPOINT_LIMIT_REACHED: [
    422,
    'The organisation has as many webhook endpoints as it may have, details.limit. Delete one first.',
  ],
  RATE_LIMIT_EXCEEDED: [
    429,
    'Too many requests with this API key. Wait for the number of seconds in Retry-After, then retry.',
  ],
  INTERNAL_ERROR: [
    500,
    'Something went wrong on our side. Retry with the same Idempotency-Key; contact support with the requestId if it persists.',
  ],
  BANK_RAIL_ERROR: [502, 'The bank rail rejected the request or returned an invalid response. Try again later.'],
  SERVICE_UNAVAILABLE: [
    503,
    'A dependency is unavailable. Retry with the same Idempotency-Key where details.retryable is true.',
  ],
  BANK_RAIL_TIMEOUT: [504, 'The bank rail did not respond in time. Retry with the same Idempotency-Key.'],
} as const satisfies Record<string, readonly [ErrorStatus, string]>;

export type ErrorCode = keyof typeof CATALOG;

const statusOf = (code: ErrorCode): ErrorStatus => CATALOG[code][0];
export const typeOf = (code: ErrorCode): ErrorType => TYPE_OF_STATUS[statusOf(code)];

/** The `Link` header of an error: its heading in the page of errors, on the host that answered. */
export const helpLink = (code: ErrorCode): string => `</docs/errors#${code.toLowerCase()}>; rel="help"`;

/** One invalid field: its dotted path, a code, a message, and the constraint that was violated. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
  constraint?: Record<string, unknown>;
  /** Of an uploaded file: the line, from 1, and the name of the column. */
  line?: number;
  column?: string;
}

/**
 * An error of the catalog, sent as the response. `details` has the shape that contract section 7 defines for its type.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, details: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(CATALOG[code][1], options);
    this.name = 'ApiError';
    this.code = code;
    this.details = { ...DEFAULT_DETAILS[typeOf(code)], ...details };
  }

  get status(): ErrorStatus {
    return statusOf(this.code);
  }

  /** Whether a retry of the same request may succeed: a 5xx that is not caused by the configuration. */
  get isRetryable(): boolean {
    return this.details.retryable === true;
  }
}

/** VALIDATION_FAILED for one field, found after the schema was checked. */
export const invalidField = (field: FieldError): ApiError => new ApiError('VALIDATION_FAILED', { fields: [field] });

const DEFAULT_DETAILS: Partial<Record<ErrorType, Record<string, unknown>>> = {
  validation_error: { fields: [] },
  internal_error: { retryable: true },
};

export type FoundResource =
  | 'wallet'
  | 'payment'
  | 'transfer'
  | 'withdrawal'
  | 'refund'
  | 'payout'
  | 'event'
  | 'inbound_credit'
  | 'bank_transfer'
  | 'api_key'
  | 'webhook_endpoint'
  | 'transaction'
  | 'review_case';

/**
 * The 404 for a resource that does not exist or belongs to another caller: the same for both, so ids cannot be probed.
 */
export function notFound(resource: FoundResource, id: string): ApiError {
  return new ApiError(`${resource.toUpperCase()}_NOT_FOUND` as ErrorCode, { resource, id });
}
