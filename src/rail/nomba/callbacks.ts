// Nomba's callbacks: signed with HMAC-SHA256 over some fields and a time. The session, the amount, the account and the
// sender are not among them, so a callback only reports what to look up.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { RailCallbackInvalidError } from '../errors.ts';
import { parseJson } from '../http.ts';
import type { CallbackRequest, CreditHint, RailCallback } from '../port.ts';
import { fullAccountNumber } from '../texts.ts';
import { type Event, event, timeOf } from './wire.ts';

/** A callback whose signature time differs by more than this is refused, against replay. */
const AGE_MAX_MS = 300_000;

const PAYOUTS: ReadonlySet<string> = new Set(['payout_success', 'payout_failed', 'payout_refund']);

export function parseCallback(
  signatureKey: string,
  { headers, body }: Pick<CallbackRequest, 'headers' | 'body'>,
  now: Date,
): RailCallback[] {
  const parsed = event.safeParse(parseJson(body));
  if (!parsed.success) throw new RailCallbackInvalidError('the body is not an event');
  checkSignature(signatureKey, headers, parsed.data, now);
  const { event_type: name, data } = parsed.data;
  const { transaction } = data;
  const ignored: RailCallback = { kind: 'ignored', event: name.slice(0, 50) };
  if (name === 'payment_success' && transaction.type === 'vact_transfer') return [creditOf(parsed.data) ?? ignored];
  if (name === 'payment_reversal') return [reversalOf(parsed.data)];
  if (PAYOUTS.has(name) && transaction.merchantTxRef !== null) {
    return [{ kind: 'transfer_update', reference: transaction.merchantTxRef }];
  }
  return [ignored];
}

/** Null: there is nothing to look it up by. The list of credits will have it. */
function creditOf({ data: { transaction } }: Event): RailCallback | null {
  const { sessionId, transactionAmount: amount, aliasAccountNumber, aliasAccountReference, time } = transaction;
  const receivedAt = timeOf(time);
  if (sessionId === null || amount === null || amount <= 0 || receivedAt === null) return null;
  const hint: CreditHint = {
    accountReference: aliasAccountReference,
    accountNumber: fullAccountNumber(aliasAccountNumber),
    amount,
    receivedAt,
  };
  return { kind: 'inbound_credit', sessionId, hint, sender: null };
}

/** Money was taken back, whatever the list says. */
function reversalOf({ data: { transaction } }: Event): RailCallback {
  const { sessionId, transactionId, transactionAmount, time } = transaction;
  const reference = transactionId || 'payment_reversal';
  const unmatched = { reference, amount: transactionAmount, at: timeOf(time) };
  return { kind: 'recall', sessionId, unmatched };
}

/** The fields that are signed, in their order. */
function signedText({ event_type, requestId, data: { merchant, transaction } }: Event, timestamp: string): string {
  const { transactionId, type, time, responseCode } = transaction;
  const { userId, walletId } = merchant;
  return [event_type, requestId, userId, walletId, transactionId, type, time, responseCode, timestamp].join(':');
}

function checkSignature(key: string, headers: CallbackRequest['headers'], signed: Event, now: Date): void {
  const { 'nomba-signature': signature, 'nomba-timestamp': timestamp } = headers;
  if (typeof signature !== 'string' || typeof timestamp !== 'string') {
    throw new RailCallbackInvalidError('the signature or its time is missing');
  }
  const at = timeOf(timestamp);
  if (at === null || Math.abs(now.getTime() - at.getTime()) > AGE_MAX_MS) {
    throw new RailCallbackInvalidError(`the signature time is more than ${AGE_MAX_MS / 1_000} s off`);
  }
  const expected = createHmac('sha256', key).update(signedText(signed, timestamp)).digest();
  const given = Buffer.from(signature, 'base64');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new RailCallbackInvalidError('the signature does not match the event');
  }
}
