// Writes docs/errors.md from the catalog in src/api/errors.ts: `node tools/generateErrorsDoc.ts`. A test checks that
// the page is up to date.
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CATALOG, type ErrorCode, type ErrorStatus, typeOf } from '../src/api/errors.ts';

const FILE = new URL('../docs/errors.md', import.meta.url);

/** The meaning of each status and what the client should do. */
const REACTIONS: Record<ErrorStatus, string> = {
  400: 'The request is invalid. Correct it before you send it again. The request had no effect.',
  401: 'The API key is not valid. Retrying does not help.',
  403: 'The API key is valid but lacks a scope. Use a key with the scopes in `details.requiredScopes`.',
  404: 'The resource does not exist. Ids of another organisation or environment return the same error.',
  409: 'The request conflicts with existing data; `details` identify it.',
  422: 'The request is valid, but the state of a wallet or payment does not allow it. No money moved. It may succeed\nlater, with a new `Idempotency-Key`.',
  429: 'Rate limit exceeded. Wait for `Retry-After` seconds, then send the same request again.',
  500: 'An internal error. Retry with the same `Idempotency-Key`: the request takes effect at most once.',
  502: 'The bank rail failed. Retry with the same `Idempotency-Key`: the request takes effect at most once.',
  503: 'A dependency is unavailable or not configured. Where `details.retryable` is true, retry with the same\n`Idempotency-Key`: the request takes effect at most once.',
  504: 'The bank rail timed out. Retry with the same `Idempotency-Key`: the request takes effect at most once.',
};

type CodeOf<Status extends ErrorStatus> = {
  [Code in ErrorCode]: (typeof CATALOG)[Code][0] extends Status ? Code : never;
}[ErrorCode];

/**
 * The fields of `details`, for codes whose type does not determine them. A code that is missing here does not compile.
 */
const DETAILS_OF: Record<CodeOf<409 | 422>, string> = {
  IDEMPOTENCY_KEY_REUSED: 'none',
  IDEMPOTENCY_IN_PROGRESS: 'none',
  BANK_TRANSFER_ENDED: '`reference`, `status`, `outcome`',
  EXTERNAL_REFERENCE_TAKEN: '`externalReference`, `walletId`',
  WALLET_KYC_REQUIRED: '`walletId`',
  WALLET_KYC_NOT_APPLICABLE: '`walletId`',
  WALLET_TIER1_LIMIT_EXCEEDED:
    '`walletId`, `limit` (`transaction`, `balance`), `limitAmount`, `attemptedAmount` (of `balance`: the resulting balance)',
  WALLET_INSUFFICIENT_FUNDS: '`walletId`, `attemptedAmount`: the total debit, including the fee',
  WALLET_FROZEN: '`walletId`',
  WALLET_CLOSED: '`walletId`',
  WITHDRAWAL_NAME_VERIFICATION_FAILED: '`providedName`, `resolvedName`',
  BANK_CODE_UNKNOWN: '`bankCode`',
  BANK_ACCOUNT_NOT_RESOLVED: '`accountNumber`, `bankCode`',
  SAME_WALLET: '`walletId`, and `paymentId` when paying',
  PAYMENT_NOT_PAYABLE: '`paymentId`, `status`, `expiresAt`',
  PAYMENT_METHOD_MISMATCH: '`paymentId`, `method`, `requiredMethod`',
  PAYMENT_NOT_REFUNDABLE: '`paymentId`, `status`',
  REFUND_AMOUNT_EXCEEDED: '`paymentId`, `refundableAmount`, and `attemptedAmount` when the request had an amount',
  REFUND_DESTINATION_REQUIRED:
    '`paymentId`, `destination`, `reason` and `payers`: see [the contract](contract.md#48-payments)',
  WEBHOOK_URL_FORBIDDEN: '`reason`: see [webhooks](webhooks.md)',
  WEBHOOK_ENDPOINT_DISABLED: '`endpointId`',
  WEBHOOK_ENDPOINT_LIMIT_REACHED: '`limit`',
};

