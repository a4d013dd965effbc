// The error catalog: every error code with its HTTP status and message (contract, section 7). No other place maps a
// code to a status. `npm run generate -- errors` generates `docs/errors.md` from it.

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
} as const;

export type ErrorStatus = keyof typeof TYPE_OF_STATUS;
export type ErrorType = (typeof TYPE_OF_STATUS)[ErrorStatus];

/** The codes of each status: what is wrong and what to do next. Messages may change; a code's meaning never. */
const MESSAGES = {
  400: {
    VALIDATION_FAILED: 'The request is invalid. Correct the fields listed in details.fields and send it again.',
    MALFORMED_JSON: 'The request body is not valid JSON. Send one JSON value, encoded as UTF-8.',
    BODY_TOO_LARGE:
      'The request body is too large. Send fewer items or shorter texts; details.fields states the limit in bytes.',
    UNSUPPORTED_CONTENT_TYPE:
      'The content type of the request body is not supported. Send uncompressed UTF-8 JSON with the header Content-Type: application/json.',
    IDEMPOTENCY_KEY_MISSING:
      'This request requires an Idempotency-Key header. Send a unique value, such as a UUID, and reuse it when you retry.',
    IDEMPOTENCY_KEY_INVALID:
      'The Idempotency-Key header is invalid. Send 1 to 255 visible ASCII characters without spaces, such as a UUID.',
    INVALID_CURSOR:
      'The cursor is not valid for this list. Pass the nextCursor of the previous page unchanged, alone or with the same filters.',
  },
  401: {
    API_KEY_MISSING: 'No API key was sent. Send it in the header Authorization: Bearer <API_KEY>.',
    API_KEY_INVALID:
      'The API key is malformed, unknown, expired or revoked. Send a valid key as Authorization: Bearer <API_KEY>.',
    RAIL_CALLBACK_INVALID:
      'The callback could not be verified: its signature or content is invalid, or it is too old. Sign the raw body and send it again.',
    API_KEY_ENVIRONMENT_MISMATCH:
      "The API key belongs to the other environment. Use a key of this environment, or the host of the key's environment.",
  },
  403: {
    API_KEY_SCOPE_FORBIDDEN:
      'The API key lacks the scope that this request requires. Use a key with the scope in details.requiredScopes.',
    IP_NOT_ALLOWED:
      'The API key may not be used from details.address. Use an allowed address, or change the allowedIps of the key.',
  },
  404: {
    ROUTE_NOT_FOUND:
      'No route matches this host, method and path. Paths start with /v1; if the path exists, details.allowedMethods lists its methods.',
    WALLET_NOT_FOUND: 'No such wallet. Check the id and the environment of the API key.',
    PAYMENT_NOT_FOUND: 'No such payment. Check the id and the environment of the API key.',
    SPLIT_TEMPLATE_NOT_FOUND: 'No such split template. Check the id and the environment of the API key.',
    TRANSFER_NOT_FOUND: 'No such transfer. Check the id and the environment of the API key.',
    HOLD_NOT_FOUND: 'No such hold. Check the id and the environment of the API key.',
    WITHDRAWAL_NOT_FOUND: 'No such withdrawal. Check the id and the environment of the API key.',
    REFUND_NOT_FOUND: 'No such refund. Check the id and the environment of the API key.',
    PAYOUT_NOT_FOUND: 'No such payout. Check the id and the environment of the API key.',
    TRANSACTION_NOT_FOUND: 'No such ledger transaction. Check the id and the environment of the API key.',
    REVIEW_CASE_NOT_FOUND: 'No such review case. Check the id and the environment of the API key.',
    API_KEY_NOT_FOUND: 'No such API key. Check the id and the environment of the API key of the request.',
    EVENT_NOT_FOUND: 'No such event. Check the id and the environment of the API key.',
    INBOUND_CREDIT_NOT_FOUND: 'The sandbox bank has no inbound credit with this session id.',
    BANK_TRANSFER_NOT_FOUND:
      'The sandbox bank has no transfer with this reference. Use the id of a withdrawal, refund or payout item that was sent.',
    WEBHOOK_ENDPOINT_NOT_FOUND: 'No such webhook endpoint. Check the id and the environment of the API key.',
  },
  409: {
    IDEMPOTENCY_KEY_REUSED:
      'This Idempotency-Key was used with another method, path or body. Use a new key for a new request; retry a request unchanged.',
    IDEMPOTENCY_IN_PROGRESS:
      'A request with this Idempotency-Key is still in progress. Wait a moment, then retry with the same key.',
    BANK_TRANSFER_ENDED:
      'The transfer has ended with details.status. Simulate this outcome with a new transfer, or add "contradict": true.',
    EXTERNAL_REFERENCE_TAKEN:
      'Another wallet has this externalReference. Use the wallet in details.walletId, or choose another reference.',
    REFERENCE_TAKEN:
      'Another resource of this kind, details.id, has this reference. Choose another reference for a new one.',
    DEPOSIT_ACCOUNT_UNAVAILABLE:
      'The bank opens no account number for this wallet, or needs details of its holder that are not recorded. Collect money with payments.',
  },
  422: {
    WALLET_KYC_REQUIRED: 'The wallet has not reached tier1. Submit its KYC details first.',
    WALLET_KYC_NOT_APPLICABLE:
      'A settlement wallet has no KYC details and no tier1 limits. Submit KYC details for other wallets only.',
    WALLET_BVN_LIMIT_REACHED:
      'As many wallets as may have one BVN, details.limit, have this one. Use one of them, or have one closed.',
    WALLET_TIER1_LIMIT_EXCEEDED:
      'The amount exceeds a limit of the wallet, which details.limit and details.limitAmount describe. Send a smaller amount.',
    WALLET_LIMIT_EXCEEDED:
      'More would leave the wallet in a day or month than may, details.limit. Send at most details.remaining, or wait until details.resetsAt.',
    WALLET_TIER_UNAVAILABLE:
      'The organisation has no limits for this tier. Use one of details.tiers, or ask support for a policy that has it.',
    WALLET_INSUFFICIENT_FUNDS:
      'The wallet balance is too low for the amount and its fee, details.attemptedAmount in total; with details.reason safeguarding, customers are owed what is above details.availableAmount. Fund the wallet or send a smaller amount.',
    WALLET_FROZEN: 'The wallet is frozen and cannot move money. Use another wallet, or ask support to unfreeze it.',
    WALLET_CLOSED: 'The wallet is closed and cannot move money. Use another wallet.',
    WITHDRAWAL_NAME_VERIFICATION_FAILED:
      "accountName differs from the bank's name for this account. Compare details.providedName with details.resolvedName, then correct the account or omit accountName.",
    BANK_CODE_UNKNOWN: 'No bank has this code. Use a code from GET /banks.',
    BANK_ACCOUNT_NOT_RESOLVED: 'The bank has no account with this number. Check accountNumber and bankCode.',
    SAME_WALLET: 'The source and destination wallets are the same. Use two different wallets.',
    HOLD_ENDED: 'Nothing is held any more; see details.status. Read the hold to see where its money went.',
    HOLD_AMOUNT_EXCEEDED: 'The amount exceeds what is held. Release at most details.amountHeld.',
    PAYMENT_NOT_PAYABLE:
      'The payment is not pending or has expired; see details.status and details.expiresAt. Create a new payment if it is still to be paid.',
    PAYMENT_NOT_CANCELLABLE:
      'Only a pending payment can be cancelled; see details.status. Refund one that is paid, or let one that is partly paid expire.',
    PAYMENT_METHOD_MISMATCH:
      'This payment cannot be paid from a wallet. Pay it by details.method, or create one with details.requiredMethod.',
    PAYMENT_NOT_REFUNDABLE:
      'Only a settled or partially refunded payment can be refunded. Check details.status before you request a refund.',
    REFUND_AMOUNT_EXCEEDED: 'The amount exceeds what is left to refund. Refund at most details.refundableAmount.',
    REFUND_DESTINATION_REQUIRED:
      'The destination of this refund is unclear; details.reason says why. Send destination "bank" with the bankAccount to refund to.',
    REVIEW_ACTION_UNAVAILABLE:
      'The review case does not allow this action now. Read it again, and choose one of its actions.',
    REVIEW_NEEDS_OPERATORS: 'Crediting another wallet, or a large amount, needs two operators. Ask support.',
    API_KEY_EXCEEDS_OWN:
      'A key cannot create or end a key with more rights than its own, nor end one that it comes from. Lower details.field, or use another key.',
    API_KEY_NOT_ACTIVE: 'The API key has expired or was revoked; see details.status. Create a new one.',
    WEBHOOK_URL_FORBIDDEN: 'Webhooks cannot be sent to this URL; details.reason says why. Use another URL.',
    WEBHOOK_ENDPOINT_DISABLED: 'The webhook endpoint is disabled. Enable it first.',
    WEBHOOK_ENDPOINT_LIMIT_REACHED:
      'The organisation has as many webhook endpoints as it may have, details.limit. Delete one first.',
  },
  429: {
    RATE_LIMIT_EXCEEDED:
      'Too many requests with this API key. Wait for the number of seconds in Retry-After, then retry.',
  },
  500: {
    INTERNAL_ERROR:
      'Something went wrong on our side. Retry with the same Idempotency-Key; contact support with the requestId if it persists.',
  },
  502: {
    BANK_RAIL_ERROR: 'The bank rail returned an error or an invalid response. Retry with the same Idempotency-Key.',
  },
  503: {
    SERVICE_UNAVAILABLE:
      'The service is overloaded, or a part that it needs is unavailable. Retry with the same Idempotency-Key where details.retryable is true.',
  },
  504: {
    BANK_RAIL_TIMEOUT: 'The bank rail did not respond in time. Retry with the same Idempotency-Key.',
  },
} satisfies Record<ErrorStatus, Record<string, string>>;

