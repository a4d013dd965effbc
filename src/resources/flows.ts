// Outbox messages that start or signal the flows of resources. `start…` starts a flow. `wake…` follows an update from
// the rail: it signals the flow, and starts one if none is running, because a completed transfer may still be returned.
import { newUuid, publicId, type Uuid } from '../ids.ts';
import { walletOf } from '../ledger/chart.ts';
import { type Book, type Environment, nairaText } from '../money.ts';
import type { AdjustmentInput } from '../workflows/adjustment/messages.ts';
import { type BankTransferInput, transferUpdated } from '../workflows/bankTransfer/messages.ts';
import { type FlowMessage, type FlowOutboxMessage, type InstallationScope, toOutbox } from '../workflows/flows.ts';
import { type HoldInput, holdChanged } from '../workflows/hold/messages.ts';
import { netAmount, type Price } from '../workflows/payment/decide.ts';
import {
  type CreditReceived,
  creditReceived,
  type PaymentEnded,
  type PaymentInput,
  paymentEnded,
} from '../workflows/payment/messages.ts';
import { itemSummary, type PayoutInput } from '../workflows/payout/messages.ts';
import type { CreditInput } from '../workflows/railWait/messages.ts';
import type { ReviewCaseInput } from '../workflows/reviewCase/messages.ts';
import { accountsOf } from './adjustments/postings.ts';
import type { Adjustment } from './adjustments/queries.ts';
import type { Hold } from './holds/queries.ts';
import type { InboundCredit } from './inboundCredits/queries.ts';
import type { Payment } from './payments/queries.ts';
import type { ItemWithWallet, Payout } from './payouts/queries.ts';
import type { Refund } from './refunds/queries.ts';
import type { ReviewCase } from './reviewCases/queries.ts';
import type { Withdrawal } from './withdrawals/queries.ts';

/** The state that a flow of each workflow starts in, and its queue if not the common one. */
const STARTS_AS = {
  payment: { state: 'pending' },
  inboundCredit: { state: 'received' },
  recall: { state: 'received' },
  withdrawal: { state: 'processing' },
  refund: { state: 'processing' },
  payout: { state: 'processing', queue: 'payouts' },
  payoutItem: { state: 'processing', queue: 'payouts' },
  reviewCase: { state: 'open' },
  hold: { state: 'held' },
  adjustment: { state: 'requested' },
  railResume: { state: 'processing' },
} as const satisfies Partial<Record<FlowMessage['workflow'], Pick<FlowMessage, 'state' | 'queue'>>>;

const flow = (
  workflow: keyof typeof STARTS_AS,
  id: string,
  summary: string,
  input: FlowMessage['input'],
): FlowMessage => ({ workflow, id, summary, input, ...STARTS_AS[workflow] });

/** The fields of a payment that the input of its flow is built from. */
export type PaymentOfFlow = Pick<Payment, 'id' | 'targetWalletId' | 'expiresAt' | keyof Price>;

export const paymentInput = (book: Book, payment: PaymentOfFlow): PaymentInput => ({
  ...book,
  paymentId: publicId('payment', payment.id),
  walletId: publicId('wallet', payment.targetWalletId),
  amount: netAmount(payment),
  expiresAt: payment.expiresAt.toISOString(),
});

function paymentFlow(book: Book, payment: PaymentOfFlow): FlowMessage {
  const input = paymentInput(book, payment);
  return flow('payment', input.paymentId, `Payment of ${nairaText(input.amount)} into ${input.walletId}`, input);
}

/** Expires a payment. Its flow starts with its first credit, or when its window ends: until then it would only wait. */
export const startPayment = (book: Book, payment: PaymentOfFlow): FlowOutboxMessage =>
  toOutbox(paymentFlow(book, payment), payment.expiresAt);

/** After a payment from a wallet, or a cancellation, has been posted: signals the flow to end. */
export function endPayment(
  book: Book,
  payment: PaymentOfFlow & Pick<Payment, 'amountReceived'>,
  status: PaymentEnded['status'],
): FlowOutboxMessage {
  const payload: PaymentEnded = { status, amountReceived: payment.amountReceived };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: paymentEnded.name, payload } });
}

/** Signals the flow of a payment that there is news of this credit, and starts it if it is not running. */
export function signalCredit(book: Book, payment: PaymentOfFlow, creditId: Uuid): FlowOutboxMessage {
  const payload: CreditReceived = { inboundCreditId: publicId('inboundCredit', creditId) };
  return toOutbox({ ...paymentFlow(book, payment), signal: { name: creditReceived.name, payload } });
}

const creditInput = (book: Book, { id, amount, ownerKind, ownerId }: InboundCredit): CreditInput => ({
  ...book,
  inboundCreditId: publicId('inboundCredit', id),
  amount,
  ...(ownerKind === 'wallet' && ownerId !== null && { walletId: publicId('wallet', ownerId) }),
});

/**
 * Signals the flow of the payment whose account number was credited, and starts it if it is not running. `payment`
 * null: starts a flow of the credit's own, for a deposit account or an unknown account.
 */
export function startInboundCredit(
  book: Book,
  credit: InboundCredit,
  payment: PaymentOfFlow | null,
): FlowOutboxMessage {
  if (payment !== null) return signalCredit(book, payment, credit.id);
  const input = creditInput(book, credit);
  const summary = `Credit of ${nairaText(input.amount)} to ${input.walletId ?? 'an unknown account'}`;
  return toOutbox(flow('inboundCredit', input.inboundCreditId, summary, input));
}

export const recallFlowId = (creditId: Uuid): string => `${publicId('inboundCredit', creditId)}/recall`;