/** The codes of field errors: the code, when it is returned, and its `constraint`. */
const FIELD_CODES: [code: string, when: string, constraint: string][] = [
  ['invalid_type', 'the field is missing, or has another JSON type', '`expected`: the type'],
  ['invalid_value', 'the value is not one of the allowed values', '`values`'],
  [
    'invalid_string',
    'the string does not have the required format, or is not a possible value',
    '`format`: `regex` with its `pattern`, `datetime`, `date`, `email`, `url`, `bvn`, `iso3166-1-alpha-2`, `wallet_id`',
  ],
  ['too_small', 'the number, length or count is below the minimum', '`minimum`'],
  ['too_big', 'the number, length, count or size is above the maximum', '`maximum`'],
  ['unrecognized_keys', 'the endpoint has no field or parameter with this name', ''],
  ['duplicate', 'another item of a payout has the same `reference`', '`sameAs`: the path of the first'],
  ['bank_code_unknown', 'the bank code of a payout item does not exist', ''],
  ['same_wallet', 'the destination wallet of a payout item is the source wallet', ''],
  ['wallet_frozen', 'the destination wallet of a payout item is frozen', ''],
  ['wallet_closed', 'the destination wallet of a payout item is closed', ''],
  ['wallet_kyc_required', 'the destination wallet of a payout item is below tier1', ''],
  [
    'wallet_tier1_limit_exceeded',
    'the amount of a payout item exceeds what its wallet may receive in one transaction',
    '`maximum`',
  ],
  ['custom', 'another rule, described by `message`', ''],
];

/** The fields of `details`, by type. */
const DETAILS: [type: string, details: string][] = [
  [
    'validation_error',
    '`fields`: one entry per field error, with `field` (a dotted path), `code`, `message`, `constraint?`',
  ],
  ['authentication_error', 'an empty object'],
  ['authorization_error', '`requiredScopes`, `providedScopes`'],
  ['not_found_error', '`resource`, `id`; for `ROUTE_NOT_FOUND` on an existing path, `allowedMethods`'],
  ['conflict_error', 'depends on the code: see below'],
  ['unprocessable_error', 'depends on the code: see below'],
  ['rate_limit_error', '`limit`, `remaining`, `resetAt`, `retryAfterSeconds`'],
  ['internal_error', '`retryable`, and `service` when the failed dependency is known'],
];

export function errorsPage(): string {
  const codes = Object.keys(CATALOG) as ErrorCode[];
  const statuses = Object.keys(REACTIONS).map(Number) as ErrorStatus[];
  const sections = statuses.map((status) => {
    const those = codes.filter((code) => CATALOG[code][0] === status);
    const hasDetails = those.some((code) => code in DETAILS_OF);
    const rows = those.map((code) => {
      const details = hasDetails ? ` ${(DETAILS_OF as Partial<Record<ErrorCode, string>>)[code]} |` : '';
      return `| \`${code}\` | ${CATALOG[code][1]} |${details}`;
    });
    const type = typeOf(those[0] as ErrorCode);
    const head = hasDetails ? ['| Code | Message | `details` |', '|---|---|---|'] : ['| Code | Message |', '|---|---|'];
    return [`## ${status} \`${type}\``, '', REACTIONS[status], '', ...head, ...rows].join('\n');
  });
  return `${[
    '<!-- Generated from src/api/errors.ts by `node tools/generateErrorsDoc.ts`. Do not edit. -->',
    '# Errors',
    [
      'All errors have the same structure. Branch on `code`, whose meaning never changes. `message` is for people and may',
      'change. `meta.requestId` identifies the request in the logs; the header `X-Request-Id` has the same value.',
    ].join('\n'),
    [
      '```json',
      '{"success": false, "statusCode": 422,',
      ' "error": {"type": "unprocessable_error", "code": "WALLET_INSUFFICIENT_FUNDS", "message": "…",',
      '           "details": {"walletId": "svc_01k…_wlt", "attemptedAmount": 200000}},',
      ' "meta": {"requestId": "req_0123456789abcdef01234567"}}',
      '```',
    ].join('\n'),
    [
      '| `error.type` | `error.details` |',
      '|---|---|',
      ...DETAILS.map(([type, what]) => `| \`${type}\` | ${what} |`),
    ].join('\n'),
    [
      '## Field errors',
      '',
      'The entries of `details.fields`. More codes may be added: treat an unknown code as "not valid".',
      '',
      '| `code` | When | `constraint` |',
      '|---|---|---|',
      ...FIELD_CODES.map(([code, when, constraint]) => `| \`${code}\` | ${when} | ${constraint} |`),
    ].join('\n'),
    ...sections,
  ].join('\n\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(FILE, errorsPage());
  console.log(`wrote ${fileURLToPath(FILE)}`);
}
