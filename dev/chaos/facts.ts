// What is known after a chaos run: the responses that callers got, and what database, bank and webhook receiver have.

/** A resource of the API, or code and details of a refusal. */
export interface Body {
  id?: string;
  status?: string;
  sessionId?: string;
  createdAt?: string;
  expiresAt?: string;
  [field: string]: unknown;
}

/** A response that the caller may rely on: a success, or a refusal that will not change by retrying. */
export interface Answer {
  status: number;
  body: Body;
  /** Whether it had the header `Idempotent-Replayed`. */
  replayed: boolean;
}

export type OperationKind =
  | 'wallet'
  | 'kyc'
  | 'credit'
  | 'payment'
  | 'pay'
  | 'transfer'
  | 'hold'
  | 'withdrawal'
  | 'refund'
  | 'payout'
  | 'review';

/** One request of a caller, sent again with the same key until there is a definite answer. */
export interface Operation {
  number: number;
  kind: OperationKind;
  path: string;
  body: Record<string, unknown>;
  /** The Idempotency-Key; null where the route takes none. */
  key: string | null;
  attempts: number;
  /** When it was sent first and answered, by the clock of the caller. */
  sentAt: number;
  answeredAt: number;
  /** Null: no definite answer until the end. */
  answer: Answer | null;
  /** The answer to the same request with the same key after the run; null for a request without key. */
  replay: Answer | null;
  /** The resource after the run, as the API returns it; null when it was refused or does not exist. */
  now: Body | null;
}

/** A resource in the database. */
export interface StoredResource {
  kind: OperationKind;
  id: string;
  status: string;
}

export interface StoredEvent {
  id: string;
  type: string;
}

/** A request at the webhook receiver. */
export interface ReceivedEvent {
  id: string;
  body: string;
  isSigned: boolean;
}

/** One reference in the bank's book, in our tables, or in both. Amounts in kobo. */
export interface BankReference {
  reference: string;
  /** Ours; null when no resource has this reference. */
  own: { status: string; amount: number } | null;
  /** The bank's; null when it knows no such reference. */
  bank: { status: string; amount: number } | null;
  /** The lines of the bank's statement. */
  sent: number[];
  returned: number[];
}

/** A credit in the bank's book, and how often it is in ours. */
export interface BankCredit {
  sessionId: string;
  amount: number;
  /** Whether the bank has taken it back. */
  recalled: boolean;
  /** The amounts of the inbound credits with this session id. */
  own: number[];
  /** Ledger transactions with its business key, and with that of its recall. */
  posted: number;
  takenBack: number;
}

/** Something that must have ended, or an open item of a queue. */
export interface Unfinished {
  what: string;
  id: string;
}

export interface Facts {
  operations: readonly Operation[];
  resources: readonly StoredResource[];
  events: readonly StoredEvent[];
  received: readonly ReceivedEvent[];
  references: readonly BankReference[];
  credits: readonly BankCredit[];
  unfinished: readonly Unfinished[];
  /** Findings of `ledger verify`. */
  findings: readonly unknown[];
  /** Violated invariants of the money (dev/chaos/invariants.ts). */
  violations: readonly string[];
}
