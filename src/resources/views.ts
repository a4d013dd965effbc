// The public fields of the resources that move money (contract, section 2): what the API returns, and what their events
// carry. Their schemas are in src/api/contract/resources.ts, which src/api/views.ts holds them to.
import { publicId } from '../ids.ts';
import { isoTime } from '../ledger/isoTime.ts';
import { CURRENCY } from '../money.ts';
import type { InboundCredit } from './inboundCredits/queries.ts';
import { type PaymentWithAccount, payableAmount } from './payments/queries.ts';
import type { Payout, PayoutItem } from './payouts/queries.ts';
import type { Attached } from './references.ts';
import type { Refund } from './refunds/queries.ts';
import { keyActions } from './reviewCases/actions.ts';
import type { ReviewCase } from './reviewCases/queries.ts';
import type { Transfer } from './transfers/queries.ts';
import type { VirtualAccountRow } from './wallets/virtualAccounts.ts';
import type { Withdrawal } from './withdrawals/queries.ts';

export const timestamp = <At extends Date | null>(at: At) =>
  (at && isoTime(at)) as At extends Date ? string : string | null;

const attached = ({ reference, metadata }: Attached) => ({ reference, metadata: metadata ?? {} });

export const virtualAccountView = (
  account: Pick<VirtualAccountRow, 'accountNumber' | 'bankName' | 'accountName' | 'expiresAt'>,
) => ({
  accountNumber: account.accountNumber,
  bankName: account.bankName,
  accountName: account.accountName,
  expiresAt: timestamp(account.expiresAt),
});

export const paymentView = (payment: PaymentWithAccount) => ({
  id: publicId('payment', payment.id),
  method: payment.method,
  status: payment.status,
  baseAmount: payment.baseAmount,
  fee: payment.fee,
  payableAmount: payableAmount(payment),
  amountReceived: payment.amountReceived,
  currency: CURRENCY,
  targetWalletId: publicId('wallet', payment.targetWalletId),
  description: payment.description,
  onMismatch: payment.onMismatch,
  returnUrl: payment.returnUrl,
  ...attached(payment),
  expiresAt: timestamp(payment.expiresAt),
  settledAt: timestamp(payment.settledAt),
  createdAt: timestamp(payment.createdAt),
  virtualAccount: payment.account === null ? null : virtualAccountView(payment.account),
  acceptsAmount: payment.account?.acceptsAmount ?? ('exact' as const),
});

/** Who sent an inbound credit; null where the bank did not report it. */
export const senderView = (credit: InboundCredit) => ({
  name: credit.senderName,
  accountNumber: credit.senderAccountNumber,
  bankCode: credit.senderBankCode,
});

/** The credit that caused an event. */
export const creditSummary = (credit: InboundCredit) => ({
  id: publicId('inboundCredit', credit.id),
  amount: credit.amount,
  sessionId: credit.sessionId,
  sender: senderView(credit),
  receivedAt: timestamp(credit.receivedAt),
});

export const transferView = (transfer: Transfer) => ({
  id: publicId('transfer', transfer.id),
  sourceWalletId: publicId('wallet', transfer.sourceWalletId),
  destinationWalletId: publicId('wallet', transfer.destinationWalletId),
  amount: transfer.amount,
  fee: transfer.fee,
  status: transfer.status,
  description: transfer.description,
  ...attached(transfer),
  currency: CURRENCY,
  createdAt: timestamp(transfer.createdAt),
});

export const withdrawalView = (row: Withdrawal) => ({
  id: publicId('withdrawal', row.id),
  sourceWalletId: publicId('wallet', row.sourceWalletId),
  amount: row.amount,
  fee: row.fee,
  totalAmount: row.amount + row.fee,
  status: row.status,
  counterparty: {
    accountNumber: row.accountNumber,
    accountName: row.accountName,
    bankCode: row.bankCode,
    bankName: row.bankName,
  },
  ...attached(row),
  failureCode: row.failureCode,
  failureReason: row.failureReason,
  sessionId: row.sessionId,
  currency: CURRENCY,
  createdAt: timestamp(row.createdAt),
  completedAt: timestamp(row.completedAt),
});

export const refundView = (refund: Refund) => ({
  id: publicId('refund', refund.id),
  paymentId: publicId('payment', refund.paymentId),
  amount: refund.amount,
  destination: refund.destination,
  status: refund.status,
  ...attached(refund),
  failureCode: refund.failureCode,
  failureReason: refund.failureReason,
  sessionId: refund.sessionId,
  currency: CURRENCY,
  createdAt: timestamp(refund.createdAt),
  completedAt: timestamp(refund.completedAt),
});

/** A payout without its items: up to a thousand are too many for an event. */
export const payoutSummaryView = (payout: Payout, counts: { completed: number; failed: number }) => ({
  id: publicId('payout', payout.id),
  sourceWalletId: publicId('wallet', payout.sourceWalletId),
  totalAmount: payout.totalAmount,
  totalFee: payout.totalFee,
  itemCount: payout.itemCount,
  successCount: counts.completed,
  failureCount: counts.failed,
  status: payout.status,
  ...attached(payout),
  currency: CURRENCY,
  createdAt: timestamp(payout.createdAt),
});

export const payoutItemView = (item: PayoutItem) => ({
  id: publicId('payoutItem', item.id),
  amount: item.amount,
  fee: item.fee,
  status: item.status,
  reference: item.reference,
  destinationWalletId: item.destinationWalletId === null ? null : publicId('wallet', item.destinationWalletId),
  counterparty: { accountNumber: item.accountNumber, accountName: item.accountName, bankCode: item.bankCode },
  failureCode: item.failureCode,
  failureReason: item.failureReason,
  sessionId: item.sessionId,
});

export const reviewCaseView = (row: ReviewCase) => ({
  id: publicId('reviewCase', row.id),
  reason: row.reason,
  status: row.status,
  amount: row.amount,
  currency: CURRENCY,
  paymentId: row.paymentId && publicId('payment', row.paymentId),
  walletId: row.walletId && publicId('wallet', row.walletId),
  inboundCreditId: row.inboundCreditId && publicId('inboundCredit', row.inboundCreditId),
  actions: keyActions(row),
  returnFailure: row.failure,
  returnFailureReason: row.failureReason,
  createdAt: timestamp(row.createdAt),
  resolvedAt: timestamp(row.resolvedAt),
});
