// Writes docs/errors.md from the catalog in src/errors.ts: `node tools/errorsPage.ts`. A test compares the two, so the
// page cannot fall behind.
import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CATALOG, type ErrorCode, type ErrorStatus, typeOf } from '../src/errors.ts';

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

/** What `details` hold, by type. */
const DETAILS: [type: string, details: string][] = [
  [
    'validation_error',
    '`fields`: what is wrong with each, as `field` (a dotted path), `code`, `message`, `constraint?`',
  ],
  ['authentication_error', 'an empty object'],
  ['authorization_error', '`requiredScopes`, `providedScopes`'],
  ['not_found_error', '`resource`, `id`'],
  ['conflict_error', 'what it collides with, by code'],
  ['unprocessable_error', 'what a program needs to act, by code: ids, limits, names'],
  ['rate_limit_error', '`limit`, `remaining`, `resetAt`, `retryAfterSeconds`'],
  ['internal_error', '`retryable`, and `service` where one part is to blame'],
];

export function errorsPage(): string {
  const codes = Object.keys(CATALOG) as ErrorCode[];
  const statuses = Object.keys(REACTIONS).map(Number) as ErrorStatus[];
  const sections = statuses.map((status) => {
    const rows = codes
      .filter((code) => CATALOG[code][0] === status)
      .map((code) => `| \`${code}\` | ${CATALOG[code][1]} |`);
    const type = typeOf(codes.find((code) => CATALOG[code][0] === status) as ErrorCode);
    return [`## ${status} \`${type}\``, '', REACTIONS[status], '', '| Code | Message |', '|---|---|', ...rows].join(
      '\n',
    );
  });
  return `${[
    '<!-- Made from src/errors.ts by `node tools/errorsPage.ts`. Do not edit. -->',
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
    ...sections,
  ].join('\n\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(FILE, errorsPage());
  console.log(`wrote ${fileURLToPath(FILE)}`);
}
