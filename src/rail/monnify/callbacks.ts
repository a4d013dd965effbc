// Monnify's callbacks: signed with HMAC-SHA512 over the raw bytes, without a time. A callback only reports what to look
// up, so an old one has no effect. An event that is not about our money is accepted and ignored, because Monnify
// repeats what is not accepted.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import type { BankList } from '../bankList.ts';
import { RailCallbackInvalidError } from '../errors.ts';
import { parseJson } from '../http.ts';
import type { CallbackRequest, RailCallback, RailNotice } from '../port.ts';
import { fullAccountNumber, safeMessage } from '../texts.ts';
import type { MonnifyCredentials } from './client.ts';
import { paymentStatusOf } from './outcomes.ts';
import {
  collectionEvent,
  collectionMethod,
  disbursementEvent,
  eventBody,
  lowBalanceEvent,
  rejectionEvent,
  settlementEvent,
} from './wire.ts';

const SIGNATURE_HEADER = 'monnify-signature';

/** The products that have account numbers which we opened. */
const ACCOUNT_PRODUCTS: ReadonlySet<string> = new Set(['INVOICE', 'RESERVED_ACCOUNT']);

export function parseCallback(
  { secretKey, walletAccountNumber }: MonnifyCredentials,
  banks: BankList,
  { headers, body }: Pick<CallbackRequest, 'headers' | 'body'>,
): RailCallback[] {
  checkSignature(secretKey, headers[SIGNATURE_HEADER], body);
  const parsed = eventBody.safeParse(parseJson(body));
  if (!parsed.success) throw new RailCallbackInvalidError('the body is not an event');
  const { eventType, eventData } = parsed.data;
  const ignored: RailCallback = { kind: 'ignored', event: eventType.slice(0, 50) };
  switch (eventType) {
    case 'SUCCESSFUL_TRANSACTION': {
      const { paymentMethod } = required(collectionMethod, eventData);
      if (paymentMethod !== null && paymentMethod !== 'ACCOUNT_TRANSFER') return [ignored];
      return [creditOf(required(collectionEvent, eventData), banks) ?? ignored];
    }
    case 'SUCCESSFUL_DISBURSEMENT':
    case 'FAILED_DISBURSEMENT':
    case 'REVERSED_DISBURSEMENT':
      return [{ kind: 'transfer_update', reference: required(disbursementEvent, eventData).reference }];
    case 'REJECTED_PAYMENT':
      return [rejectionOf(required(rejectionEvent, eventData))];
    case 'SETTLEMENT':
      return [noticeOf('settled', required(settlementEvent, eventData).settlementReference)];
    case 'LOW_BALANCE_ALERT': {
      const { walletAccountNumber: wallet } = required(lowBalanceEvent, eventData);
      return [wallet === null || wallet === walletAccountNumber ? noticeOf('low_balance', null) : ignored];
    }
    default:
      return [ignored];
  }
}

const noticeOf = (notice: RailNotice, reference: string | null) => ({ kind: 'notice' as const, notice, reference });

/** A payer sent another amount, which goes back. */
const rejectionOf = ({ product, paymentRejectionInformation: why }: z.infer<typeof rejectionEvent>): RailCallback => ({
  ...noticeOf('payment_rejected', product.reference),
  providerMessage: safeMessage(why?.rejectionReason ?? null),
});

/** Null: not money that was paid into an account number of ours. */
function creditOf(event: z.infer<typeof collectionEvent>, banks: BankList): RailCallback | null {
  const { transactionReference: sessionId, amountPaid: amount, product, paidOn: receivedAt } = event;
  const hasNotCome = ['pending', 'failed'].includes(paymentStatusOf(event.paymentStatus) ?? '');
  if (!ACCOUNT_PRODUCTS.has(product.type) || hasNotCome || event.currency !== 'NGN' || amount <= 0) return null;
  const payer = event.paymentSourceInformation;
  const accountNumber = fullAccountNumber(event.destinationAccountInformation?.accountNumber);
  return {
    kind: 'inbound_credit',
    sessionId,
    hint: { accountReference: product.reference, accountNumber, amount, receivedAt },
    // The look-up masks the account number.
    sender: {
      senderName: payer?.accountName ?? null,
      senderAccountNumber: fullAccountNumber(payer?.accountNumber),
      senderBankCode: banks.codeOf(payer?.bankCode ?? null),
      senderSessionId: payer?.sessionId ?? null,
    },
  };
}

function checkSignature(secretKey: string, header: string | string[] | undefined, body: Buffer): void {
  const given = typeof header === 'string' ? header.toLowerCase() : '';
  if (!/^[0-9a-f]{128}$/.test(given))
    throw new RailCallbackInvalidError('the signature header is missing or malformed');
  const expected = createHmac('sha512', secretKey).update(body).digest();
  if (!timingSafeEqual(Buffer.from(given, 'hex'), expected)) {
    throw new RailCallbackInvalidError('the signature does not match the body');
  }
}

/** A signed event that is not as documented is refused, so that it is repeated and seen (`RailCallbacksInvalid`). */
function required<Data>(schema: z.ZodType<Data>, data: unknown): Data {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.'));
  throw new RailCallbackInvalidError(`the event lacks fields or has invalid ones: ${fields.slice(0, 5).join(', ')}`);
}
