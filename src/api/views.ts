// Resource views: the fields of contract section 2, built from rows. A row is never returned to a caller directly.
import { publicId, type Uuid } from '../ids.ts';
import { isoTime } from '../ledger/isoTime.ts';
import { CURRENCY } from '../money.ts';
import type { Event } from '../resources/events.ts';
import type { ListedCredit } from '../resources/inboundCredits/queries.ts';
import { type PaymentWithAccount, payableAmount } from '../resources/payments/queries.ts';
import type { PayoutItem, PayoutWithItems } from '../resources/payouts/queries.ts';
import type { Refund } from '../resources/refunds/queries.ts';
import type { Transfer } from '../resources/transfers/queries.ts';
import type { StatementLine, Wallet } from '../resources/wallets/queries.ts';
import type { VirtualAccountRow } from '../resources/wallets/virtualAccounts.ts';
import type { Withdrawal } from '../resources/withdrawals/queries.ts';
import type { Delivery } from '../webhooks/deliveries.ts';
import type { WebhookEndpoint } from '../webhooks/endpoints.ts';

const timestamp = (at: Date | null): string | null => at && isoTime(at);

export const walletView = (wallet: Omit<Wallet, 'accountId' | 'balance' | 'postingMax'>) => ({
  id: publicId('wallet', wallet.id),
  kind: wallet.kind,
  email: wallet.email,
  fullName: wallet.fullName,
  phone: wallet.phone,
  externalReference: wallet.externalReference,
  kycStatus: wallet.kycStatus,
  status: wallet.status,
  currency: CURRENCY,
  createdAt: timestamp(wallet.createdAt),
});

export const balanceView = (walletId: Uuid, balance: number) => ({
  walletId: publicId('wallet', walletId),
  balance,
  currency: CURRENCY,
});

export const virtualAccountView = (
  account: Pick<VirtualAccountRow, 'accountNumber' | 'bankName' | 'accountName' | 'expiresAt'>,
) => ({
  accountNumber: account.accountNumber,
  bankName: account.bankName,
  accountName: account.accountName,
  expiresAt: timestamp(account.expiresAt),
});

export const statementLineView = (line: StatementLine) => ({
  transactionId: publicId('transaction', line.transactionId),
  kind: line.kind,
  resourceId: line.resource,
  direction: line.direction,
  amount: line.amount,
  balanceAfter: line.balanceAfter,
  currency: CURRENCY,
  effectiveAt: timestamp(line.effectiveAt),
  createdAt: timestamp(line.createdAt),
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
  expiresAt: timestamp(payment.expiresAt),
  settledAt: timestamp(payment.settledAt),
  createdAt: timestamp(payment.createdAt),
  virtualAccount: payment.account === null ? null : virtualAccountView(payment.account),
});

/** An inbound credit: the amount, its sender and its current status. */
export const creditView = (credit: ListedCredit) => ({
  id: publicId('inboundCredit', credit.id),
  amount: credit.amount,
  currency: CURRENCY,
  sessionId: credit.sessionId,
  sender: {
    name: credit.senderName,
    accountNumber: credit.senderAccountNumber,
    bankCode: credit.senderBankCode,
  },
  status: creditStatus(credit),
  reviewCaseId: credit.reviewCaseId && publicId('reviewCase', credit.reviewCaseId),
  reviewReason: credit.reviewReason,
  receivedAt: timestamp(credit.receivedAt),
  createdAt: timestamp(credit.createdAt),
});

/**
 * The public status of a credit: that of its review case, where it has one. The case of a surplus concerns only part of
 * the credit, so the credit keeps its own status. A status without an entry below is returned unchanged.
 */
function creditStatus({ status, recall, reviewReason, reviewStatus }: ListedCredit): string {
  if (recall === 'posted') return 'recalled';
  if (reviewStatus === null || reviewReason === 'surplus_over_limit') return CREDIT_STATUSES[status] ?? status;
  return CASE_STATUSES[reviewStatus] ?? reviewStatus;
}

const CREDIT_STATUSES: Readonly<Record<string, string>> = { suspense: 'in_review' };
const CASE_STATUSES: Readonly<Record<string, string>> = { open: 'in_review', returning: 'in_review' };

export const transferView = (transfer: Transfer) => ({
  id: publicId('transfer', transfer.id),
  sourceWalletId: publicId('wallet', transfer.sourceWalletId),
  destinationWalletId: publicId('wallet', transfer.destinationWalletId),
  amount: transfer.amount,
  fee: transfer.fee,
  status: transfer.status,
  description: transfer.description,
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
  failureReason: row.failureReason,
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
  failureReason: refund.failureReason,
  currency: CURRENCY,
  createdAt: timestamp(refund.createdAt),
  completedAt: timestamp(refund.completedAt),
});

export const payoutView = (payout: PayoutWithItems) => {
  const count = (status: PayoutItem['status']) => payout.items.filter((item) => item.status === status).length;
  return {
    id: publicId('payout', payout.id),
    sourceWalletId: publicId('wallet', payout.sourceWalletId),
    totalAmount: payout.totalAmount,
    totalFee: payout.totalFee,
    itemCount: payout.itemCount,
    successCount: count('completed'),
    failureCount: count('failed'),
    status: payout.status,
    items: payout.items.map(payoutItemView),
    currency: CURRENCY,
    createdAt: timestamp(payout.createdAt),
  };
};

const payoutItemView = (item: PayoutItem) => ({
  id: publicId('payoutItem', item.id),
  amount: item.amount,
  fee: item.fee,
  status: item.status,
  counterparty: { accountNumber: item.accountNumber, accountName: item.accountName, bankCode: item.bankCode },
  failureReason: item.failureReason,
});

export const webhookEndpointView = (endpoint: WebhookEndpoint) => ({
  id: publicId('webhookEndpoint', endpoint.id),
  url: endpoint.url,
  description: endpoint.description,
  eventTypes: endpoint.eventTypes,
  status: endpoint.status,
  previousSecretExpiresAt: timestamp(endpoint.previousSecretUntil),
  createdAt: timestamp(endpoint.createdAt),
});

/** The event envelope of contract section 6, the same as in webhooks. */
export const eventView = (event: Event) => ({
  id: publicId('event', event.id),
  type: event.type,
  createdAt: timestamp(event.createdAt),
  data: event.data,
});

export const deliveryView = (delivery: Delivery) => ({
  eventId: publicId('event', delivery.eventId),
  endpointId: publicId('webhookEndpoint', delivery.endpointId),
  status: delivery.status,
  failureReason: delivery.failureReason,
  nextAttemptAt: timestamp(delivery.nextAttemptAt),
  deliveredAt: timestamp(delivery.deliveredAt),
  createdAt: timestamp(delivery.createdAt),
  attempts: delivery.attempts.map((attempt) => ({
    attemptedAt: timestamp(attempt.attemptedAt),
    durationMs: attempt.durationMs,
    responseStatus: attempt.responseStatus,
    responseBody: attempt.responseBody,
    error: attempt.error,
  })),
});