export function startRecall(book: Book, credit: InboundCredit): FlowOutboxMessage {
  const input = creditInput(book, credit);
  const summary = `Recall of ${nairaText(input.amount)} of ${input.inboundCreditId}`;
  return toOutbox(flow('recall', recallFlowId(credit.id), summary, input));
}

/** The messages of a flow that a signal tells that there is news: of its transfer to a bank, or another. */
const messagesOf = <Row>(
  flowOf: (book: Book, row: Row) => FlowMessage,
  { name }: { name: string } = transferUpdated,
) => ({
  start: (book: Book, row: Row): FlowOutboxMessage => toOutbox(flowOf(book, row)),
  wake: (book: Book, row: Row): FlowOutboxMessage =>
    toOutbox({ ...flowOf(book, row), signal: { name, payload: null } }),
});

export const { start: startWithdrawal, wake: wakeWithdrawal } = messagesOf((book, withdrawal: Withdrawal) => {
  const input = {
    ...book,
    transferId: publicId('withdrawal', withdrawal.id),
    walletId: publicId('wallet', withdrawal.sourceWalletId),
    amount: withdrawal.amount,
  } satisfies BankTransferInput;
  return flow('withdrawal', input.transferId, `Withdrawal of ${nairaText(input.amount)} from ${input.walletId}`, input);
});

/** Of a refund to a bank. A refund to a wallet completes at once, without a flow. */
export const { start: startRefund, wake: wakeRefund } = messagesOf((book, refund: Refund) => {
  const { id, paymentId, amount } = refund;
  const input: BankTransferInput = { ...book, transferId: publicId('refund', id), amount };
  return flow('refund', input.transferId, `Refund of ${nairaText(amount)} of ${publicId('payment', paymentId)}`, input);
});

export function startPayout(book: Book, payout: Payout): FlowOutboxMessage {
  const input: PayoutInput = {
    ...book,
    payoutId: publicId('payout', payout.id),
    walletId: publicId('wallet', payout.sourceWalletId),
    amount: payout.totalAmount,
    itemCount: payout.itemCount,
  };
  const summary = `Payout of ${nairaText(input.amount)} in ${input.itemCount} items from ${input.walletId}`;
  return toOutbox(flow('payout', input.payoutId, summary, input));
}

/** The first flow of an item is a child workflow of its payout's flow. */
export const { wake: wakePayoutItem } = messagesOf((book, { item, sourceWalletId }: ItemWithWallet) => {
  const input = {
    ...book,
    walletId: publicId('wallet', sourceWalletId),
    transferId: publicId('payoutItem', item.id),
    amount: item.amount,
  } satisfies BankTransferInput;
  return flow('payoutItem', input.transferId, itemSummary(item.amount, input.walletId), input);
});

/** The fields of a review case that the input of its flow is built from. */
type CaseOfFlow = Pick<ReviewCase, 'id' | 'reason' | 'amount' | 'walletId'>;

/** `wake`: after a change of the case's return transfer or of its reconciliation break. */
export const { start: startReviewCase, wake: wakeReviewCase } = messagesOf((book, row: CaseOfFlow) => {
  const { id, reason, amount, walletId } = row;
  const input: ReviewCaseInput = {
    ...book,
    transferId: publicId('reviewCase', id),
    reason,
    amount,
    ...(walletId !== null && { walletId: publicId('wallet', walletId) }),
  };
  return flow('reviewCase', input.transferId, `Review of ${nairaText(amount)}: ${reason}`, input);
});

/** `wake`: after a request has released or cancelled it. */
export const { start: startHold, wake: wakeHold } = messagesOf((book, { id, walletId, amount }: Hold) => {
  const input = {
    ...book,
    holdId: publicId('hold', id),
    walletId: publicId('wallet', walletId),
    amount,
  } satisfies HoldInput;
  return flow('hold', input.holdId, `Hold of ${nairaText(amount)} for ${input.walletId}`, input);
}, holdChanged);

export function startAdjustment(
  book: Book,
  { id, postings, reverses }: Pick<Adjustment, 'id' | 'postings' | 'reverses'>,
): FlowOutboxMessage {
  const [walletId] = accountsOf(postings).flatMap((account) => walletOf(account) ?? []);
  const amount = postings.reduce((sum, posting) => sum + posting.amount, 0);
  const input: AdjustmentInput = {
    ...book,
    adjustmentId: publicId('adjustment', id),
    amount,
    ...(walletId !== undefined && { walletId }),
  };
  const summary = `${reverses === null ? 'Adjustment' : 'Reversal of an adjustment'} of ${nairaText(amount)}`;
  return toOutbox(flow('adjustment', input.adjustmentId, summary, input));
}

const railResume = (input: InstallationScope, id: string, summary: string, at?: Date): FlowOutboxMessage =>
  toOutbox(flow('railResume', `rail-resume/${id}`, summary, input), at);

/** After operators have resumed a rail: signals the flows that wait for it. */
export const startRailResume = (environment: Environment): FlowOutboxMessage =>
  railResume({ environment }, newUuid(), `Signals the flows that wait for the ${environment} rail`);

/** A provider may send a notice for each transaction that it has settled: flows are signalled once in this time. */
const GATHERED_FOR_MS = 10_000;

/**
 * After news of the balance that a contract pays from: signals the transfers of a book, which may wait because it was
 * too low; once for all notices of some seconds, and after the last. `now`: by the clock of the database, as the relay
 * counts the time until then.
 */
export function wakeTransfers(book: Book, now: Date): FlowOutboxMessage {
  const until = (Math.floor(now.getTime() / GATHERED_FOR_MS) + 1) * GATHERED_FOR_MS;
  return railResume(
    book,
    `${publicId('organisation', book.organisationId)}/${book.environment}/${until}`,
    'Signals the transfers in progress: the balance of the contract has changed',
    new Date(until),
  );
}
