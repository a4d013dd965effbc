// Writes docs/errors.md from the catalog in src/api/errors.ts, and the same page as HTML, which the API serves and
// every error links to: `npm run generate -- errors`. A test checks that both are up to date.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { marked } from 'marked';
import { CATALOG, type CodeOf, type ErrorCode, type ErrorStatus, typeOf } from '../src/api/errors.ts';
import { REACTIONS } from './openapi/envelope.ts';

const FILE = new URL('../docs/errors.md', import.meta.url);
const HTML_FILE = new URL('../generated/errors.html', import.meta.url);

/** The `details` of codes whose type does not define them. A missing code does not compile. */
const DETAILS_OF: Record<CodeOf<409 | 422>, string | undefined> = {
  IDEMPOTENCY_KEY_REUSED: undefined,
  IDEMPOTENCY_IN_PROGRESS: undefined,
  BANK_TRANSFER_ENDED: '`reference`, `status`, `outcome`',
  EXTERNAL_REFERENCE_TAKEN: '`externalReference`, `walletId`',
  REFERENCE_TAKEN:
    '`resource` (`payment`, `transfer`, `withdrawal`, `refund`, `payout`, `inbound_credit`), `reference`, `id`',
  DEPOSIT_ACCOUNT_UNAVAILABLE: '`walletId`',
  WALLET_KYC_REQUIRED: '`walletId`',
  WALLET_KYC_NOT_APPLICABLE: '`walletId`',
  WALLET_BVN_LIMIT_REACHED: '`walletId`, `limit`',
  WALLET_TIER1_LIMIT_EXCEEDED:
    '`walletId`, `limit` (`transaction`, `balance`), `limitAmount`, `attemptedAmount` (of `balance`: the resulting balance); `availableAmount`: what it still allows',
  WALLET_LIMIT_EXCEEDED:
    '`walletId`, `limit` (`daily_amount`, `daily_count`, `monthly_amount`, `monthly_count`; the one that resets last), `maximum`, `attempted`, `remaining`: kobo with fees, or transactions; `resetsAt`',
  WALLET_TIER_UNAVAILABLE: '`walletId`, `tier`, `tiers`',
  WALLET_INSUFFICIENT_FUNDS:
    '`walletId`, `attemptedAmount`: the whole debit, with its fee; `amountOwed`, if the wallet owes; of a settlement wallet also `reason` (`safeguarding`) and `availableAmount`: what own money can spend',
  WALLET_FROZEN: '`walletId`',
  WALLET_CLOSED: '`walletId`',
  WITHDRAWAL_NAME_VERIFICATION_FAILED: '`providedName`, `resolvedName`',
  BANK_CODE_UNKNOWN: '`bankCode`',
  BANK_ACCOUNT_NOT_RESOLVED: '`accountNumber`, `bankCode`',
  SAME_WALLET: '`walletId`, and `paymentId` when paying',
  HOLD_ENDED: '`holdId`, `status`',
  HOLD_AMOUNT_EXCEEDED: '`holdId`, `amountHeld`, `attemptedAmount`',
  PAYMENT_NOT_PAYABLE: '`paymentId`, `status`, `expiresAt`',
  PAYMENT_NOT_CANCELLABLE: '`paymentId`, `status`',
  PAYMENT_METHOD_MISMATCH: '`paymentId`, `method`, `requiredMethod`',
  PAYMENT_NOT_REFUNDABLE: '`paymentId`, `status`',
  REFUND_AMOUNT_EXCEEDED:
    '`paymentId`, `refundableAmount`, `attemptedAmount` when the request had an amount, and `amountRecalled` when the bank took money back',
  REFUND_DESTINATION_REQUIRED:
    '`paymentId`, `destination`, `reason` and `payers`: see [the contract](contract.md#48-payments)',
  REVIEW_ACTION_UNAVAILABLE:
    '`reviewCaseId`, `status`, `action`, `actions` (the possible ones) or `reason` (`sender_unknown`, `wallet_unknown`)',
  REVIEW_NEEDS_OPERATORS: '`reviewCaseId`, `action`',
  API_KEY_EXCEEDS_OWN: '`field` (`allowedIps`, `rateLimit`, `expiresAt`, `createdBy`)',
  API_KEY_NOT_ACTIVE: '`keyId`, `status` (`expired`, `revoked`)',
  WEBHOOK_URL_FORBIDDEN: '`reason`: see [webhooks](webhooks.md)',
  WEBHOOK_ENDPOINT_DISABLED: '`endpointId`',
  WEBHOOK_ENDPOINT_LIMIT_REACHED: '`limit`',
};

/** What most messages of 404 say: the page has it once. */
const CHECK_ID = 'Check the id and the environment of the API key.';

