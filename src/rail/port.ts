// The bank rail port. A rail is a bank or a payment provider that holds our money, issues account numbers, makes
// transfers and reports inbound credits. Adapters are in folders beside this file; the rest of the service uses only
// this interface. A rail belongs to one contract, except the sandbox bank, which serves every organisation.
import type { IncomingHttpHeaders } from 'node:http';
import type { Uuid } from '../ids.ts';
import type { Kobo } from '../money.ts';
import type { RailCapabilities } from './capabilities.ts';
import type { FailureWords } from './failures.ts';

/** Whom an account number is opened for. Payers see the name. */
export interface AccountHolder {
  name: string;
  email: string;
  /**
   * Eleven digits. Secret: in no log, span or error. Null unless the rail needs it, and for a settlement wallet: the
   * adapter uses the BVN of the contract, or throws RailNotReadyError `feature_off`.
   */
  bvn: string | null;
}

/** A request for an account number. `reference` is ours, and identifies the account on both sides. */
export type AccountRequest = {
  organisationId: Uuid;
  reference: string;
  holder: AccountHolder;
} & (
  | {
      kind: 'one_off';
      /** What the payer is asked to pay. A rail for exact amounts accepts no other. */
      amount: Kobo;
      expiresAt: Date;
    }
  | { kind: 'permanent' }
);

/** An account number that a rail issued to us. */
export interface VirtualAccount {
  accountNumber: string;
  bankName: string;
  /** The bank's code as in `banks`; null: it is not among them. */
  bankCode: string | null;
  accountName: string;
  /** Until when it accepts money that is not late, which may differ from what was asked for; null: for ever. */
  expiresAt: Date | null;
}

/** An account that was opened, as all that may identify it. */
export interface OpenedAccount {
  organisationId: Uuid;
  kind: AccountRequest['kind'];
  reference: string;
  accountNumber: string;
}

/** Who sent money. A field that is not known is null. */
export interface CreditSender {
  senderName: string | null;
  /** Null where the rail masks it. */
  senderAccountNumber: string | null;
  /** The code as in `banks`. */
  senderBankCode: string | null;
  /** The session id of the sender's bank, by which another bank knows the transfer; of NIP 30 digits. */
  senderSessionId?: string | null;
}

/** What a callback says: shown until the rail's own record is read. No money moves by it. */
export interface CreditHint {
  /** What we called the account when it was opened; null: the rail does not report. The owner is found by it first. */
  accountReference: string | null;
  /** Null: the rail does not report it here. With neither of the two the owner is not known. */
  accountNumber: string | null;
  /** What the payer sent, before charges, which are posted from the statement. */
  amount: Kobo;
  receivedAt: Date;
}

/** Money that arrived, as the rail's own books have it. `sessionId` identifies it permanently. */
export interface InboundCreditReport extends CreditHint, CreditSender {
  sessionId: string;
}

/** A credit in the rail's own books. `recalledAt`: when the rail took it back; null if it did not. */
export interface InboundCreditRecord extends InboundCreditReport {
  recalledAt: Date | null;
}

/** A bank that a rail can send to. */
export interface Bank {
  /** The code of the Central Bank of Nigeria, three digits, or five to six of other institutions. */
  code: string;
  name: string;
  /** The institution code of NIBSS NIP, six digits; null: unknown. */
  nipCode: string | null;
}

/** An instruction to make a transfer. `reference` is the idempotency key: sending it again is the same transfer. */
export interface TransferInstruction {
  organisationId: Uuid;
  reference: string;
  amount: Kobo;
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
  /** At most 100 characters. The adapter replaces what its provider does not accept. */
  narration: string | null;
}

/**
 * A transfer's status in the rail's own books. `returned`: the receiving bank sent the money back. A field that the
 * rail does not report is null. `amount`, `accountNumber` and `bankCode` are compared with the instruction.
 */
