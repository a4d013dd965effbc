// The public form of the resources that move money (contract, section 2), for the API and for events.
import { payableAmount } from '../workflows/payment/decide.ts';
import { amountHeld, type Hold } from './holds/queries.ts';
import type { InboundCredit } from './inboundCredits/queries.ts';
import type { PaymentWithAccount } from './payments/queries.ts';
import type { Payout, PayoutItem } from './payouts/queries.ts';
import { viewOf } from './publicFields.ts';
import * as schemas from './publicSchemas.ts';
import type { Refund } from './refunds/queries.ts';
import { keyActions } from './reviewCases/actions.ts';
import type { ReviewCase } from './reviewCases/queries.ts';
import type { Withdrawal } from './withdrawals/queries.ts';

export const transferView = viewOf(schemas.transfer);
export const holdView = viewOf(schemas.hold, (hold: Hold) => ({ ...hold, amountHeld: amountHeld(hold) }));
export const refundView = viewOf(schemas.refund, ({ sources, ...refund }: Refund) => {
  const funding = sources.find(({ walletId, onBehalfOf }) => walletId !== onBehalfOf);
  return {
    ...refund,
    ...(sources.length > 0 && { from: sources.map(({ onBehalfOf, amount }) => ({ walletId: onBehalfOf, amount })) }),
    ...(funding !== undefined && { fundedBy: funding.walletId }),
  };
});
export const virtualAccountView = viewOf(schemas.virtualAccount);

export const paymentView = viewOf(schemas.paymentOfEvent, ({ splits, hold, ...payment }: PaymentWithAccount) => ({
  ...payment,
  ...(splits.length > 0 && { splits: [...splits] }),
  ...(hold !== null && { hold }),
  payableAmount: payableAmount(payment),
  virtualAccount: payment.account,
  acceptsAmount: payment.account?.acceptsAmount ?? 'exact',
}));

/** Who sent an inbound credit; null where the bank did not report it. */
export const senderView = (credit: InboundCredit) => ({
  name: credit.senderName,
  accountNumber: credit.senderAccountNumber,
  bankCode: credit.senderBankCode,
  sessionId: credit.senderSessionId,
});

export const creditSummary = viewOf(schemas.creditOfEvent, (credit: InboundCredit) => ({
  ...credit,
  sender: senderView(credit),
}));

export const withdrawalView = viewOf(schemas.withdrawal, (row: Withdrawal) => ({
  ...row,
  totalAmount: row.amount + row.fee,
  counterparty: row,
}));

/** A payout without its items: up to a thousand are too many for an event. */
export const payoutSummaryView = (payout: Payout, counts: { completed: number; failed: number }) =>
  payoutOfEvent({ ...payout, successCount: counts.completed, failureCount: counts.failed });
const payoutOfEvent = viewOf(schemas.payoutOfEvent);

export const payoutItemView = viewOf(schemas.payoutItem, (item: PayoutItem) => ({ ...item, counterparty: item }));
export const payoutItemOfEvent = viewOf(schemas.payoutItemOfEvent, (item: PayoutItem) => ({
  ...item,
  counterparty: item,
}));

export const reviewCaseView = viewOf(schemas.reviewCase, (row: ReviewCase) => ({
  ...row,
  actions: [...keyActions(row)],
  returnFailure: row.failure,
  returnFailureCode: row.failureCode,
  returnFailureReason: row.failureReason,
}));
