// What each code and status word of Nomba means, as tables. Nothing is a failure by default.
import { notReadyByStatus, type Outcome } from '../client.ts';
import { entryOf } from '../fields.ts';
import type { HttpResponse } from '../http.ts';
import type { TransferReport } from '../port.ts';
import { replyOf } from './wire.ts';

/**
 * `refused`: the documentation says not to try again; the status decides whether the transfer exists. `unknown`: it
 * says to try again, which reports nothing of the first attempt. 02 is a validation error, and also "Token expired".
 */
const CODES = { '00': 'ok', '01': 'unknown', '02': 'refused', '05': 'refused', '06': 'refused' } as const;

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

export const transferStatusOf = (word: string): TransferReport['status'] => entryOf(STATUSES, word) ?? 'processing';

/** What the status of a collection means. */
const PAYMENT_STATUSES = {
  SUCCESS: 'received',
  PAYMENT_SUCCESSFUL: 'pending',
  NEW: 'pending',
  PENDING_PAYMENT: 'pending',
  PENDING_BILLING: 'pending',
  PAYMENT_FAILED: 'failed',
  REFUND: 'failed',
} as const;

export const paymentStatusOf = (word: string): 'received' | 'pending' | 'failed' =>
  entryOf(PAYMENT_STATUSES, word) ?? 'pending';

/** A token cannot have expired this soon after the login: what is refused then is refused for another reason. */
const SURELY_GOOD_MS = 60_000;

/** Whether the request was refused for its token, before it was acted upon: perhaps, if code 02 does not name it. */
export function isTokenRefused(response: HttpResponse, sinceLoginMs = 0): boolean {
  const reply = replyOf(response);
  if (response.status === 401) return true;
  return reply?.code === '02' && (TOKEN_WORDS.test(reply.message) || sinceLoginMs >= SURELY_GOOD_MS);
}

/** Whether a refused name enquiry says that there is no such account. A refusal alone does not. */
export function isNoAccount(response: HttpResponse): boolean {
  const words = replyOf(response)?.message.trim() ?? '';
  return NO_ACCOUNT_WORDS.some((pattern) => pattern.test(words));
}

export function outcomeOf(response: HttpResponse): Outcome {
  const notReady = notReadyByStatus(response);
  if (notReady?.why === 'rate_limited') return { ...notReady, retryAfterMs: notReady.retryAfterMs ?? RATE_LIMIT_MS };
  if (notReady !== null) return notReady;
  const reply = replyOf(response);
  if (reply === null) return { kind: 'unknown', isRailsFault: true };
  if (reply.isOk) return { kind: 'ok' };
  if (isTokenRefused(response)) return { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null };
  if (/^insufficient[_ ]balance\b/i.test(reply.message)) {
    return { kind: 'not_ready', why: 'underfunded', retryAfterMs: null };
  }
  if (response.status === 404) return { kind: 'absent' };
  if (entryOf(CODES, reply.code) === 'refused' && response.status < 500) return { kind: 'refused' };
  return { kind: 'unknown', isRailsFault: response.status >= 500 };
}
