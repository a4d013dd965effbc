// What the Monnify fake shows of its books, in the shapes of Monnify's documentation: amounts are numbers here and
// texts there, and times have several formats.
import {
  type Collection,
  type FakeTransfer,
  type Invoice,
  lagosTime,
  naira,
  nairaText,
  type ReservedAccount,
  type WalletEntry,
} from './book.ts';
import { FAKE_CREDENTIALS } from './fakeCredentials.ts';

const isoTime = (time: Date): string => time.toISOString().replace('Z', '+00:00');

export const invoiceView = (invoice: Invoice): object => ({
  amount: naira(invoice.amount),
  invoiceReference: invoice.reference,
  invoiceStatus: invoice.status,
  description: invoice.description,
  contractCode: FAKE_CREDENTIALS.contractCode,
  customerEmail: invoice.customerEmail,
  customerName: invoice.customerName,
  expiryDate: invoice.expiryDate,
  createdBy: FAKE_CREDENTIALS.apiKey,
  createdOn: lagosTime(invoice.createdAt).slice(0, 19),
  checkoutUrl: `https://sandbox.sdk.monnify.com/checkout/${invoice.transactionReference}`,
  accountNumber: invoice.accountNumber,
  accountName: invoice.description,
  bankName: 'Wema bank',
  bankCode: '035',
  redirectUrl: null,
  transactionReference: invoice.transactionReference,
});

export const reservedView = (account: ReservedAccount): object => ({
  contractCode: FAKE_CREDENTIALS.contractCode,
  accountReference: account.reference,
  accountName: account.accountName,
  currencyCode: 'NGN',
  accounts: [
    {
      bankCode: '50515',
      bankName: 'Moniepoint Microfinance Bank',
      accountNumber: account.accountNumber,
      accountName: account.accountName,
    },
  ],
  collectionChannel: 'RESERVED_ACCOUNT',
  reservationReference: `R${account.accountNumber}`,
  reservedAccountType: 'GENERAL',
  status: account.status,
  createdOn: lagosTime(account.createdAt),
  incomeSplitConfig: [],
  restrictPaymentSource: false,
});

export const sendView = (transfer: FakeTransfer): object => ({
  amount: naira(transfer.amount),
  reference: transfer.reference,
  status: transfer.steps[0]?.status,
  dateCreated: isoTime(transfer.createdAt).replace('+00:00', '+0000'),
  totalFee: naira(transfer.fee),
  destinationAccountName: transfer.accountName,
  destinationBankName: 'GTBank',
  destinationAccountNumber: transfer.accountNumber,
  destinationBankCode: transfer.bankCode,
  comment: transfer.steps[0]?.comment,
});

export const summaryView = (transfer: FakeTransfer): object => ({
  amount: naira(transfer.amount),
  reference: transfer.reference,
  narration: transfer.narration,
  currency: 'NGN',
  fee: naira(transfer.fee),
  twoFaEnabled: transfer.twoFaEnabled,
  status: transfer.steps[0]?.status,
  transactionDescription: transfer.steps[0]?.comment ?? 'Transaction in progress',
  transactionReference: transfer.transactionReference,
  createdOn: isoTime(transfer.createdAt),
  sourceAccountNumber: FAKE_CREDENTIALS.walletAccountNumber,
  destinationAccountNumber: transfer.accountNumber,
  destinationAccountName: transfer.accountName,
  destinationBankCode: transfer.bankCode,
  destinationBankName: 'GTBank',
});

const HAS_COME: ReadonlySet<string> = new Set(['PAID', 'PARTIALLY_PAID', 'OVERPAID', 'REVERSED']);

/** Amounts are texts here; the sender's account number is masked; there is no destination account. */
export const transactionView = (one: Collection): object => ({
  transactionReference: one.transactionReference,
  paymentReference: one.transactionReference,
  amountPaid: nairaText(one.amount),
  totalPayable: nairaText(one.amount),
  settlementAmount: HAS_COME.has(one.status) ? nairaText(one.amount - one.fee) : null,
  paidOn: HAS_COME.has(one.status) ? lagosTime(one.paidAt) : null,
  paymentStatus: one.status,
  paymentDescription: 'Payment',
  currency: 'NGN',
  paymentMethod: one.paymentMethod,
  product: { type: one.productType, reference: one.productReference },
  cardDetails: null,
  accountDetails: {
    accountName: one.payer.name,
    accountNumber: `******${one.payer.accountNumber.slice(-4)}`,
    bankCode: one.payer.bankCode,
    amountPaid: nairaText(one.amount),
  },
  accountPayments: [],
  customer: { name: 'Ada Obi', email: 'ada@example.com' },
});

export const rowView = (one: Collection): object => ({
  customerDTO: { email: 'ada@example.com', name: 'Ada Obi' },
  paymentMethod: one.paymentMethod,
  createdOn: isoTime(one.createdAt),
  amount: naira(one.amount),
  amountPaid: naira(one.amount),
  fee: naira(one.fee),
  currencyCode: 'NGN',
  completedOn: HAS_COME.has(one.status) ? isoTime(one.paidAt) : null,
  paymentStatus: one.status,
  transactionReference: one.transactionReference,
  paymentReference: one.transactionReference,
  merchantName: 'Manilla',
  completed: true,
});

export const entryView = (entry: WalletEntry): object => ({
  walletTransactionReference: entry.reference,
  monnifyTransactionReference: entry.reference,
  availableBalanceBefore: naira(entry.balanceBefore),
  availableBalanceAfter: naira(entry.balanceAfter),
  amount: naira(entry.amount),
  transactionDate: isoTime(entry.at),
  transactionType: entry.type,
  message: null,
  narration: entry.narration,
  status: 'COMPLETED',
});
