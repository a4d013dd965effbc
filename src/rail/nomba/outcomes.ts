// What each code and status word of Nomba means, as tables. Nothing is taken for a failure by default.
import type { NotReadyCause } from '../errors.ts';
import type { HttpResponse } from '../http.ts';
import type { TransferReport } from '../port.ts';
import { replyOf } from './wire.ts';

/**
 * `refused`: the documentation says not to try again; the status decides whether the transfer exists. `unknown`: it
 * says to try again, which tells nothing of the first attempt.
 */
const CODES = { '00': 'ok', '01': 'unknown', '02': 'refused', '05': 'refused', '06': 'refused' } as const;

const HTTP_NOT_READY: Record<number, NotReadyCause> = { 401: 'unauthorised', 403: 'feature_off', 429: 'rate_limited' };

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

export type Outcome =
  | { kind: 'ok'; data: unknown }
  | { kind: 'refused' | 'absent' }
  | { kind: 'not_ready'; why: NotReadyCause; retryAfterMs: number | null }
  | { kind: 'unknown'; isRailsFault: boolean };

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
  if (reply.isOk) return { kind: 'ok', data: reply.data };
  if (/^insufficient[_ ]balance\b/i.test(reply.description)) {
    return { kind: 'not_ready', why: 'underfunded', retryAfterMs: null };
  }
  if (response.status === 404) return { kind: 'absent' };
  const meaning = Object.hasOwn(CODES, reply.code) ? CODES[reply.code as keyof typeof CODES] : 'unknown';
  if (meaning === 'refused' && response.status < 500) return { kind: 'refused' };
  return { kind: 'unknown', isRailsFault: response.status >= 500 };
}