/** Errors of a field: the code, when, and its `constraint`. */
const FIELD_CODES: [code: string, when: string, constraint: string][] = [
  ['invalid_type', 'missing, or of another JSON type', '`expected`: the type'],
  ['invalid_value', 'not one of the allowed values', '`values`'],
  [
    'invalid_string',
    'wrong format, or an impossible value',
    '`format`: `regex` with its `pattern`, `datetime`, `date`, `email`, `url`, `bvn`, `iso3166-1-alpha-2`, `wallet_id`',
  ],
  ['too_small', 'below the minimum', '`minimum`'],
  ['too_big', 'above the maximum', '`maximum`'],
  ['unrecognized_keys', 'unknown field or parameter', ''],
  ['invalid_key', 'a key of `metadata` is empty or too long', ''],
  ['duplicate', 'given twice; of a payout item, a `reference` that another has', '`sameAs`: the path of the first'],
  ['bank_code_unknown', 'payout item: unknown bank code', ''],
  ['same_wallet', 'payout item: the destination is the source wallet', ''],
  ['wallet_frozen`, `wallet_closed`, `wallet_kyc_required', 'payout item: the destination accepts no money', ''],
  ['wallet_tier1_limit_exceeded', 'payout item: exceeds the transaction limit of the destination', '`maximum`'],
  ['custom', 'another rule, see `message`', ''],
];

/** The `details` of each type. */
const DETAILS: [type: string, details: string][] = [
  ['validation_error', '`fields`: each with `field` (a dotted path), `code`, `message`, `constraint?`'],
  ['authentication_error', 'an empty object'],
  ['authorization_error', '`requiredScopes`, `providedScopes`'],
  ['not_found_error', '`resource`, `id`; for `ROUTE_NOT_FOUND` on an existing path, `allowedMethods`'],
  ['conflict_error`, `unprocessable_error', 'by code: see below'],
  ['rate_limit_error', '`limit`, `remaining`, `resetAt`, `retryAfterSeconds`'],
  ['internal_error', '`retryable`, and `service` if one dependency is the cause'],
];

export function errorsPage(): string {
  const codes = Object.keys(CATALOG) as ErrorCode[];
  const statuses = Object.keys(REACTIONS).map(Number) as ErrorStatus[];
  const sections = statuses.map((status) => {
    const repeated = status === 404 ? ` ${CHECK_ID}` : '';
    const those = codes.filter((code) => CATALOG[code][0] === status);
    const parts = those.map((code) => {
      const details = (DETAILS_OF as Partial<Record<ErrorCode, string | undefined>>)[code];
      const message = CATALOG[code][1].replace(` ${CHECK_ID}`, '').replaceAll('<', '\\<');
      return [
        `### ${code}`,
        ...(/^No such [a-z ]+\.$/.test(message) ? [] : [message]), // the code says it, too
        ...(details === undefined ? [] : [`\`details\`: ${details}.`]),
      ].join('\n\n');
    });
    const type = typeOf(those[0] as ErrorCode);
    // Where a status has one code, its message says the same.
    const reaction = those.length === 1 ? [] : [`${REACTIONS[status]}${repeated}`];
    return [`## ${status} \`${type}\``, ...reaction, ...parts].join('\n\n');
  });
  return `${[
    '<!-- Generated from src/api/errors.ts by `npm run generate -- errors`. Do not edit. -->',
    '# Errors',
    [
      'All errors have the same shape. Branch on `code`, whose meaning never changes. `message` is for people and may change.',
      '`meta.requestId`, also in the header `X-Request-Id`, identifies the request in the log.',
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
      'The entries of `details.fields`. More codes may be added: treat an unknown one as "not valid".',
      '',
      '| `code` | When | `constraint` |',
      '|---|---|---|',
      ...FIELD_CODES.map(([code, when, constraint]) => `| \`${code}\` | ${when} | ${constraint} |`),
    ].join('\n'),
    ...sections,
  ].join('\n\n')}\n`;
}

/**
 * The page as the API serves it: each heading with the id that GitHub gives it, links as on the other pages of docs.
 */
export function errorsHtml(): string {
  const body = marked
    .parse(errorsPage(), { async: false })
    .replaceAll(/<h([23])>(.*?)<\/h\1>/g, (_, level: string, text: string) => {
      const id = text
        .replaceAll(/<[^>]*>/g, '')
        .toLowerCase()
        .replaceAll(/[^a-z0-9_ -]/g, '')
        .replaceAll(' ', '-');
      return `<h${level} id="${id}">${text}</h${level}>`;
    })
    // Live has no other page of docs, so links to them are left out.
    .replaceAll(/<a href="(?!https?:|#)[^"]*">(.*?)<\/a>/g, '$1');
  return HTML_PAGE.replace('BODY', () => body.trim());
}

const HTML_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors of the Manilla API</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
code { background: #f2f2f2; padding: 0.1em 0.3em; border-radius: 3px; overflow-wrap: break-word; }
pre { background: #f2f2f2; padding: 1rem; overflow-x: auto; }
table { display: block; overflow-x: auto; border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; }
h3 { font-family: ui-monospace, monospace; font-size: 1rem; overflow-wrap: anywhere; } h3:target { background: #fff3bf; }
</style>
</head>
<body>
<nav><a href="/docs/guide/">Guide</a> · <a href="/docs">Reference</a></nav>
BODY
</body>
</html>
`;

export function writeErrors(): void {
  writeFileSync(FILE, errorsPage());
  writeFileSync(HTML_FILE, errorsHtml());
  console.log(`wrote ${fileURLToPath(FILE)} and ${fileURLToPath(HTML_FILE)}`);
}
