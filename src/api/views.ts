// Resource views: the fields of contract section 2, from rows. A row is never returned to a caller directly. Those that
// events carry too are in src/resources/views.ts.
import type { z } from 'zod';
import { publicId } from '../ids.ts';
import { componentOf } from '../ledger/components.ts';
import type { PostedTransaction } from '../ledger/transactions.ts';
import { type ApiKeyRow, keyStatus } from '../resources/apiKeys.ts';
import type { Event } from '../resources/events.ts';
import type { ListedCredit } from '../resources/inboundCredits/queries.ts';
import type { PaymentWithAccount } from '../resources/payments/queries.ts';
import type { PayoutItem, PayoutWithItems } from '../resources/payouts/queries.ts';
import { viewOf } from '../resources/publicFields.ts';
import * as schemas from '../resources/publicSchemas.ts';
import type { RequestLogRow } from '../resources/requestLogs.ts';
import * as views from '../resources/views.ts';
import type { StatementLine } from '../resources/wallets/statement.ts';
import { checkoutUrl, type LinkedCall } from './checkout/token.ts';
import { apiKey, requestLog } from './contract/answers.ts';
import { delivery, type event } from './contract/events.ts';
import { statementLine, transaction, walletStatement } from './contract/ledger.ts';
import { REQUEST_ID_PREFIX } from './envelope.ts';

export const walletView = viewOf(schemas.wallet);
export const balanceView = viewOf(schemas.walletBalance);
export const statementView = viewOf(walletStatement);
export const limitsView = viewOf(schemas.walletLimits);
export const deliveryView = viewOf(delivery);

/** The id of a posting: its place in its transaction. */
export const lineId = ({ transactionId, place }: Pick<StatementLine, 'transactionId' | 'place'>): string =>
  `${publicId('transaction', transactionId)}/${place}`;

export const transactionView = viewOf(transaction, ({ id, kind, postings, ...rest }: PostedTransaction) => ({
  ...rest,
  id,
  kind,
  resourceId: rest.resource,
  reversesTransactionId: rest.reverses,
  postings: postings.map(({ debit, credit, amount }, index, { length }) => ({
    id: lineId({ transactionId: id, place: index + 1 }),
    debitAccount: debit,
    creditAccount: credit,
    amount,
    component: componentOf({ kind, place: index + 1, count: length, debit, credit }),
  })),
}));

export const statementLineView = viewOf(statementLine, (line: StatementLine) => ({
  ...line,
  id: lineId(line),
  resourceId: line.resource,
}));

/** With the address of the payment's page, which events do not have: it is for the payer. */
export const paymentView = (payment: PaymentWithAccount, call: LinkedCall): z.output<typeof schemas.payment> => ({
  ...views.paymentView(payment),
  checkoutUrl: checkoutUrl(call, payment),
});

/** An inbound credit: the amount, its sender and its current status. */
export const creditView = viewOf(schemas.credit, (credit: ListedCredit) => ({
  ...credit,
  sender: views.senderView(credit),
  status: creditStatus(credit),
}));

/** That of its review case, where it has one; but the case of a surplus is of a part of the credit only. */
function creditStatus({ status, recall, reviewReason, reviewStatus }: ListedCredit): CreditStatus {
  if (recall === 'posted' || reviewStatus === 'repaid') return 'recalled';
  if (reviewStatus === null || reviewReason === 'surplus_over_limit' || reviewReason === 'split_refused')
    return CREDIT_STATUSES[status];
  return reviewStatus === 'open' || reviewStatus === 'returning' ? 'in_review' : reviewStatus;
}

type CreditStatus = z.output<typeof schemas.creditStatus>;

/** A credit that is set aside has a review case, whose status is then the public one. */
const CREDIT_STATUSES: Readonly<Record<ListedCredit['status'], CreditStatus>> = {
  received: 'received',
  posted: 'posted',
  suspense: 'in_review',
  set_aside: 'in_review',
  recalled: 'recalled',
};

export const payoutView = (payout: PayoutWithItems): z.output<typeof schemas.payout> => {
  const count = (status: PayoutItem['status']) => payout.items.filter((item) => item.status === status).length;
  return {
    ...views.payoutSummaryView(payout, { completed: count('completed'), failed: count('failed') }),
    items: payout.items.map(views.payoutItemView),
  };
};

export const apiKeyView = viewOf(apiKey, (key: ApiKeyRow) => ({ ...key, status: keyStatus(key) }));

export const requestLogView = viewOf(requestLog, (row: RequestLogRow) => ({
  ...row,
  requestId: `${REQUEST_ID_PREFIX}${row.requestId}`,
  path: row.route,
  resourceId: row.resource,
  errorDetails: row.error,
}));

/** The event envelope of contract section 6, the same as in webhooks. */
export const eventView = ({ id, type, createdAt, resource, sequence, data }: Event): z.output<typeof event> => ({
  id: publicId('event', id),
  type: type as z.output<typeof event>['type'],
  createdAt: createdAt.toISOString(),
  resourceId: resource,
  sequence,
  data,
});