export type CodeOf<Status extends ErrorStatus> = Status extends ErrorStatus ? keyof (typeof MESSAGES)[Status] : never;
export type ErrorCode = CodeOf<ErrorStatus>;

export const CATALOG = Object.fromEntries(
  Object.entries(MESSAGES).flatMap(([status, messages]) =>
    Object.entries(messages).map(([code, message]) => [code, [Number(status), message]]),
  ),
) as unknown as Record<ErrorCode, readonly [ErrorStatus, string]>;

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

/** An error of the catalog, sent as the response. `details` has the shape of its type (contract, section 7). */
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
}

/** VALIDATION_FAILED for one field, found after the schema was checked. */
export const invalidField = (field: FieldError): ApiError => new ApiError('VALIDATION_FAILED', { fields: [field] });

const DEFAULT_DETAILS: Partial<Record<ErrorType, Record<string, unknown>>> = {
  validation_error: { fields: [] },
  internal_error: { retryable: true },
};

type ResourceOf<Code> = Code extends `${infer Resource}_NOT_FOUND` ? Lowercase<Resource> : never;
/** What a 404 is about, in the words of its code. */
export type FoundResource = ResourceOf<CodeOf<404>>;

/** The 404 for a resource that does not exist or is another caller's: the same, so ids cannot be probed. */
export const notFound = (resource: FoundResource, id: string): ApiError =>
  new ApiError(`${resource.toUpperCase()}_NOT_FOUND` as ErrorCode, { resource, id });

/** The 404 for a request that no route matches: `GET /path`. */
export const routeNotFound = (request: string, details: { allowedMethods?: string[] } = {}): ApiError =>
  new ApiError('ROUTE_NOT_FOUND', { resource: 'route', id: request.slice(0, 200), ...details });
