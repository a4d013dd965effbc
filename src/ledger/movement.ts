// What the ledger takes and gives: a movement is everything that becomes true together, a result is what became of it. The
// journal (journal.ts) posts movements; resources make them.
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { AccountCode } from './chart.ts';
import type { Posting } from './postings.ts';

/** One business event in the books. */
export interface Transaction {
  id: Uuid;
  /** Business key, unique in the book: the same key posts once, for ever. */
  key: string;
  kind: string;
  /** Public id of the resource that caused it. */
  resource: string;
  effectiveAt: Date;
  /** `credit_exempt`: money that comes back to a wallet posts though it is frozen or over a limit; closed takes none. */
  rules: 'enforced' | 'credit_exempt';
  reverses?: Uuid;
  postings: readonly Posting[];
}

/** An event as it is stored and later delivered. `data` is the payload of that moment. */
export interface EventRow {
  id: Uuid;
  type: string;
  resource: string;
  data: Record<string, unknown>;
  createdAt: Date;
}

/** A message for the relay: ids and codes only. */
export interface OutboxMessage {
  topic: string;
  message: object;
}

/** What a repeat of this request is answered with, committed together with the money. */
export interface IdempotencyOutcome {
  key: string;
  claim: Uuid;
  /** SHA-256, base64. */
  fingerprint: string;
  statusCode: number;
  response: string;
}

/** Tables that `ledger.post` writes along with the money. */
export type RowTable =
  | 'payments'
  | 'transfers'
  | 'withdrawals'
  | 'refunds'
  | 'payouts'
  | 'payout_items'
  | 'inbound_credits'
  | 'review_cases'
  | 'reconciliation_breaks'
  | 'virtual_accounts';

/** Everything that becomes true together, or not at all. Rows are in camelCase, complete, with the next `version`. */
export interface Movement {
  book: Book;
  transaction?: Transaction;
  rows?: Partial<Record<RowTable, readonly object[]>>;
  events?: readonly EventRow[];
  outbox?: readonly OutboxMessage[];
  outcome?: IdempotencyOutcome;
  /** The span that asked for it, which what the outbox starts belongs to. The journal fills it in. */
  traceparent?: string;
}

export type RefusalCode =
  | 'WALLET_NOT_FOUND'
  | 'WALLET_FROZEN'
  | 'WALLET_CLOSED'
  | 'WALLET_KYC_REQUIRED'
  | 'WALLET_TIER1_LIMIT_EXCEEDED'
  | 'WALLET_INSUFFICIENT_FUNDS'
  | 'IDEMPOTENCY_IN_PROGRESS';

/**
 * What became of a movement. `posted`: it is durable. `duplicate`: its business key was posted before, or this very
 * request committed and its answer was lost; nothing changed now. `duplicate_differs`: its business key was posted before
 * with other postings, so this movement was not; nothing changed now. `refused`: a rule of the books said no. `conflict`:
 * a row had been changed since it was read, or a unique value is taken; read again and decide again.
 */
export type PostResult =
  | { outcome: 'posted' }
  | { outcome: 'duplicate' }
  | { outcome: 'duplicate_differs' }
  | { outcome: 'refused'; code: RefusalCode; account: AccountCode | null; detail: Record<string, unknown> }
  | { outcome: 'conflict'; constraint: string | null };
