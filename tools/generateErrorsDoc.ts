// Writes docs/errors.md from the catalog in src/api/errors.ts: `node tools/generateErrorsDoc.ts`. A test compares the two, so the
// page cannot fall behind.
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CATALOG, type ErrorCode, type ErrorStatus, typeOf } from '../src/api/errors.ts';

const FILE = new URL('../docs/errors.md', import.meta.url);

/** What each status says to a program, and to the person who reads its log. */
const REACTIONS: Record<ErrorStatus, string> = {
  400: 'The request is wrong and will stay wrong. Correct it; do not retry it as it is. Nothing happened.',
  401: 'The key is not accepted. Retrying does not help.',
  403: 'The key is known and may not do this. Use a key with the scope that `details.requiredScopes` names.',
  404: 'There is no such thing here. An id of another organisation or environment answers the same.',
  409: 'It collides with what is there already; `details` say with what.',
  422: 'The request is well formed, and the state of a wallet or payment rules it out. No money moved. It may pass later, under a new `Idempotency-Key`.',
  429: 'Slow down: wait for `Retry-After` seconds, then send the same request again.',
  500: 'A fault of ours. Retry with the same `Idempotency-Key`: nothing happens twice.',
  502: 'The bank side failed. Retry with the same `Idempotency-Key`: nothing happens twice.',
  503: 'A part of the service is away, or is not configured. Where `details.retryable` is true, retry with the same `Idempotency-Key`: nothing happens twice.',
  504: 'The bank side was too slow. Retry with the same `Idempotency-Key`: nothing happens twice.',
};

type CodeOf<Status extends ErrorStatus> = {
  [Code in ErrorCode]: (typeof CATALOG)[Code][0] extends Status ? Code : never;
}[ErrorCode];

/** What `details` hold, for the codes whose type does not say. A code without its line does not compile. */
const DETAILS_OF: Record<CodeOf<409 | 422>, string> = {
  IDEMPOTENCY_KEY_REUSED: 'none',
  IDEMPOTENCY_IN_PROGRESS: 'none',
  BANK_TRANSFER_ENDED: '`reference`, `status`, `outcome`',
  EXTERNAL_REFERENCE_TAKEN: '`externalReference`, `walletId`',
  WALLET_KYC_REQUIRED: '`walletId`',
  WALLET_KYC_NOT_APPLICABLE: '`walletId`',
  WALLET_TIER1_LIMIT_EXCEEDED:
    '`walletId`, `limit` (`transaction`, `balance`), `limitAmount`, `attemptedAmount` (of `balance`: what the balance would be)',
  WALLET_INSUFFICIENT_FUNDS: '`walletId`, `attemptedAmount`: the whole debit, with its fee',
  WALLET_FROZEN: '`walletId`',
  WALLET_CLOSED: '`walletId`',
  WITHDRAWAL_NAME_VERIFICATION_FAILED: '`providedName`, `resolvedName`',
  BANK_CODE_UNKNOWN: '`bankCode`',
  BANK_ACCOUNT_NOT_RESOLVED: '`accountNumber`, `bankCode`',
  SAME_WALLET: '`walletId`, and `paymentId` when paying',
  PAYMENT_NOT_PAYABLE: '`paymentId`, `status`, `expiresAt`',
  PAYMENT_METHOD_MISMATCH: '`paymentId`, `method`, `requiredMethod`',
  PAYMENT_NOT_REFUNDABLE: '`paymentId`, `status`',
  REFUND_AMOUNT_EXCEEDED: '`paymentId`, `refundableAmount`, and `attemptedAmount` where one was given',
  REFUND_DESTINATION_REQUIRED:
    '`paymentId`, `destination`, `reason` and `payers`: see [the contract](contract.md#48-payments)',
  WEBHOOK_URL_FORBIDDEN: '`reason`: see [webhooks](webhooks.md)',
  WEBHOOK_ENDPOINT_DISABLED: '`endpointId`',
  WEBHOOK_ENDPOINT_LIMIT_REACHED: '`limit`',
};

/** What can be wrong with a field: the code, when, and the `constraint` that comes with it. */
const FIELD_CODES: [code: string, when: string, constraint: string][] = [
  ['invalid_type', 'it is missing, or of another JSON type', '`expected`: the type'],
  ['invalid_value', 'it is none of the values that there are', '`values`'],
  [
    'invalid_string',
    'the text does not have the form that is wanted, or cannot be true',
    '`format`: `regex` with its `pattern`, `datetime`, `date`, `email`, `url`, `bvn`, `iso3166-1-alpha-2`, `wallet_id`',
  ],
  ['too_small', 'less than the least number, length or count', '`minimum`'],
  ['too_big', 'more than the greatest number, length, count or size', '`maximum`'],
  ['unrecognized_keys', 'the request has no field or parameter of this name', ''],
  ['duplicate', 'another item of a payout has the same `reference`', '`sameAs`: the path of the first'],
  ['bank_code_unknown', 'a payout item names a bank that there is not', ''],
  ['same_wallet', 'a payout item goes to the wallet that it comes from', ''],
  ['wallet_frozen', 'a payout item goes to a frozen wallet', ''],
  ['wallet_closed', 'a payout item goes to a closed wallet', ''],
  ['wallet_kyc_required', 'a payout item goes to a wallet below tier1', ''],
  ['wallet_tier1_limit_exceeded', 'a payout item is more than its wallet may receive at once', '`maximum`'],
  ['custom', 'another rule; `message` says which', ''],
];

/** What `details` hold, by type. */
const DETAILS: [type: string, details: string][] = [
  [
    'validation_error',
    '`fields`: what is wrong with each, as `field` (a dotted path), `code`, `message`, `constraint?`',
  ],
  ['authentication_error', 'an empty object'],
  ['authorization_error', '`requiredScopes`, `providedScopes`'],
  ['not_found_error', '`resource`, `id`; for `ROUTE_NOT_FOUND` on a path that is there, `allowedMethods`'],
  ['conflict_error', 'what it collides with, by code: see below'],
  ['unprocessable_error', 'what a program needs to act, by code: see below'],
  ['rate_limit_error', '`limit`, `remaining`, `resetAt`, `retryAfterSeconds`'],
  ['internal_error', '`retryable`, and `service` where one part is to blame'],
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
    '<!-- Made from src/api/errors.ts by `node tools/generateErrorsDoc.ts`. Do not edit. -->',
    '# Errors',
    [
      'Every failure has the same shape. Branch on `code`: it never changes its meaning. `message` is for people and may change.',
      '`meta.requestId` names the request in our logs; it is in the header `X-Request-Id` too.',
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
      '## What is wrong with a field',
      '',
      'Each entry of `details.fields`. More codes may be added: treat one that you do not know as "not valid".',
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