export interface TransferReport {
  reference: string;
  status: 'processing' | 'completed' | 'failed' | 'returned';
  /** The interbank id of the transfer; null until it has one. */
  sessionId: string | null;
  /**
   * Why it failed or was returned, in the rail's words; null: it does not say. While it is in progress, what operators
   * should know.
   */
  reason: string | null;
  amount: Kobo | null;
  accountNumber: string | null;
  bankCode: string | null;
  /** What the rail charged for it. */
  charge: Kobo | null;
  /** It waits for an approval that never comes, such as a one-time password: a feature that must be off. */
  awaitsApproval?: true;
}

export interface StatementLine {
  /**
   * `credit`: money came in. `recalled`: the bank took it back. `sent`: a transfer left. `returned`: it came back. By
   * the rail itself: `charge`: it took a fee. `charge_returned`: it gave one back. `settlement`: it moved collected
   * money to the balance that pays out, or, with one balance, paid it out to us. `interest`: it paid interest.
   * `funding`: the organisation paid money in. `other_in`, `other_out`: anything else, which opens a review case.
   */
  kind:
    | 'credit'
    | 'recalled'
    | 'sent'
    | 'returned'
    | 'charge'
    | 'charge_returned'
    | 'settlement'
    | 'interest'
    | 'funding'
    | 'other_in'
    | 'other_out';
  /** The session id of a credit, recalled or not, our reference of a transfer, the rail's own id of any other line. */
  reference: string;
  /** Before charges. */
  amount: Kobo;
  /** The charge that the rail took for this line, unless it is a line of its own: 0. Negative: it gave one back. */
  charge: Kobo;
  at: Date;
  /** What identifies the row of the rail that it was read from, in each run. */
  row?: string;
}

/** A row of a statement that could not be read, or has a word that is not documented: it may be money. */
export interface UnreadRow {
  /** What identifies it in each run: the rail's own id, or a digest of the row. */
  reference: string;
  at: Date;
  /** The row as JSON. It may have personal data. */
  raw: string;
}

/** From `from` (inclusive) to `to` (exclusive). */
export interface Period {
  from: Date;
  to: Date;
}

/** A request for a page of what is in a period, oldest first. `cursor`: of the page before; null: the first page. */
export interface PageRequest extends Period {
  organisationId: Uuid;
  cursor: string | null;
}

/** A page of a statement. `nextCursor` null: it was the last. */
export interface StatementPage {
  lines: StatementLine[];
  /** Those that are set aside: they hide none of the others. */
  unread?: readonly UnreadRow[];
  nextCursor: string | null;
  /** The balance (of both accounts if there are two) after all lines before the end; null: not reported. */
  closingBalance: Kobo | null;
}

/** A page of credits, those that the rail took back too. `nextCursor` null: it was the last. */
export interface CreditPage {
  credits: InboundCreditRecord[];
  nextCursor: string | null;
}

/**
 * News that moves no money. `payment_rejected`: money for the account number of a payment was sent back. `settled`:
 * collected money was moved to the balance that pays out.
 */
export type RailNotice = 'low_balance' | 'payment_rejected' | 'settled';

/** What a rail says of money that it took back, for a case where we know no such credit. */
export interface UnmatchedReversal {
  reference: string;
  amount: Kobo | null;
  at: Date | null;
}

/**
 * What a rail's callback reports. `inbound_credit`: `findInboundCredit` has the facts; `sender` adds what that masks,
 * and is null unless the signature covers it. `recall`: it has taken a credit back, which `findInboundCredit` confirms.
 * `transfer_update` carries no status: the flow reads it with `transferStatus`. `ignored`: not about our money.
 */
export type RailCallback =
  | { kind: 'inbound_credit'; sessionId: string; hint: CreditHint; sender: CreditSender | null }
  | { kind: 'recall'; sessionId: string | null; unmatched?: UnmatchedReversal }
  | { kind: 'transfer_update'; reference: string }
  | { kind: 'notice'; notice: RailNotice; reference: string | null; providerMessage?: string | null }
  | { kind: 'ignored'; event: string };

