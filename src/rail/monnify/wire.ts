// The shapes of Monnify's responses. Lenient in what they accept: numbers arrive as their text (src/rail/http.ts), an
// unknown field is ignored, and what is not needed may be missing. A value that is needed and cannot be read exactly
// makes the whole response unreadable.
import { z } from 'zod';
import type { Reply } from '../client.ts';
import { amount, fieldOfTime, maybe, reference, text } from '../fields.ts';
import type { HttpResponse } from '../http.ts';
import { timeOf } from './times.ts';

const time = fieldOfTime(timeOf);

const envelope = z.object({
  requestSuccessful: z.boolean().optional(),
  responseMessage: z.string().catch(''),
  responseCode: text,
  responseBody: z.unknown().optional(),
});

/** Null: it is not Monnify's, such as an error page of a proxy. */
export function replyOf({ status, json }: HttpResponse): Reply | null {
  const parsed = envelope.safeParse(json);
  if (!parsed.success) return null;
  const { requestSuccessful, responseMessage, responseCode, responseBody } = parsed.data;
  // In each of the three places.
  const isOk = status >= 200 && status < 300 && requestSuccessful !== false && responseCode === '0';
  return { isOk, code: responseCode, message: responseMessage, body: responseBody };
}

const seconds = z.coerce
  .number()
  .positive()
  .max(86_400 * 30);
export const loginBody = z
  .object({ accessToken: z.string().min(1).max(16_384), expiresIn: maybe(seconds) })
  .transform(({ accessToken: text, expiresIn }) => ({ text, lifeMs: expiresIn && expiresIn * 1_000 }));

const account = z.object({
  accountNumber: z.string().regex(/^[0-9]{10}$/),
  accountName: text,
  bankName: text,
  bankCode: maybe(text),
});

export const invoiceBody = account.extend({
  invoiceReference: reference,
  amount,
  invoiceStatus: text,
  expiryDate: time,
});

export const reservedAccountBody = z.object({
  accountReference: reference,
  status: maybe(text),
  accounts: z.tuple([account], account),
});

/** An empty list would make every account number of a customer one of no bank. */
export const banksBody = z
  .array(z.object({ code: text, name: text, nipBankCode: maybe(text) }))
  .min(1)
  .transform((rows) => rows.map(({ code, name, nipBankCode: nipCode }) => ({ code, name, nipCode })));

export const accountNameBody = z.object({ accountNumber: text, accountName: text });

export const balanceBody = z.object({ availableBalance: amount });

/** A transfer, as in the response to a send and in the response to a status query. */
export const transferBody = z
  .object({
    reference,
    status: text,
    amount,
    destinationAccountNumber: maybe(text),
    destinationBankCode: maybe(text),
    fee: maybe(amount),
    totalFee: maybe(amount),
    sessionId: maybe(text),
    transactionDescription: maybe(text),
    comment: maybe(text),
    twoFaEnabled: maybe(z.boolean()),
    createdOn: maybe(time),
    dateCreated: maybe(time),
  })
  .transform(({ fee, totalFee, transactionDescription, comment, createdOn, dateCreated, ...rest }) => ({
    ...rest,
    fee: fee ?? totalFee,
    message: transactionDescription ?? comment,
    createdAt: createdOn ?? dateCreated,
  }));
export type Transfer = z.infer<typeof transferBody>;

const payer = z.object({
  bankCode: maybe(text),
  accountName: maybe(text),
  accountNumber: maybe(text),
  sessionId: maybe(reference),
});

/** A collection, by its transaction reference. */
export const transactionBody = z.object({
  transactionReference: reference,
  paymentStatus: text,
  currency: text,
  amountPaid: amount,
  settlementAmount: maybe(amount),
  paidOn: maybe(time),
  product: maybe(z.object({ reference })),
  accountDetails: maybe(payer),
});

/** A page of Spring, with or without the envelope, whose rows are read one by one. */
export const rowsPage = z.object({ content: z.array(z.unknown()), last: maybe(z.boolean()) });

export const transactionRow = z.object({
  transactionReference: reference,
  paymentStatus: text,
  paymentMethod: maybe(text),
  currencyCode: z.literal('NGN').nullish(),
  amount: maybe(amount),
  amountPaid: maybe(amount),
  fee: maybe(amount),
  completedOn: maybe(time),
});
export type TransactionRow = z.infer<typeof transactionRow>;

export const walletRow = z.object({
  walletTransactionReference: reference,
  amount,
  transactionDate: time,
  transactionType: z.enum(['CREDIT', 'DEBIT']),
  narration: maybe(z.string()),
  status: text,
});
export type WalletRow = z.infer<typeof walletRow>;

/** How an event of a collection was paid: other than by a bank transfer, it is not read any further. */
export const collectionMethod = z.object({ paymentMethod: maybe(text) });

/** What an event of a collection reports. */
export const collectionEvent = z.object({
  transactionReference: reference,
  paymentMethod: text,
  paymentStatus: text,
  currency: text,
  amountPaid: amount,
  paidOn: time,
  product: z.object({ type: text, reference }),
  destinationAccountInformation: maybe(z.object({ accountNumber: maybe(text) })),
  // An array, an object, or an empty object.
  paymentSourceInformation: z.preprocess((value) => (Array.isArray(value) ? value[0] : value), maybe(payer)),
});

export const disbursementEvent = z.object({ reference });
export const rejectionEvent = z.object({
  product: z.object({ reference }),
  paymentRejectionInformation: maybe(z.object({ rejectionReason: maybe(text) })),
});
export const settlementEvent = z.object({ settlementReference: reference });
export const lowBalanceEvent = z.object({ walletAccountNumber: maybe(text) });
export const eventBody = z.object({ eventType: text, eventData: z.unknown().optional() });
