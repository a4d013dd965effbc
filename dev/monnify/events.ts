// The callbacks of the Monnify fake, in the shapes of Monnify's documentation, signed over the bytes that are sent.
import { createHmac } from 'node:crypto';
import {
  type Collection,
  type FakeTransfer,
  type Invoice,
  lagosTime,
  lagosTimeForPeople,
  naira,
  nairaText,
} from './book.ts';

export interface SignedEvent {
  headers: Record<string, string>;
  body: Buffer;
}

export function signEvent(event: object, secretKey: string): SignedEvent {
  const body = Buffer.from(JSON.stringify(event));
  const signature = createHmac('sha512', secretKey).update(body).digest('hex');
  return { headers: { 'content-type': 'application/json', 'monnify-signature': signature }, body };
}

type Payer = Collection['payer'];

const sourceOf = ({ name, accountNumber, bankCode }: Payer, amount: bigint): object => ({
  bankCode,
  amountPaid: naira(amount),
  accountName: name,
  sessionId: 'e6cV1smlpkwG38Cg6d5F9B2PRnIq5FqA',
  accountNumber,
});

export const collectionEvent = (collection: Collection): object => ({
  eventType: 'SUCCESSFUL_TRANSACTION',
  eventData: {
    product: { reference: collection.productReference, type: collection.productType },
    transactionReference: collection.transactionReference,
    paymentReference: collection.transactionReference,
    paidOn: lagosTime(collection.paidAt),
    paymentDescription: 'Payment',
    metaData: {},
    paymentSourceInformation: [sourceOf(collection.payer, collection.amount)],
    destinationAccountInformation: {
      bankCode: '035',
      bankName: 'Wema bank',
      accountNumber: collection.accountNumber,
    },
    amountPaid: naira(collection.amount),
    totalPayable: naira(collection.amount),
    cardDetails: {},
    paymentMethod: collection.paymentMethod,
    currency: 'NGN',
    settlementAmount: nairaText(collection.amount - collection.fee),
    paymentStatus: collection.status,
    customer: { name: 'Ada Obi', email: 'ada@example.com' },
  },
});

export const rejectionEvent = (invoice: Invoice, paid: bigint, payer: Payer, at: Date): object => ({
  eventType: 'REJECTED_PAYMENT',
  eventData: {
    product: { reference: invoice.reference, type: 'INVOICE' },
    amount: naira(invoice.amount),
    paymentSourceInformation: sourceOf(payer, paid),
    transactionReference: invoice.transactionReference,
    created_on: lagosTime(at),
    paymentReference: invoice.reference,
    paymentRejectionInformation: {
      bankCode: '035',
      destinationAccountNumber: invoice.accountNumber,
      bankName: 'Wema bank',
      rejectionReason: paid < invoice.amount ? 'UNDER_PAYMENT' : 'OVER_PAYMENT',
      expectedAmount: naira(invoice.amount),
    },
    paymentDescription: invoice.description,
    customer: { name: invoice.customerName, email: invoice.customerEmail },
  },
});

const ENDINGS: Record<string, string> = {
  SUCCESS: 'SUCCESSFUL_DISBURSEMENT',
  COMPLETED: 'SUCCESSFUL_DISBURSEMENT',
  FAILED: 'FAILED_DISBURSEMENT',
  REVERSED: 'REVERSED_DISBURSEMENT',
};

/** Null: a transfer in progress is not reported of. */
export function disbursementEvent(transfer: FakeTransfer, at: Date): object | null {
  const step = transfer.steps[0];
  const eventType = ENDINGS[step?.status ?? ''];
  if (eventType === undefined) return null;
  return {
    eventType,
    eventData: {
      amount: naira(transfer.amount),
      transactionReference: transfer.transactionReference,
      fee: naira(transfer.fee),
      transactionDescription: step?.comment ?? 'Approved or completed successfully',
      destinationAccountNumber: transfer.accountNumber,
      sessionId: '090405210317032336726272971260',
      createdOn: lagosTimeForPeople(transfer.createdAt),
      destinationAccountName: transfer.accountName,
      reference: transfer.reference,
      destinationBankCode: transfer.bankCode,
      completedOn: lagosTimeForPeople(at),
      narration: transfer.narration,
      currency: 'NGN',
      destinationBankName: 'GTBank',
      status: step?.status,
    },
  };
}

export const settlementEvent = (
  settlement: { reference: string; amount: bigint; collections: readonly Collection[] },
  at: Date,
): object => ({
  eventType: 'SETTLEMENT',
  eventData: {
    amount: nairaText(settlement.amount),
    settlementTime: lagosTimeForPeople(at),
    settlementReference: settlement.reference,
    destinationAccountNumber: '8016472829',
    destinationBankName: 'Moniepoint Microfinance Bank',
    destinationAccountName: 'Manilla',
    transactionsCount: settlement.collections.length,
    transactions: settlement.collections.map((one) => ({
      product: { reference: one.productReference, type: one.productType },
      transactionReference: one.transactionReference,
      paymentReference: one.transactionReference,
      paidOn: lagosTimeForPeople(one.paidAt),
      amountPaid: nairaText(one.amount),
      totalPayable: nairaText(one.amount),
      paymentMethod: one.paymentMethod,
      currency: 'NGN',
      paymentStatus: 'PAID',
    })),
  },
});

export const lowBalanceEvent = (walletAccountNumber: string): object => ({
  eventType: 'LOW_BALANCE_ALERT',
  eventData: {
    transactionTime: '2026-11-01T23:13:19Z',
    merchantCode: '99ZYAFM0F3CY',
    walletAccountNumber,
    walletBalance: 0,
    lowBalanceThreshold: 2000,
    currency: 'NGN',
    description: 'Your wallet balance has dropped below the configured threshold. Please fund your account.',
  },
});
