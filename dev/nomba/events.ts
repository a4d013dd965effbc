// The callbacks of the Nomba fake, signed as Nomba signs them: over some fields and a time.
import { createHmac } from 'node:crypto';
import { FAKE_CREDENTIALS } from './fakeCredentials.ts';
import { number, type Row } from './views.ts';

export interface SignedEvent {
  headers: Record<string, string>;
  body: Buffer;
}

/** The fields that the signature covers, in its order; the time of the request is the last. */
export const SIGNED_FIELDS: readonly string[] = [
  'event_type',
  'requestId',
  'data.merchant.userId',
  'data.merchant.walletId',
  'data.transaction.transactionId',
  'data.transaction.type',
  'data.transaction.time',
  'data.transaction.responseCode',
];

/** `count`: how many there were before. */
export function signedEvent(
  event: string,
  row: Row,
  now: Date,
  count: number,
  signatureKey: string = FAKE_CREDENTIALS.signatureKey,
): SignedEvent {
  const timestamp = `${now.toISOString().slice(0, 19)}Z`;
  const merchant = {
    walletId: '6a3be3c7205e698c1165a45c',
    walletBalance: 270,
    userId: 'ae5cf9f5-79f8-4472-a18a-feaac96d2022',
  };
  const requestId = `95573dd6-2a92-465c-a43a-${String(count).padStart(12, '0')}`;
  const time = `${row.at.toISOString().slice(0, 19)}Z`;
  const alias =
    row.type === 'vact_transfer'
      ? { aliasAccountNumber: row.recipient, aliasAccountReference: row.ref, aliasAccountType: 'VIRTUAL' }
      : { merchantTxRef: row.merchantTxRef };
  const body = {
    event_type: event,
    requestId,
    data: {
      merchant,
      terminal: {},
      transaction: {
        ...alias,
        fee: number(row.charge),
        sessionId: row.sessionId,
        type: row.type,
        transactionId: row.id,
        responseCode: '',
        originatingFrom: 'api',
        transactionAmount: number(row.amount),
        time,
      },
      customer: { bankCode: '305', senderName: 'CHIDI EZE', bankName: 'Paycom (Opay)', accountNumber: '0065432190' },
    },
  };
  const signed = [event, requestId, merchant.userId, merchant.walletId, row.id, row.type, time, '', timestamp].join(
    ':',
  );
  const signature = createHmac('sha256', signatureKey).update(signed).digest('base64');
  return {
    headers: { 'nomba-signature': signature, 'nomba-timestamp': timestamp },
    body: Buffer.from(JSON.stringify(body)),
  };
}
