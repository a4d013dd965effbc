// What each code, message and status word of Monnify means, as tables, and the functions that apply them. Nothing is
// a failure by default: what is not in a table is unknown, or still in progress.
import { type NotReady, notReadyByStatus, type Outcome, type Reply, type Unknown } from '../client.ts';
import { type FailureWords, keyOf, NIP_WORDS, type RailFailureCode } from '../failures.ts';
import { entryOf } from '../fields.ts';
import type { HttpResponse } from '../http.ts';
import type { TransferReport } from '../port.ts';
import { reasonOf, safeMessage } from '../texts.ts';
import { replyOf, type Transfer, transferBody } from './wire.ts';

/**
 * The codes of disbursements. `refused`: "treat as failed", unless the status says otherwise. `exists`: the reference
 * is known already, so the status decides. The provider's advice to try D05 with another reference would pay twice, and
 * is never followed. `duplicate_guard`: the same amount went to the same account less than two minutes ago, perhaps
 * under this reference: the status decides, and if there is none the same reference is sent again later.
 */
export const CODES = {
  '0': 'accepted',
  D01: 'refused',
  D02: 'absent',
  D03: 'refused',
  D04: 'underfunded',
  D05: 'exists',
  D06: 'unauthorised',
  D07: 'duplicate_guard',
  '99': 'unknown',
} as const;
type CodeMeaning = (typeof CODES)[keyof typeof CODES];

const meaningOf = (code: string): CodeMeaning => entryOf<CodeMeaning>(CODES, code) ?? 'unknown';

/**
 * The status words of a transfer. `otp`: it waits for a one-time password that no one will enter, because the contract
 * has them switched on. `expired`: no one entered it. `failed` is believed by the message and the age of the transfer.
 */
export const STATUSES = {
  PENDING: 'processing',
  AWAITING_PROCESSING: 'processing',
  IN_PROGRESS: 'processing',
  PENDING_AUTHORIZATION: 'otp',
  PENDING_BATCH_AUTHORIZATION: 'otp',
  OTP_EMAIL_DISPATCH_FAILED: 'otp',
  SUCCESS: 'completed',
  COMPLETED: 'completed',
  FAILED: 'failed',
  EXPIRED: 'expired',
  REVERSED: 'returned',
} as const;
type StatusMeaning = (typeof STATUSES)[keyof typeof STATUSES];

/**
 * The documented messages of a failed transfer, and our code of those that say why. `final`: the receiving account or
 * bank refused it. `query_again`: the documentation says to query again, or names a fault on the way, so the money may
 * still arrive.
 */
export const MESSAGES: Readonly<Record<string, { is: 'final' | 'query_again'; code?: RailFailureCode }>> = {
  'invalid destination account number': { is: 'final', code: 'account_not_resolved' },
  'dormant beneficiary account': { is: 'final', code: 'account_dormant' },
  'beneficiary account name mismatch': { is: 'final', code: 'name_mismatch' },
  'unknown destination bank code': { is: 'final', code: 'account_not_resolved' },
  'invalid amount': { is: 'final' },
  'post no credit restriction on beneficiary account': { is: 'final', code: 'account_restricted' },
  'rejected by destination institution': { is: 'final', code: 'bank_refused' },
  'suspected fraud': { is: 'final', code: 'suspected_fraud' },
  'beneficiary account limit exceeded': { is: 'final', code: 'account_limit_exceeded' },
  'sender not permitted to credit beneficiary': { is: 'final', code: 'account_restricted' },
  'you do not have sufficient balance to process this request. please fund your account and try again': { is: 'final' },
  'transaction timed out while waiting for destination bank': { is: 'query_again', code: 'bank_unavailable' },
  'delayed processing from nip': { is: 'query_again', code: 'bank_unavailable' },
  'beneficiary bank not available': { is: 'query_again', code: 'bank_unavailable' },
  'invalid session id': { is: 'query_again' },
  'invalid response code from beneficiary institution': { is: 'query_again', code: 'bank_unavailable' },
  'system malfunction by destination institution': { is: 'query_again', code: 'bank_unavailable' },
  'unable to complete the transaction at this time': { is: 'query_again' },
  'transaction could not be processed at this time. please try again': { is: 'query_again' },
  'transaction processing in progress': { is: 'query_again' },
  'account number could not be validated': { is: 'query_again', code: 'account_not_resolved' },
  'transaction failed': { is: 'query_again' },
  'system malfunction - internal service failure': { is: 'query_again' },
  'system malfunction - transaction transmission unsuccessful': { is: 'query_again' },
  'processor malfunction - transaction transmission failed': { is: 'query_again' },
};

