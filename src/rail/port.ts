// The bank rail port. A rail is a bank or a payment provider that holds our money, issues account numbers, makes
// transfers and reports inbound credits. Adapters are in folders beside this file; the rest of the service uses only
// this interface.
import type { IncomingHttpHeaders } from 'node:http';
import type { Uuid } from '../ids.ts';
import type { Kobo } from '../money.ts';

/** An account number that a rail issued to us. */
export interface VirtualAccount {
  accountNumber: string;
  bankName: string;
  accountName: string;
}

/** Money that arrived, as reported by the rail. `sessionId` identifies it permanently. */
export interface InboundCreditReport {
  /** The organisation under whose contract with the rail the money arrived. */
  organisationId: Uuid;
  sessionId: string;
  accountNumber: string;
  amount: Kobo;
  senderName: string | null;
  senderAccountNumber: string | null;
  senderBankCode: string | null;
  receivedAt: Date;
}

/** A credit in the rail's own books. `recalledAt`: when the rail took it back; null if it did not. */
export interface InboundCreditRecord extends InboundCreditReport {
  recalledAt: Date | null;
}

/** A bank that a rail can send to. */
export interface Bank {
  code: string;
  name: string;
}

/** An instruction to make a transfer. `reference` is the idempotency key: sending it again is the same transfer. */
export interface TransferInstruction {
  organisationId: Uuid;
  reference: string;
  amount: Kobo;
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
  narration: string | null;
}

/** A transfer's status in the rail's own books. `returned`: the receiving bank sent the money back. */
export interface TransferReport {
  reference: string;
  status: 'processing' | 'completed' | 'failed' | 'returned';
  /** The interbank id of the transfer; null until it has one. */
  sessionId: string | null;
  /** Why it failed or was returned, in the rail's words. */
  reason: string | null;
}

/** A line of a rail's bank statement. */
export interface StatementLine {
  /**
   * `credit`: money came in. `sent`: a transfer left. `returned`: it came back. By the rail itself: `charge`: it took a
   * fee. `settlement`: it paid our money out to us. `interest`: it paid interest.
   */
  kind: 'credit' | 'sent' | 'returned' | 'charge' | 'settlement' | 'interest';
  /** The session id of a credit, our reference of a transfer, the rail's own id of any other line. */
  reference: string;
  amount: Kobo;
  at: Date;
}

/** A page of a statement. `nextCursor` null: it was the last. */
export interface StatementPage {
  lines: StatementLine[];
  nextCursor: string | null;
  /** The balance after all lines before the end of the statement; null: the rail does not tell it. */
  closingBalance: Kobo | null;
}

/** A page of credits. `nextCursor` null: it was the last. */
export interface CreditPage {
  credits: InboundCreditReport[];
  nextCursor: string | null;
}

/**
 * A rail's callback. `recall`: it has taken a credit back, which `findInboundCredit` confirms. `transfer_update` carries
 * no status: the flow reads it with `transferStatus`.
 */
export type RailCallback =
  | { kind: 'inbound_credit'; credit: InboundCreditReport }
  | { kind: 'recall'; organisationId: Uuid; sessionId: string }
  | { kind: 'transfer_update'; organisationId: Uuid; reference: string };

/**
 * Every call takes a signal. When it is aborted the caller no longer waits, and the adapter must cancel its request.
 * The service always passes one, which is aborted after `callLimitMs` at the latest, so an adapter needs no timer.
 */
export interface BankRail {
  /** Short, and never changes: it is part of account codes and business keys. */
  readonly name: string;

  /**
   * Opens an account number. Idempotent: the same reference returns the same number. `expiresAt` null: permanent.
   * Throws RailUnavailableError (outcome unknown: retry with the same reference) or RailRefusedError.
   */
  openVirtualAccount(
    request: {
      organisationId: Uuid;
      reference: string;
      accountName: string;
      expiresAt: Date | null;
    },
    signal?: AbortSignal,
  ): Promise<VirtualAccount>;

  /** Closes an account number, so that it accepts no more money. Idempotent. */
  closeVirtualAccount(request: { organisationId: Uuid; accountNumber: string }, signal?: AbortSignal): Promise<void>;

  /** Reads one credit from the rail's own books. A callback is accepted only when this confirms it. Null: unknown. */
  findInboundCredit(
    request: { organisationId: Uuid; sessionId: string },
    signal?: AbortSignal,
  ): Promise<InboundCreditRecord | null>;

  /** Returns a page of the credits received from `from` (inclusive) on, oldest first. Throws RailUnavailableError. */
  listInboundCredits(
    request: { organisationId: Uuid; from: Date; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<CreditPage>;

  /** Returns the banks that it can send to. */
  banks(signal?: AbortSignal): Promise<readonly Bank[]>;

  /** Name enquiry. Null: there is no such account. Throws RailUnavailableError. */
  resolveAccount(
    request: { organisationId: Uuid; accountNumber: string; bankCode: string },
    signal?: AbortSignal,
  ): Promise<{ accountName: string } | null>;

  /**
   * Sends a transfer. Idempotent by reference: sending it again makes no second transfer and returns the current
   * status. Throws RailUnavailableError when it is unknown whether the rail received it (call `transferStatus`), RailRefusedError
   * when it will never be made.
   */
  sendTransfer(instruction: TransferInstruction, signal?: AbortSignal): Promise<TransferReport>;

  /** Returns a transfer's status. Null: the rail does not know the reference (yet: see `unknownIsFinalAfterMs`). */
  transferStatus(
    request: { organisationId: Uuid; reference: string },
    signal?: AbortSignal,
  ): Promise<TransferReport | null>;

  /**
   * Returns a page of the rail's statement: all money in and out from `from` (inclusive) to `to` (exclusive), oldest
   * first. Throws RailUnavailableError.
   */
  statement(
    request: { organisationId: Uuid; from: Date; to: Date; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<StatementPage>;

  /** A call that takes longer is aborted and fails with RailUnavailableError, `timedOut`. At most `RAIL_CALL_MAX_MS`. */
  readonly callLimitMs: number;

  /** A reference that the rail does not know this long after it was sent was never received, and may be sent again. */
  readonly unknownIsFinalAfterMs: number;

  /** Verifies the signature over the raw bytes and parses the callback. Throws RailCallbackInvalidError. */
  parseCallback(headers: IncomingHttpHeaders, body: Buffer): RailCallback;
}

/** The rail did not respond, or not in time. Whether it acted is unknown. */
export class RailUnavailableError extends Error {
  override readonly name = 'RailUnavailableError';
  readonly timedOut: boolean;

  constructor(message: string, options: ErrorOptions & { timedOut?: boolean } = {}) {
    super(message, options);
    this.timedOut = options.timedOut ?? false;
  }
}

/** The rail rejected the request. It did not act and will not. */
export class RailRefusedError extends Error {
  override readonly name = 'RailRefusedError';
}

/** A callback that is not signed by the rail, was signed too long ago, or has an invalid body. */
export class RailCallbackInvalidError extends Error {
  override readonly name = 'RailCallbackInvalidError';
}
