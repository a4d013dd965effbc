// The port to the bank side. A rail is a bank or a provider that holds our money, gives account numbers and tells us
// what arrived. Adapters live beside this file; the rest of the service knows only this interface.
import type { IncomingHttpHeaders } from 'node:http';
import type { Uuid } from '../ids.ts';
import type { Kobo } from '../money.ts';

/** An account number that a rail gave us. */
export interface VirtualAccount {
  accountNumber: string;
  bankName: string;
  accountName: string;
}

/** Money that arrived, as the rail tells it. `sessionId` is its identity for ever. */
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

/** A bank that a rail can send to. */
export interface Bank {
  code: string;
  name: string;
}

/** A transfer that the rail is to make. The same reference is the same transfer, however often it is sent. */
export interface TransferInstruction {
  organisationId: Uuid;
  reference: string;
  amount: Kobo;
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
  narration: string | null;
}

/** Where a transfer stands, in the rail's own books. `returned`: the receiving bank sent the money back. */
export interface TransferReport {
  reference: string;
  status: 'processing' | 'completed' | 'failed' | 'returned';
  /** The interbank identity of the transfer, once there is one. */
  sessionId: string | null;
  /** Why it failed or came back, in the rail's words. */
  reason: string | null;
}

/** A line of a rail's own statement. */
export interface StatementLine {
  /** `credit`: money came in. `sent`: a transfer left. `returned`: it came back. */
  kind: 'credit' | 'sent' | 'returned';
  /** The session id of a credit, our reference of a transfer. */
  reference: string;
  amount: Kobo;
  at: Date;
}

/** A page of a statement. `nextCursor` null: it was the last. */
export interface StatementPage {
  lines: StatementLine[];
  nextCursor: string | null;
}

/** What a rail may tell us unasked. `transfer_update` says only that there is news: the flow asks for it. */
export type RailCallback =
  | { kind: 'inbound_credit'; credit: InboundCreditReport }
  | { kind: 'transfer_update'; organisationId: Uuid; reference: string };

/**
 * Every call takes a signal. When it is aborted nobody waits for the answer any more, and the adapter ends its request. The
 * service always gives one, which is aborted at the latest after `callLimitMs`: an adapter needs no timer of its own.
 */
export interface BankRail {
  /** Short and stable: it is part of account codes and business keys. */
  readonly name: string;

  /**
   * Opens an account number. The same reference twice gives the same number. `expiresAt` null: permanent.
   * Throws RailUnavailable (unknown whether it happened: ask again with the same reference) or RailRefused.
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

  /** Stops an account number from taking money. Closing twice is fine. */
  closeVirtualAccount(request: { organisationId: Uuid; accountNumber: string }, signal?: AbortSignal): Promise<void>;

  /** What the rail's own books say of one credit: a callback is believed only when this agrees. Null: it knows none. */
  findInboundCredit(
    request: { organisationId: Uuid; sessionId: string },
    signal?: AbortSignal,
  ): Promise<InboundCreditReport | null>;

  /** The banks that it can send to. */
  banks(signal?: AbortSignal): Promise<readonly Bank[]>;

  /** Name enquiry. Null: there is no such account. Throws RailUnavailable. */
  resolveAccount(
    request: { organisationId: Uuid; accountNumber: string; bankCode: string },
    signal?: AbortSignal,
  ): Promise<{ accountName: string } | null>;

  /**
   * Sends money by a reference that never changes. Sending a reference again does nothing new and tells where it stands.
   * Throws RailUnavailable when it is unknown whether the rail got it (ask `transferStatus`), RailRefused when it will
   * never be made.
   */
  sendTransfer(instruction: TransferInstruction, signal?: AbortSignal): Promise<TransferReport>;

  /** Where a transfer stands. Null: the rail knows no such reference (yet: see `unknownIsFinalAfterMs`). */
  transferStatus(
    request: { organisationId: Uuid; reference: string },
    signal?: AbortSignal,
  ): Promise<TransferReport | null>;

  /**
   * The rail's statement: all that came in and went out from `from` (inclusive) to `to`, oldest first, page by page.
   * Throws RailUnavailable.
   */
  statement(
    request: { organisationId: Uuid; from: Date; to: Date; cursor: string | null },
    signal?: AbortSignal,
  ): Promise<StatementPage>;

  /** A call that takes longer is aborted and ends as RailUnavailable, `timedOut`. At most `RAIL_CALL_MAX_MS`. */
  readonly callLimitMs: number;

  /** A reference still unknown this long after it was sent was never received, and may be sent again. */
  readonly unknownIsFinalAfterMs: number;

  /** Checks the signature over the raw bytes and reads the callback. Throws RailCallbackInvalid. */
  parseCallback(headers: IncomingHttpHeaders, body: Buffer): RailCallback;
}

/** The rail did not answer, or not in time. Whether it acted is unknown. */
export class RailUnavailableError extends Error {
  override readonly name = 'RailUnavailable';
  readonly timedOut: boolean;

  constructor(message: string, options: ErrorOptions & { timedOut?: boolean } = {}) {
    super(message, options);
    this.timedOut = options.timedOut ?? false;
  }
}

/** The rail answered no. It did not act and will not. */
export class RailRefusedError extends Error {
  override readonly name = 'RailRefused';
}

/** A callback that no rail signed, or that was signed too long ago. */
export class RailCallbackInvalidError extends Error {
  override readonly name = 'RailCallbackInvalid';
}
