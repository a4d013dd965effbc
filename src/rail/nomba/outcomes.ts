// What each code and status word of Nomba means, as tables. Nothing is taken for a failure by default.
import type { NotReady, Unknown } from '../client.ts';
import type { NotReadyCause } from '../errors.ts';
import type { HttpResponse } from '../http.ts';
import type { TransferReport } from '../port.ts';
import { replyOf } from './wire.ts';

/**
 * `refused`: the documentation says not to try again; the status decides whether the transfer exists. `unknown`: it
 * says to try again, which reports nothing of the first attempt. 02 is a validation error, and also "Token expired".
 */
const CODES = { '00': 'ok', '01': 'unknown', '02': 'refused', '05': 'refused', '06': 'refused' } as const;

const HTTP_NOT_READY: Record<number, NotReadyCause> = { 401: 'unauthorised', 403: 'feature_off', 429: 'rate_limited' };

/** What it says of a token, with code 02. */
const TOKEN_WORDS = /\btoken\b/i;

/** What it says in a name enquiry for an account that does not exist: no code is documented for that. */
const NO_ACCOUNT_WORDS = [
  /\baccount(?: number)? (?:was |is |could )?(?:not(?: be)? found|does not exist)\b/i,
  /\bno such account\b/i,
  /^invalid account(?: number)?\b/i,
];

/** A minute: at most five transfers to one recipient are accepted in it. */
const RATE_LIMIT_MS = 60_000;

/**
 * The status words of a transfer. `REFUND`: it failed and the money is back, also when it had succeeded before; so it
 * is reported as returned, which is true of both. `PAYMENT_FAILED` is documented for collections only.
 */
export const STATUSES = {
  SUCCESS: 'completed',
  NEW: 'processing',
  PENDING_PAYMENT: 'processing',
  PAYMENT_SUCCESSFUL: 'processing',
  PAYMENT_FAILED: 'processing',
  PENDING_BILLING: 'processing',
  REFUND: 'returned',
} as const satisfies Record<string, TransferReport['status']>;

export const transferStatusOf = (word: string): TransferReport['status'] =>
  Object.hasOwn(STATUSES, word) ? STATUSES[word as keyof typeof STATUSES] : 'processing';

/** What the status of a collection means. */
export const PAYMENT_STATUSES = {
  SUCCESS: 'received',
  PAYMENT_SUCCESSFUL: 'pending',
  NEW: 'pending',
  PENDING_PAYMENT: 'pending',
  PENDING_BILLING: 'pending',
  PAYMENT_FAILED: 'failed',
  REFUND: 'failed',
} as const;

export const paymentStatusOf = (word: string): 'received' | 'pending' | 'failed' =>
  Object.hasOwn(PAYMENT_STATUSES, word) ? PAYMENT_STATUSES[word as keyof typeof PAYMENT_STATUSES] : 'pending';

export type Outcome = { kind: 'ok'; data: unknown } | { kind: 'refused' | 'absent' } | NotReady | Unknown;

/** Whether the request was refused for its token, before it was acted upon. */
export function isTokenRefused(response: HttpResponse): boolean {
  const reply = replyOf(response);
  return response.status === 401 || (reply !== null && reply.code === '02' && TOKEN_WORDS.test(reply.message));
}

/** Whether it may have been: code 02 in words that do not tell. */
export const mayBeTokenRefused = (response: HttpResponse): boolean =>
  isTokenRefused(response) || replyOf(response)?.code === '02';

/** Whether the response to a name enquiry says that there is no such account. A refusal alone does not. */
export function isNoAccount(response: HttpResponse): boolean {
  const { kind } = outcomeOf(response);
  if (kind === 'absent') return true;
  const words = replyOf(response)?.message.trim() ?? '';
  return kind === 'refused' && NO_ACCOUNT_WORDS.some((pattern) => pattern.test(words));
}

export function outcomeOf(response: HttpResponse): Outcome {
  const why = HTTP_NOT_READY[response.status];
  if (why !== undefined) {
    return {
      kind: 'not_ready',
      why,
      retryAfterMs: response.retryAfterMs ?? (why === 'rate_limited' ? RATE_LIMIT_MS : null),
    };
  }
  const reply = replyOf(response);
  if (reply === null) return { kind: 'unknown', isRailsFault: true };
  if (reply.isOk) return { kind: 'ok', data: reply.body };
  if (isTokenRefused(response)) return { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null };
  if (/^insufficient[_ ]balance\b/i.test(reply.message)) {
    return { kind: 'not_ready', why: 'underfunded', retryAfterMs: null };
  }
  if (response.status === 404) return { kind: 'absent' };
  const meaning = Object.hasOwn(CODES, reply.code) ? CODES[reply.code as keyof typeof CODES] : 'unknown';
  if (meaning === 'refused' && response.status < 500) return { kind: 'refused' };
  return { kind: 'unknown', isRailsFault: response.status >= 500 };
}
