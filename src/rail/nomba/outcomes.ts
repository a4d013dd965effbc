// What each code and status word of Nomba means, as tables. Nothing is a failure by default.
import { notReadyByStatus, type Outcome } from '../client.ts';
import { type FailureWords, NIP_WORDS } from '../failures.ts';
import { entryOf } from '../fields.ts';
import type { HttpResponse } from '../http.ts';
import type { TransferReport } from '../port.ts';
import { replyOf } from './wire.ts';

/** The outcome of a code: 01 may be tried again, the others not. 02 is a validation error, and also "Token expired". */
const CODES = {
  '00': 'ok',
  '01': 'unknown',
  '02': 'refused',
  '05': 'refused',
  '06': 'refused',
  '400': 'refused',
  '404': 'absent',
  '422': 'refused',
} as const;

/**
 * The descriptions of the reference of transfers, whatever the code is. Those of a success are believed with the code
 * 00 only: the status decides.
 */
const DESCRIPTIONS = {
  SUCCESS: 'unknown',
  PROCESSING: 'unknown',
  FAILED: 'refused',
  BAD_REQUEST: 'refused',
  ACCOUNT_NOT_FOUND: 'no_account',
  INVALID_TRANSACTION: 'refused',
  WALLET_NOT_FOUND: 'refused',
  BLACKLISTED: 'refused',
} as const;

/** The descriptions and gateway messages that say why a transfer failed: free text, often the words of NIP. */
export const FAILURES: FailureWords = {
  ...NIP_WORDS,
  blacklisted: 'account_restricted',
};

/** What it says of a token, with code 02. */
const TOKEN_WORDS = /\btoken\b/i;

/** What it says, and what that means where no code does. */
const SAID = {
  /** In a name enquiry: the account or the bank does not exist. A refusal alone does not say so. */
  no_account: [
    /\b(?:account|bank)(?: number| code)? (?:was |is |could )?(?:not(?: be)? found|does not exist|unknown|not supported)\b/i,
    /\bno such (?:account|bank)\b/i,
    /^(?:invalid|unknown) (?:account|bank)(?: number| code)?\b/i,
  ],
  /** Of a send: its reference, or the key, was seen before. Documented as "an error". */
  exists: [
    /\bduplicate\b/i,
    /\bidempoten/i,
    /\b(?:reference|merchantTxRef|key)\b.*\b(?:already|used|exists)\b/i,
    /\balready (?:been )?(?:used|exists?|processed|initiated)\b/i,
  ],
};

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

export const isStatus = (word: string): boolean => Object.hasOwn(STATUSES, word);

export const transferStatusOf = (word: string): TransferReport['status'] => entryOf(STATUSES, word) ?? 'processing';

/** What the status of a collection means. `recalled`: the money is no longer there. */
const PAYMENT_STATUSES = {
  SUCCESS: 'received',
  PAYMENT_SUCCESSFUL: 'pending',
  NEW: 'pending',
  PENDING_PAYMENT: 'pending',
  PENDING_BILLING: 'pending',
  PAYMENT_FAILED: 'failed',
  REFUND: 'recalled',
} as const;

/** Undefined: the table does not have the word. */
export const paymentStatusOf = (word: string): 'received' | 'pending' | 'failed' | 'recalled' | undefined =>
  entryOf(PAYMENT_STATUSES, word);

/** A token cannot have expired this soon after the login: what is refused then is refused for another reason. */
const SURELY_GOOD_MS = 60_000;

/** Whether the request was refused for its token, before it was acted upon: perhaps, if code 02 does not name it. */
export function isTokenRefused(response: HttpResponse, sinceLoginMs = 0): boolean {
  const reply = replyOf(response);
  if (response.status === 401) return true;
  return reply?.code === '02' && (TOKEN_WORDS.test(reply.message) || sinceLoginMs >= SURELY_GOOD_MS);
}

/** Whether the response says this. */
export const isSaid = (what: keyof typeof SAID, response: HttpResponse): boolean =>
  SAID[what].some((pattern) => pattern.test(replyOf(response)?.message.trim() ?? ''));

export function outcomeOf(response: HttpResponse): Outcome {
  const notReady = notReadyByStatus(response);
  if (notReady?.why === 'rate_limited') return { ...notReady, retryAfterMs: notReady.retryAfterMs ?? RATE_LIMIT_MS };
  if (notReady !== null) return notReady;
  const reply = replyOf(response);
  if (reply === null) return { kind: 'unknown', isRailsFault: true };
  if (reply.isOk) return { kind: 'ok' };
  if (isTokenRefused(response)) return { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null };
  const { status } = response;
  const words = reply.message.trim().toUpperCase();
  const described = /^INSUFFICIENT[_ ]BALANCE\b/.test(words) ? 'underfunded' : entryOf(DESCRIPTIONS, words);
  const byStatus = status === 404 ? 'absent' : status === 422 ? 'refused' : undefined;
  const kind = described ?? byStatus ?? entryOf(CODES, reply.code) ?? 'unknown';
  if (kind === 'underfunded') return { kind: 'not_ready', why: 'underfunded', retryAfterMs: null };
  if (kind === 'unknown' || kind === 'ok' || status >= 500) return { kind: 'unknown', isRailsFault: status >= 500 };
  return { kind };
}
