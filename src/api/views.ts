// Resource views: the fields of contract section 2, built from rows. A row is never returned to a caller directly.
// Their types are those of the schemas in contract/, from which the OpenAPI document is made. Those that events carry
// too are in src/resources/views.ts, and are checked against the schema where a route uses them.
import type { z } from 'zod';
import { publicId, type Uuid } from '../ids.ts';
import { componentOf } from '../ledger/components.ts';
import type { PostedTransaction } from '../ledger/transactions.ts';
import { CURRENCY } from '../money.ts';
import { type ApiKeyRow, keyStatus } from '../resources/apiKeys.ts';
import type { Event } from '../resources/events.ts';
import type { ListedCredit } from '../resources/inboundCredits/queries.ts';
import type { PaymentWithAccount } from '../resources/payments/queries.ts';
import type { PayoutItem, PayoutWithItems } from '../resources/payouts/queries.ts';
import type { RequestLogRow } from '../resources/requestLogs.ts';
import * as views from '../resources/views.ts';
import { timestamp } from '../resources/views.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import type { StatementLine } from '../resources/wallets/statement.ts';
import type { Delivery } from '../webhooks/deliveries.ts';
import { checkoutUrl, type LinkedCall } from './checkout/link.ts';
import type { apiKey, requestLog } from './contract/answers.ts';
import type * as events from './contract/events.ts';
import type * as ledger from './contract/ledger.ts';
import type * as resources from './contract/resources.ts';
import { REQUEST_ID_PREFIX } from './envelope.ts';

export {
  payoutItemView,
  refundView,
  reviewCaseView,
  transferView,
  virtualAccountView,
  withdrawalView,
} from '../resources/views.ts';
export { webhookEndpointView } from '../webhooks/endpoints.ts';

type Schemas = typeof resources & typeof ledger;
type View<Name extends keyof Schemas> = z.infer<Schemas[Name]>;
type EventView<Name extends 'event' | 'delivery' | 'webhookEndpoint'> = z.infer<(typeof events)[Name]>;

export const walletView = (wallet: Omit<Wallet, 'accountId' | 'balance' | 'postingMax'>): View<'wallet'> => ({
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

export const balanceView = (walletId: Uuid, balance: number): View<'walletBalance'> => ({
  walletId: publicId('wallet', walletId),
  balance,
  currency: CURRENCY,
});

/** The id of a posting: its place in its transaction. */
const lineId = (transactionId: Uuid, place: number): string => `${publicId('transaction', transactionId)}/${place}`;

export const transactionView = (transaction: PostedTransaction): View<'transaction'> => ({
  id: publicId('transaction', transaction.id),
  kind: transaction.kind,
  resourceId: transaction.resource,
  reversesTransactionId: transaction.reverses && publicId('transaction', transaction.reverses),
  postings: transaction.postings.map(({ debit, credit, amount }, index, { length }) => ({
    id: lineId(transaction.id, index + 1),
    debitAccount: debit,
    creditAccount: credit,
    amount,
    component: componentOf({ kind: transaction.kind, place: index + 1, count: length, debit, credit }),
  })),
  currency: CURRENCY,
  effectiveAt: timestamp(transaction.effectiveAt),
  createdAt: timestamp(transaction.createdAt),
});

export const statementLineView = (line: StatementLine): View<'statementLine'> => ({
  id: lineId(line.transactionId, line.place),
  transactionId: publicId('transaction', line.transactionId),
  kind: line.kind,
  resourceId: line.resource,
  payoutItemId: line.payoutItemId && publicId('payoutItem', line.payoutItemId),
  direction: line.direction,
  component: line.component,
  amount: line.amount,
  counterparty: line.counterparty && {
    ...line.counterparty,
    walletId: line.counterparty.walletId && publicId('wallet', line.counterparty.walletId),
  },
  description: line.description,
  reference: line.reference,
  balanceAfter: line.balanceAfter,
  currency: CURRENCY,
  effectiveAt: timestamp(line.effectiveAt),
  createdAt: timestamp(line.createdAt),
});

/** With the address of the payment's page, which events do not have: it is for the payer. */
export const paymentView = (payment: PaymentWithAccount, call: LinkedCall): View<'payment'> => ({
  ...views.paymentView(payment),
  checkoutUrl: checkoutUrl(call, payment),
});

/** An inbound credit: the amount, its sender and its current status. */
export const creditView = (credit: ListedCredit): View<'credit'> => ({
  id: publicId('inboundCredit', credit.id),
  amount: credit.amount,
  currency: CURRENCY,
  sessionId: credit.sessionId,
  sender: views.senderView(credit),
  status: creditStatus(credit),
  reviewCaseId: credit.reviewCaseId && publicId('reviewCase', credit.reviewCaseId),
  reviewReason: credit.reviewReason,
  receivedAt: timestamp(credit.receivedAt),
  createdAt: timestamp(credit.createdAt),
});

/**
 * The public status of a credit: that of its review case, where it has one. The case of a surplus concerns only part of
 * the credit, so the credit keeps its own status.
 */
function creditStatus({ status, recall, reviewReason, reviewStatus }: ListedCredit): CreditStatus {
  if (recall === 'posted') return 'recalled';
  if (reviewStatus === null || reviewReason === 'surplus_over_limit') return CREDIT_STATUSES[status];
  return reviewStatus === 'open' || reviewStatus === 'returning' ? 'in_review' : reviewStatus;
}

type CreditStatus = View<'creditStatus'>;

/** A credit that is set aside has a review case, whose status is then the public one. */
const CREDIT_STATUSES: Readonly<Record<ListedCredit['status'], CreditStatus>> = {
  received: 'received',
  posted: 'posted',
  suspense: 'in_review',
  set_aside: 'in_review',
  recalled: 'recalled',
};

export const payoutView = (payout: PayoutWithItems): View<'payout'> => {
  const count = (status: PayoutItem['status']) => payout.items.filter((item) => item.status === status).length;
  return {
    ...views.payoutSummaryView(payout, { completed: count('completed'), failed: count('failed') }),
    items: payout.items.map(views.payoutItemView),
  };
};

export const apiKeyView = (key: ApiKeyRow): z.infer<typeof apiKey> => ({
  id: publicId('apiKey', key.id),
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  allowedIps: key.allowedIps,
  rateLimit: key.rateLimit,
  status: keyStatus(key),
  expiresAt: timestamp(key.expiresAt),
  lastUsedAt: timestamp(key.lastUsedAt),
  createdAt: timestamp(key.createdAt),
});

export const requestLogView = (row: RequestLogRow): z.infer<typeof requestLog> => ({
  requestId: `${REQUEST_ID_PREFIX}${row.requestId}`,
  keyId: publicId('apiKey', row.keyId),
  method: row.method,
  path: row.route,
  resourceId: row.resource,
  status: row.status,
  errorCode: row.errorCode,
  errorDetails: row.error,
  idempotencyKey: row.idempotencyKey,
  durationMs: row.durationMs,
  createdAt: timestamp(row.createdAt),
});

/** The event envelope of contract section 6, the same as in webhooks. */
export const eventView = (event: Event): EventView<'event'> => ({
  id: publicId('event', event.id),
  type: event.type as EventView<'event'>['type'],
  createdAt: timestamp(event.createdAt),
  data: event.data,
});

export const deliveryView = (delivery: Delivery): EventView<'delivery'> => ({
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