/** Those words, with those of NIP. */
export const FAILURES: FailureWords = {
  ...NIP_WORDS,
  ...Object.fromEntries(Object.entries(MESSAGES).flatMap(([words, { code }]) => (code ? [[words, code]] : []))),
};

/** A failure is believed when the transfer is at least this old: a status has been seen to change after a failure. */
export const FAILURE_FINAL_AFTER_MS = { final: 60_000, query_again: 30 * 60_000 };

/** What Monnify says, and what that means. */
const SAID = {
  /** There is no such transfer, transaction, invoice or account. */
  absent: [
    /^could not find disbursement transaction\b/i,
    /^transaction does not exist\b/i,
    /^there'?s no transaction matching supplied reference\b/i,
    /^could not find transaction with\b/i,
    /^cannot find reserved account\b/i,
  ],
  /** An account number was opened with the same reference before. */
  exists: [
    /^invoice with this reference already exists\b/i,
    /^you can not reserve two accounts with the same reference\b/i,
  ],
  /** It will never open an account number with these values. */
  refused: [
    /^amount must be greater than\b/i,
    /^invalid invoice expiry date\b/i,
    /^invalid bvn provided\b/i,
    /^bvn is invalid\b/i,
    /^unknown currency code\b/i,
    /^we do not support virtual accounts from banks with code\b/i,
  ],
  /** In a name enquiry: the account does not exist. */
  no_account: [/^invalid account details supplied\b/i, /^could not find specified bank\b/i],
  /** Wrong settings of the contract: not the request's fault. */
  settings: [
    /^unknown contract code\b/i,
    /^invalid contract code\b/i,
    /^could not find specified contract\b/i,
    /^supplied account number does not belong to merchant\b/i,
  ],
} as const;

/** Whether the reply says this. */
const isSaid = (what: keyof typeof SAID, { message }: Reply): boolean =>
  SAID[what].some((pattern) => pattern.test(message.trim()));

/** How a call other than a send ended. */
export function callOutcome(response: HttpResponse): Outcome {
  const notReady = notReadyOf(response);
  if (notReady !== null) return notReady;
  const reply = replyOf(response);
  if (reply === null) return { kind: 'unknown', isRailsFault: true };
  if (reply.isOk) return { kind: 'ok' };
  if (response.status >= 500) return { kind: 'unknown', isRailsFault: true };
  if (meaningOf(reply.code) === 'absent') return { kind: 'absent' };
  const kind = (['absent', 'exists', 'refused', 'no_account'] as const).find((what) => isSaid(what, reply));
  return kind === undefined ? { kind: 'unknown', isRailsFault: false } : { kind };
}

/** Codes that mean the same under every HTTP status. None of them says that there is no transfer. */
const DECIDES_ALONE: ReadonlySet<CodeMeaning> = new Set(['exists', 'duplicate_guard']);

function notReadyOf(response: HttpResponse): NotReady | null {
  const reply = replyOf(response);
  const meaning = reply === null ? 'unknown' : meaningOf(reply.code);
  if (meaning === 'underfunded' || meaning === 'unauthorised')
    return { kind: 'not_ready', why: meaning, retryAfterMs: response.retryAfterMs };
  if (DECIDES_ALONE.has(meaning)) return null;
  const notReady = notReadyByStatus(response);
  if (notReady !== null) return notReady;
  if (reply === null || reply.isOk) return null;
  return isSaid('settings', reply) ? { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null } : null;
}

/**
 * How a send ended. `ask`: the status decides; `ifAbsent` is the end if the status has no such transfer.
 */
export type SendOutcome =
  | { kind: 'report'; transfer: Transfer }
  | { kind: 'ask'; ifAbsent: (typeof ASK)[keyof typeof ASK] }
  | NotReady
  | Unknown;