export interface CallbackRequest {
  /** The organisation of the contract. */
  organisationId: Uuid;
  headers: IncomingHttpHeaders;
  /** The raw bytes. */
  body: Buffer;
}

/**
 * Every call accepts a signal. When it is aborted the caller no longer waits, and the adapter must cancel its request.
 * The service always passes one, which is aborted after `calls.limitMs` at the latest, so an adapter needs no timer.
 *
 * Each call may throw RailUnavailableError (the outcome is unknown) and RailNotReadyError (the rail did not act, and
 * may later).
 */
export interface BankRail {
  /** Short, and never changes: it is part of account codes and business keys. */
  readonly name: string;

  /** Of an organisation; none: the rail serves all. */
  readonly contractId?: Uuid;

  readonly capabilities: RailCapabilities;

  /** Our codes for what its provider says of a transfer that failed or was returned. */
  readonly failures: FailureWords;

  /** Opens an account number. Idempotent: the same reference returns the same number. Throws RailRefusedError. */
  openVirtualAccount(request: AccountRequest, signal?: AbortSignal): Promise<VirtualAccount>;

  /**
   * Closes an account number, so that it accepts no more money. Idempotent. That of a payment may stay open for late
   * money, if it closes by itself (`oneOff.closes`). Throws RailRefusedError.
   */
  closeVirtualAccount(account: OpenedAccount, signal?: AbortSignal): Promise<void>;

  /**
   * Reads one credit from the rail's own books: owner, amount, sender and time are what this says, never what a
   * callback said. `pending`: it is not final yet. `failed`: it never arrived. Null: unknown, or no money that came in.
   */
  findInboundCredit(
    request: { organisationId: Uuid; sessionId: string; accountReference: string | null },
    signal?: AbortSignal,
  ): Promise<InboundCreditRecord | 'pending' | 'failed' | null>;

  /** Returns a page of the credits received in a period, whatever their status says beside that money came. */
  listInboundCredits(request: PageRequest, signal?: AbortSignal): Promise<CreditPage>;

  /** Returns the banks that it can send to. */
  banks(signal?: AbortSignal): Promise<readonly Bank[]>;

  /** Name enquiry. Null: there is no such account. */
  resolveAccount(
    request: { organisationId: Uuid; accountNumber: string; bankCode: string },
    signal?: AbortSignal,
  ): Promise<{ accountName: string } | null>;

  /**
   * Sends a transfer. Idempotent by reference: sending it again makes no second transfer and returns the current
   * status. After RailUnavailableError call `transferStatus`, unless it `isNotSent`. RailNotReadyError: send the same
   * reference again later. RailRefusedError: it is not made, unless `transferStatus` reports it within
   * `notVisibleForMs`.
   */
  sendTransfer(instruction: TransferInstruction, signal?: AbortSignal): Promise<TransferReport>;

  /**
   * Returns a transfer's status. Null: the rail does not know the reference (yet: see `notVisibleForMs`), in words that
   * its documentation has for that; any other answer is RailUnavailableError.
   * `since`: it was not sent before this, by the clock of our process; undefined: never, or not known. `lastSentAt`: of
   * its last send, if that is known. `mayEnd`: null may end the transfer, and not only have it sent again (default).
   */
  transferStatus(
    request: {
      organisationId: Uuid;
      reference: string;
      since?: Date | undefined;
      lastSentAt?: Date | undefined;
      mayEnd?: boolean;
    },
    signal?: AbortSignal,
  ): Promise<TransferReport | null>;

  /** The money that can be paid out now. Null: the rail does not report it (`transfers.balance`). */
  balance(request: { organisationId: Uuid }, signal?: AbortSignal): Promise<Kobo | null>;

  /** Returns a page of the statement: all money in and out. */
  statement(request: PageRequest, signal?: AbortSignal): Promise<StatementPage>;

  /**
   * Verifies the signature over the raw bytes, and that the callback is for this contract, and translates it. An event
   * that it does not know is `ignored`, not invalid. Throws RailCallbackInvalidError.
   */
  parseCallback(request: CallbackRequest): RailCallback[];
}
