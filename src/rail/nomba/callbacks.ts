// Nomba's callbacks: signed with HMAC-SHA256 over some fields and a time. The amount and the account number are not
// among them, so a callback only reports what to look up.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BankList } from '../bankList.ts';
import { RailCallbackInvalidError } from '../errors.ts';
import { parseJson } from '../http.ts';
import type { CallbackRequest, RailCallback } from '../port.ts';
import { fullAccountNumber } from '../texts.ts';
import { type Event, event, timeOf } from './wire.ts';

/** A callback whose signature time differs by more than this is refused, against replay. */
const AGE_MAX_MS = 300_000;

const PAYOUTS: ReadonlySet<string> = new Set(['payout_success', 'payout_failed', 'payout_refund']);

export function parseCallback(
  signatureKey: string,
  banks: BankList,
  { headers, body }: Pick<CallbackRequest, 'headers' | 'body'>,
  now: Date,
): RailCallback[] {
  const parsed = event.safeParse(parseJson(body));
  if (!parsed.success) throw new RailCallbackInvalidError('the body is not an event');
  checkSignature(signatureKey, headers, parsed.data, now);
  const { event_type: name, data } = parsed.data;
  const { transaction } = data;
  if (name === 'payment_success' && transaction.type === 'vact_transfer') {
    return [creditOf(parsed.data, banks)];
  }
  if (PAYOUTS.has(name) && transaction.merchantTxRef !== null) {
    return [{ kind: 'transfer_update', reference: transaction.merchantTxRef }];
  }
  return [{ kind: 'ignored', event: name.slice(0, 50) }];
}

function creditOf({ data: { transaction, customer } }: Event, banks: BankList): RailCallback {
  const { sessionId, transactionAmount: amount, aliasAccountNumber, aliasAccountReference, time } = transaction;
  const receivedAt = timeOf(time);
  if (sessionId === null || amount === null || amount <= 0 || receivedAt === null) {
    throw new RailCallbackInvalidError('the event lacks the session, the amount or the time');
  }
  return {
    kind: 'inbound_credit',
    credit: {
      sessionId,
      accountReference: aliasAccountReference,
      accountNumber: fullAccountNumber(aliasAccountNumber),
      amount,
      senderName: customer?.senderName ?? null,
      senderAccountNumber: fullAccountNumber(customer?.accountNumber),
      senderBankCode: banks.codeOf(customer?.bankCode ?? null),
      receivedAt,
    },
  };
}

/** The fields that are signed, in their order. A response code that is missing or `null` is empty. */
function signedText({ event_type, requestId, data: { merchant, transaction } }: Event, timestamp: string): string {
  const { transactionId, type, time, responseCode } = transaction;
  const code = responseCode === null || responseCode === 'null' ? '' : responseCode;
  return [event_type, requestId, merchant.userId, merchant.walletId, transactionId, type, time, code, timestamp].join(
    ':',
  );
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
