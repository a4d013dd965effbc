// The shapes of Nomba's responses. Only the code `00` is a success, whatever the HTTP status is.
import { z } from 'zod';
import { readTime } from '../../times.ts';
import type { Reply } from '../client.ts';
import { amount, fieldOfTime, maybe, reference, roundedAmount, text } from '../fields.ts';
import type { HttpResponse } from '../http.ts';

/** Times have a zone; those of lists may lack it and are in UTC. */
export const timeOf = (value: string): Date | null => readTime(value, 0);
const time = fieldOfTime(timeOf);

const envelope = z.object({ code: text, description: z.string().catch(''), data: z.unknown().optional() });

/** Null: it is not Nomba's, such as an error page of a proxy. */
export function replyOf({ status, json }: HttpResponse): Reply | null {
  const parsed = envelope.safeParse(json);
  if (!parsed.success) return null;
  const { code, description, data } = parsed.data;
  return { isOk: status >= 200 && status < 300 && code === '00', code, message: description, body: data };
}

export const tokenData = z.object({ access_token: z.string().min(1).max(16_384), expiresAt: maybe(time) });

export const accountData = z.object({
  accountRef: reference,
  bankAccountNumber: z.string().regex(/^[0-9]{10}$/),
  bankAccountName: text,
  bankName: text,
  expired: maybe(z.boolean()),
});

/** An empty list would make every account number of a customer one of no bank. */
const bankRows = z.array(z.object({ code: text, name: text }).transform((row) => ({ ...row, nipCode: null }))).min(1);
/** Documented in both shapes. */
export const banksData = z.union([bankRows, z.object({ results: bankRows }).transform(({ results }) => results)]);
export const lookupData = z.object({ accountNumber: text, accountName: text });
export const balanceData = z.object({ amount });

/** The response to a send. */
export const sendData = z.object({
  status: text,
  amount,
  fee: maybe(amount),
  meta: maybe(z.object({ merchantTxRef: maybe(reference) })),
});

/** A transaction, as in lists and in a requery. */
export const transaction = z.object({
  id: reference,
  status: text,
  type: text,
  /** The direction, of a row of an account number. */
  entryType: z.unknown(),
  amount,
  fixedCharge: maybe(amount),
  timeCreated: time,
  merchantTxRef: maybe(reference),
  sessionId: maybe(reference),
  paymentVendorReference: maybe(reference),
  gatewayMessage: maybe(text),
  recipientAccountNumber: maybe(text),
  senderName: maybe(text),
  accountNumber: maybe(text),
  bankCode: maybe(text),
});
export type Transaction = z.infer<typeof transaction>;

export const transactionsData = z.object({ results: z.array(transaction), cursor: maybe(z.string()) });

/** A transaction of a list, which may have no amount yet. A fraction of a kobo of a charge is rounded. */
export const listedTransaction = transaction.extend({ amount: maybe(amount), fixedCharge: maybe(roundedAmount) });
export type ListedTransaction = z.infer<typeof listedTransaction>;

/** A page, whose rows are read one by one. A cursor of another type would end the list before its rows do. */
export const transactionsPage = z.object({ results: z.array(z.unknown()), cursor: z.string().nullish() });

/** A response code that is missing or `null` is signed as an empty text; so is, here, any other field. */
const signedField = z
  .string()
  .catch('')
  .transform((value) => (value === 'null' ? '' : value));

/** What the signature of a callback covers, and what else is read of it. */
export const event = z.object({
  event_type: text,
  requestId: text,
  data: z.object({
    merchant: z.object({ userId: signedField, walletId: signedField }).catch({ userId: '', walletId: '' }),
    transaction: z.object({
      transactionId: signedField,
      type: signedField,
      time: signedField,
      responseCode: signedField,
      sessionId: maybe(reference),
      merchantTxRef: maybe(reference),
      transactionAmount: maybe(amount),
      aliasAccountNumber: maybe(text),
      aliasAccountReference: maybe(reference),
    }),
  }),
});
export type Event = z.infer<typeof event>;
