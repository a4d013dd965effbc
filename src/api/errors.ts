// The error catalog: every code that a caller can meet, with its HTTP status and what to do about it. `docs/errors.md`
// is made from it. No other place maps a code to a status (contract, section 7).

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

/** Code → status and the message a person reads. Codes never change their meaning; messages may. */
export const CATALOG = {
  VALIDATION_FAILED: [400, 'The request is not valid. Correct the fields named in details.fields.'],
  MALFORMED_JSON: [400, 'The body is not valid JSON. Send one JSON value, encoded as UTF-8.'],
  BODY_TOO_LARGE: [400, 'The body is too large. Send fewer items, or shorter texts.'],
  UNSUPPORTED_CONTENT_TYPE: [400, 'The body must be sent with Content-Type: application/json.'],
  IDEMPOTENCY_KEY_MISSING: [400, 'This request moves money: send an Idempotency-Key header, for example a UUID.'],
  IDEMPOTENCY_KEY_INVALID: [400, 'Idempotency-Key must be 1 to 255 visible ASCII characters.'],
  INVALID_CURSOR: [
    400,
    'The cursor is not valid here. Pass nextCursor back unchanged, alone or with the same filters.',
  ],
  API_KEY_MISSING: [401, 'Send your API key: Authorization: Bearer <API_KEY>.'],
  API_KEY_INVALID: [
    401,
    'The API key is not valid. Send it as Authorization: Bearer <API_KEY>; it may also be mistyped, expired or revoked.',
  ],
  RAIL_CALLBACK_INVALID: [401, 'The callback is not signed by the rail, or was signed too long ago.'],
  API_KEY_ENVIRONMENT_MISMATCH: [401, 'This API key belongs to the other environment. Use its host, or its key.'],
  API_KEY_SCOPE_FORBIDDEN: [403, 'The API key lacks a scope that this request needs. Use a key that has it.'],
  ROUTE_NOT_FOUND: [
    404,
    'There is no such route. Check the path, which starts with /v1, and the method: details.allowedMethods names those of a path that is there.',
  ],
  WALLET_NOT_FOUND: [404, 'There is no wallet with this id.'],
  PAYMENT_NOT_FOUND: [404, 'There is no payment with this id.'],
  TRANSFER_NOT_FOUND: [404, 'There is no transfer with this id.'],
  WITHDRAWAL_NOT_FOUND: [404, 'There is no withdrawal with this id.'],
  REFUND_NOT_FOUND: [404, 'There is no refund with this id.'],
  PAYOUT_NOT_FOUND: [404, 'There is no payout with this id.'],
  EVENT_NOT_FOUND: [404, 'There is no event with this id.'],
  BANK_TRANSFER_NOT_FOUND: [404, 'The sandbox bank took no transfer with this reference.'],
  WEBHOOK_ENDPOINT_NOT_FOUND: [404, 'There is no webhook endpoint with this id.'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used for another request. Use a new key for a new request.'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'The first request with this key is still running. Retry with the same key shortly.'],
  BANK_TRANSFER_ENDED: [409, 'The transfer has ended in a way that rules this out; details say how it stands.'],
  EXTERNAL_REFERENCE_TAKEN: [409, 'Another wallet has this externalReference; details name it.'],
  WALLET_KYC_REQUIRED: [422, 'The wallet has not reached tier1. Submit its KYC details first.'],
  WALLET_KYC_NOT_APPLICABLE: [
    422,
    "This is the platform's own settlement wallet: it has no customer, takes no KYC details and has no tier1 limits.",
  ],
  WALLET_TIER1_LIMIT_EXCEEDED: [
    422,
    'The amount passes a limit of the wallet (of tier1, or the largest balance there is); details say which.',
  ],
  WALLET_INSUFFICIENT_FUNDS: [422, 'The balance of the wallet is too low.'],
  WALLET_FROZEN: [422, 'The wallet is frozen: no money moves until it is unfrozen.'],
  WALLET_CLOSED: [422, 'The wallet is closed and accepts no new movement.'],
  WITHDRAWAL_NAME_VERIFICATION_FAILED: [
    422,
    'accountName is not the name that the bank has for this account; details name both.',
  ],
  BANK_CODE_UNKNOWN: [422, 'There is no bank with this code. GET /banks lists them.'],
  BANK_ACCOUNT_NOT_RESOLVED: [422, 'The bank knows no account with this number.'],
  SAME_WALLET: [422, 'Source and destination are the same wallet.'],
  PAYMENT_NOT_PAYABLE: [422, 'Only a pending payment can be paid, before it expires; details say how it stands.'],
  PAYMENT_METHOD_MISMATCH: [422, 'A payment of this method cannot be paid from a wallet.'],
  PAYMENT_NOT_REFUNDABLE: [422, 'Only a settled or partially refunded payment can be refunded.'],
  REFUND_AMOUNT_EXCEEDED: [422, 'The amount is more than what is left to refund; details say how much that is.'],
  REFUND_DESTINATION_REQUIRED: [
    422,
    'It is not clear where this refund should go; details.reason says why. Send destination "bank" with the bankAccount to refund to.',
  ],
  WEBHOOK_URL_FORBIDDEN: [422, 'Webhooks are not sent to this address; details.reason says why.'],
  WEBHOOK_ENDPOINT_DISABLED: [422, 'The webhook endpoint is disabled. Enable it first.'],
  WEBHOOK_ENDPOINT_LIMIT_REACHED: [422, 'Webhook endpoint limit reached; delete one first.'],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests with this key. Wait for Retry-After seconds.'],
  INTERNAL_ERROR: [
    500,
    'Something went wrong on our side. Retry with the same Idempotency-Key; contact support with the requestId if it persists.',
  ],
  BANK_RAIL_ERROR: [502, 'The bank rail rejected the request or returned an invalid response. Try again later.'],
  SERVICE_UNAVAILABLE: [
    503,
    'A dependency is unavailable. Retry with the same Idempotency-Key where details.retryable is true.',
  ],
  BANK_RAIL_TIMEOUT: [504, 'The bank rail did not answer in time. Retry with the same Idempotency-Key.'],
} as const satisfies Record<string, readonly [ErrorStatus, string]>;

export type ErrorCode = keyof typeof CATALOG;

const statusOf = (code: ErrorCode): ErrorStatus => CATALOG[code][0];
export const typeOf = (code: ErrorCode): ErrorType => TYPE_OF_STATUS[statusOf(code)];

/** One field that is wrong: a dotted path, zod's reason, a sentence, and the bound that was missed. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
  constraint?: Record<string, unknown>;
}

/** An answer that is an error of the catalog. `details` has the shape that contract section 7 gives its type. */
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

  /** Whether the same request may go through later, as far as it is up to us. */
  get isRetryable(): boolean {
    return this.details.retryable === true;
  }
}

const DEFAULT_DETAILS: Partial<Record<ErrorType, Record<string, unknown>>> = {
  validation_error: { fields: [] },
  internal_error: { retryable: true },
};

type FoundResource =
  | 'wallet'
  | 'payment'
  | 'transfer'
  | 'withdrawal'
  | 'refund'
  | 'payout'
  | 'event'
  | 'bank_transfer'
  | 'webhook_endpoint';

/** 404 for a resource that is not there, or not this caller's: both read the same, so that ids cannot be probed. */
export function notFound(resource: FoundResource, id: string): ApiError {
  return new ApiError(`${resource.toUpperCase()}_NOT_FOUND` as ErrorCode, { resource, id });
}