const ASK = { refused: 'refused', exists: 'unknown', duplicate_guard: 'duplicate_guard' } as const;

/** D07 ends after two minutes. */
export const DUPLICATE_GUARD_MS = 120_000;

export function sendOutcome(response: HttpResponse): SendOutcome {
  const notReady = notReadyOf(response);
  if (notReady !== null) return notReady;
  const reply = replyOf(response);
  if (reply === null) return { kind: 'unknown', isRailsFault: true };
  if (reply.isOk) {
    const transfer = transferBody.safeParse(reply.body);
    return transfer.success ? { kind: 'report', transfer: transfer.data } : { kind: 'unknown', isRailsFault: true };
  }
  const ifAbsent = entryOf(ASK, meaningOf(reply.code));
  return ifAbsent === undefined ? { kind: 'unknown', isRailsFault: response.status >= 500 } : { kind: 'ask', ifAbsent };
}

/** A transfer as we report it. `isUnknownWord`: the tables do not have its status. */
export function readTransfer(transfer: Transfer, now: Date): { report: TransferReport; isUnknownWord: boolean } {
  const meaning = entryOf<StatusMeaning>(STATUSES, transfer.status.toUpperCase());
  const isUnknownWord = meaning === undefined;
  const status = statusOf(meaning, transfer, now);
  const isOver = status === 'failed' || status === 'returned';
  // In progress for us, and not for Monnify: a failure that is not final, for example.
  const isDoubted = status === 'processing' && meaning !== 'processing';
  const words = [isUnknownWord ? safeMessage(transfer.status) : transfer.status, safeMessage(transfer.message)];
  const doubt = isDoubted ? words.filter((text) => text !== null).join(': ') : null;
  const report = {
    reference: transfer.reference,
    status,
    sessionId: transfer.sessionId,
    reason: isOver ? reasonOf(transfer.message) : doubt,
    amount: transfer.amount,
    accountNumber: transfer.destinationAccountNumber,
    bankCode: transfer.destinationBankCode,
    charge: transfer.fee,
    ...(meaning === 'otp' && { awaitsApproval: true as const }),
  };
  return { report, isUnknownWord };
}

function statusOf(meaning: StatusMeaning | undefined, transfer: Transfer, now: Date): TransferReport['status'] {
  switch (meaning) {
    case 'otp':
    case undefined:
      return 'processing';
    // A transfer expires only while it waits for a one-time password, so nothing was sent.
    case 'expired':
      return transfer.twoFaEnabled === true ? 'failed' : 'processing';
    case 'failed':
      return isFailureFinal(transfer, now) ? 'failed' : 'processing';
    default:
      return meaning;
  }
}

function isFailureFinal({ message, createdAt }: Transfer, now: Date): boolean {
  if (createdAt === null) return false;
  return now.getTime() - createdAt.getTime() >= FAILURE_FINAL_AFTER_MS[failureOf(message)];
}

/** A message that is not documented counts as one to query again. */
export const failureOf = (message: string | null): 'final' | 'query_again' =>
  entryOf(MESSAGES, keyOf(message ?? ''))?.is ?? 'query_again';

/**
 * What a collection's status means. `received`: so much arrived as is reported as paid, whatever was asked for.
 * `failed`: the money never arrived. `recalled`: it is no longer there.
 */
export const PAYMENT_STATUSES = {
  PAID: 'received',
  PARTIALLY_PAID: 'received',
  OVERPAID: 'received',
  PENDING: 'pending',
  EXPIRED: 'failed',
  FAILED: 'failed',
  CANCELLED: 'failed',
  REVERSED: 'recalled',
} as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[keyof typeof PAYMENT_STATUSES];

/** Undefined: the table does not have the word. */
export const paymentStatusOf = (word: string): PaymentStatus | undefined =>
  entryOf<PaymentStatus>(PAYMENT_STATUSES, word);

/** Whether the money of a row of the wallet moved, by its status. Undefined: the table does not have the word. */
export const movedBy = (word: string): boolean | undefined =>
  entryOf<boolean>({ COMPLETED: true, SUCCESS: true, PENDING: false, PROCESSING: false, FAILED: false }, word);
