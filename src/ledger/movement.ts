// Input and output of the journal: a movement is everything that is committed together, a PostResult is its outcome.
// src/resources builds movements; journal.ts posts them.
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { AccountCode } from './chart.ts';
import type { Posting } from './postings.ts';

/** One business event in the ledger. */
export interface Transaction {
  id: Uuid;
  /** Business key, unique in the book: a key is posted once, ever. */
  key: string;
  kind: string;
  /** Public id of the resource that caused it. */
  resource: string;
  effectiveAt: Date;
  /** The time of the movement that its resource shows; default: `effectiveAt`. */
  movedAt?: Date;
  /**
   * `credit_exempt`, for money that returns to a wallet: the credited account may be frozen or unverified, and be over
   * its limit after it; a closed one, or one that was over its limit before, refuses the credit.
   * `exempt`, for money that a bank has taken: the debited account too; only a closed one, or one with less, refuses.
   */
  rules: 'enforced' | 'credit_exempt' | 'exempt';
  /** Business key of the hold that it completes: it debits what the hold credited. A hold is resolved once. */
  resolves?: string;
  /**
   * Business key of the transaction that it reverses: it debits what that one credited, and credits what that one, or
   * the hold that it resolves, debited; or suspense. A transaction is reversed once.
   */
  reverses?: string;
  postings: readonly Posting[];
}

/** An event as it is stored and later delivered. `data` is the payload at that moment. */
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
  /** When it is due; default: at once. */
  availableAt?: Date;
  message: object;
}

/** The stored response for repeats of this request, committed together with the money. */
export interface IdempotencyOutcome {
  key: string;
  /** Id of the attempt, which distinguishes a repeated statement from another attempt at the same key. */
  attempt: Uuid;
  /** SHA-256, base64. */
  fingerprint: string;
  statusCode: number;
  response: string;
}

/** Tables that `ledger.post` writes together with the money. */
export type RowTable =
  | 'payments'
  | 'transfers'
  | 'holds'
  | 'withdrawals'
  | 'refunds'
  | 'payouts'
  | 'payout_items'
  | 'inbound_credits'
  | 'review_cases'
  | 'reconciliation_breaks'
  | 'statement_entries'
  | 'virtual_accounts'
  | 'fee_sweeps'
  | 'adjustments';

/** Who decided a movement, for the audit log: the database checks the proof in the statement that posts it. */
export interface Decision {
  /** As src/resources/proofs.ts makes it. */
  proof: string;
  /** As in the audit log: the rules of src/ledger/sql/decisions.sql are by this name. */
  action: string;
  /** Public id of what the decision is about. */
  subject: string;
  /** Public id of the wallet that the operator has named. */
  wallet?: string | undefined;
  /** What must be the same for both of two operators: the version of a row, or why and since when a flow is parked. */
  about?: string;
  reason: string | null;
}

/** Everything that is committed atomically. Rows are complete, in camelCase, with the next `version`. */
export interface Movement {
  book: Book;
  transaction?: Transaction;
  rows?: Partial<Record<RowTable, readonly object[]>>;
  events?: readonly EventRow[];
  outbox?: readonly OutboxMessage[];
  outcome?: IdempotencyOutcome;
  decision?: Decision;
  /** The span that posts it: the parent of the spans that its outbox messages start. Set by the journal. */
  traceparent?: string;
}

export type RefusalCode =
  | 'WALLET_NOT_FOUND'
  | 'WALLET_FROZEN'
  | 'WALLET_CLOSED'
  | 'WALLET_KYC_REQUIRED'
  | 'WALLET_TIER1_LIMIT_EXCEEDED'
  /** More would leave in a day or a month than may. `detail`: which limit, what is left, and when it resets. */
  | 'WALLET_LIMIT_EXCEEDED'
  | 'WALLET_INSUFFICIENT_FUNDS'
  /** A recall books as a debt what the wallet still has. */
  | 'WALLET_HAS_FUNDS'
  /** More than the wallet owes is repaid or written off. */
  | 'DEBT_EXCEEDED'
  | 'IDEMPOTENCY_IN_PROGRESS'
  /** `detail.because` says why the decision is not proven. */
  | 'DECISION_REFUSED'
  /** A second operator must send the same decision. */
  | 'DECISION_PROPOSED'
  /** An API key may not decide this. */
  | 'REVIEW_NEEDS_OPERATORS';

/**
 * The outcome of a movement.
 * - `posted`: it is durable.
 * - `duplicate`: its business key was posted before, or this request committed and its reply was lost. Nothing changed.
 * - `duplicate_differs`: its business key was posted before with other postings. This movement was not posted; nothing
 *   changed.
 * - `refused`: a rule of the ledger does not allow it.
 * - `conflict`: a row has a newer version than the one that was read, or a unique value exists already. Read again and
 *   decide again.
 */
export type PostResult =
  | { outcome: 'posted' }
  | { outcome: 'duplicate' }
  | { outcome: 'duplicate_differs' }
  | { outcome: 'refused'; code: RefusalCode; account: AccountCode | null; detail: Record<string, unknown> }
  | { outcome: 'conflict'; constraint: string | null };
