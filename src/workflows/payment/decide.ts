// The rules of a payment (contract, section 3.2) as pure functions: what a credit or the end of its window changes.
// They name amounts by their destination; the activities post them.
import type { Kobo } from '../../money.ts';
import { causeOf, type RailWait } from '../railWait/decide.ts';

/** Who bears the fee of a payment: on top of the base amount, or out of it, all from the target or from splits. */
export const FEE_BEARERS = ['payer', 'merchant', 'split'] as const;
export type FeeBearer = (typeof FEE_BEARERS)[number];

/** The fields of a payment that say what it costs. */
export interface Price {
  baseAmount: Kobo;
  fee: Kobo;
  feeBearer: FeeBearer;
}

/** The amount that the payer must transfer. */
export const payableAmount = ({ baseAmount, fee, feeBearer }: Price): Kobo =>
  feeBearer === 'payer' ? baseAmount + fee : baseAmount;

/** What the wallets of a payment get of the payable amount. */
export const netAmount = (price: Price): Kobo => payableAmount(price) - price.fee;

/** The fields of a payment that the rules read. */
export interface PaymentState extends Price {
  status: 'pending' | 'partial' | 'settled' | 'expired' | 'cancelled' | 'failed' | 'refunded' | 'partially_refunded';
  amountReceived: Kobo;
}

/** How much of a credit the target wallet can take, as far as it is known. */
export type WalletCapacity = 'all' | 'base_only' | 'nothing';

export type CreditDecision =
  /** The money is held until the rest of the payment arrives. */
  | { kind: 'hold'; amountReceived: Kobo }
  /** The wallet gets net amount and surplus, the service its fee. Surplus that may not be credited goes to review. */
  | {
      kind: 'settle';
      amountReceived: Kobo;
      toWallet: Kobo;
      toFees: Kobo;
      toSuspense: Kobo;
      /** The part of the sum of these three that earlier credits brought. */
      alreadyHeld: Kobo;
    }
  /** The payment takes no more money: all of it goes to review. */
  | { kind: 'to_suspense'; reason: 'late_credit' | 'credit_after_settlement' | 'wallet_refused' };

/**
 * Decides what one credit changes on a payment. `receivedAt`: when the bank received it. Later than the end of the
 * window it is late, although the flow may not have expired the payment yet.
 */
export function decideCredit(
  payment: PaymentState & { expiresAt: Date },
  { amount, receivedAt }: { amount: Kobo; receivedAt: Date },
  capacity: WalletCapacity,
): CreditDecision {
  const isOpen = payment.status === 'pending' || payment.status === 'partial';
  const hasEndedUnpaid = ['expired', 'cancelled', 'failed'].includes(payment.status);
  if (hasEndedUnpaid || (isOpen && receivedAt > payment.expiresAt))
    return { kind: 'to_suspense', reason: 'late_credit' };
  if (!isOpen) return { kind: 'to_suspense', reason: 'credit_after_settlement' };
  const amountReceived = payment.amountReceived + amount;
  const surplus = amountReceived - payableAmount(payment);
  if (surplus < 0) return { kind: 'hold', amountReceived };
  if (capacity === 'nothing') return { kind: 'to_suspense', reason: 'wallet_refused' };
  return {
    kind: 'settle',
    amountReceived,
    toWallet: netAmount(payment) + (capacity === 'all' ? surplus : 0),
    toFees: payment.fee,
    toSuspense: capacity === 'all' ? 0 : surplus,
    alreadyHeld: payment.amountReceived,
  };
}

/** The fields of a payment that the rules read when money of a review case is credited to its wallet. */
export interface ReviewedPayment extends PaymentState {
  amountCredited: Kobo;
  feeCharged: Kobo;
}

/** What a credit from a review case to the wallet of its payment changes. */
export interface ReviewedCredit {
  settles: boolean;
  amountReceived: Kobo;
  /** What the payment held before, and is credited with it. */
  withHeld: Kobo;
  toWallet: Kobo;
  toFees: Kobo;
}

/**
 * Money that operators credit to its payment counts as received. An open payment settles with it; 'incomplete': it
 * would not. Otherwise it is charged as it would have been on time: the share of the fee that the whole amount credited
 * so far has of the payable amount, so the fee is charged once. `isCounted`: the payment has counted it as received.
 */
export function decideReviewedCredit(
  payment: ReviewedPayment,
  { amount, isCounted, waivesFee }: { amount: Kobo; isCounted: boolean; waivesFee: boolean },
): ReviewedCredit | 'incomplete' {
  const { status, fee, feeCharged, amountCredited } = payment;
  const payable = payableAmount(payment);
  const amountReceived = payment.amountReceived + (isCounted ? 0 : amount);
  const settles = status === 'pending' || status === 'partial';
  if (settles && amountReceived < payable) return 'incomplete';
  const before = amountCredited + feeCharged;
  const share = (credited: Kobo): Kobo => shareOf(fee, credited, payable);
  const due = settles ? fee : Math.min(fee - feeCharged, share(before + amount) - share(before));
  const toFees = waivesFee ? 0 : due;
  const withHeld = settles ? payment.amountReceived : 0;
  return { settles, amountReceived, withHeld, toWallet: amount + withHeld - toFees, toFees };
}

/** `amount` × `part` / `whole`, at most the amount, rounded down. In BigInt: the product may exceed a safe integer. */
const shareOf = (amount: Kobo, part: Kobo, whole: Kobo): Kobo =>
  part >= whole ? amount : Number((BigInt(amount) * BigInt(part)) / BigInt(whole));

/** What a review case of this amount would be charged now, credited to the wallet of its payment. */
export function feeInReview(payment: ReviewedPayment, amount: Kobo): Kobo {
  const decision = decideReviewedCredit(payment, { amount, isCounted: false, waivesFee: false });
  return decision === 'incomplete' ? 0 : decision.toFees;
}

/** What to try after the wallet refused: without the surplus if that exceeded a limit, otherwise nothing. */
export function capacityAfterRefusal(
  capacity: WalletCapacity,
  decision: CreditDecision,
  overLimit: boolean,
  net: Kobo,
): WalletCapacity {
  const surplusWasTried = capacity === 'all' && decision.kind === 'settle' && decision.toWallet > net;
  return surplusWasTried && overLimit ? 'base_only' : 'nothing';
}

export type ExpiryDecision =
  /** The window closed. What was received so far goes to review. */
  | { kind: 'expire'; toSuspense: Kobo }
  /** The payment has ended in another way. */
  | { kind: 'no_change' };

export function decideExpiry(payment: PaymentState): ExpiryDecision {
  return payment.status === 'pending' || payment.status === 'partial'
    ? { kind: 'expire', toSuspense: payment.amountReceived }
    : { kind: 'no_change' };
}

/** `no_change`: it is cancelled already. `refuse`: money has come, or it has ended in another way. */
export type CancellationDecision = 'cancel' | 'no_change' | 'refuse';

export function decideCancellation({ status }: Pick<PaymentState, 'status'>): CancellationDecision {
  if (status === 'cancelled') return 'no_change';
  return status === 'pending' ? 'cancel' : 'refuse';
}

/** What paying from a wallet reads in addition. Wallet ids may be of either kind, if only one is used. */
export interface WalletPaymentState extends PaymentState {
  method: 'bank_transfer' | 'virtual_wallet';
  targetWalletId: string;
  splits: readonly { walletId: string }[];
  expiresAt: Date;
}

export type PayRefusal = 'PAYMENT_METHOD_MISMATCH' | 'PAYMENT_NOT_PAYABLE' | 'SAME_WALLET';

export type PayDecision =
  /** The payer pays the whole payable amount at once: the wallet gets the net amount, the service its fee. */
  { kind: 'settle'; amountReceived: Kobo; toWallet: Kobo } | { kind: 'refuse'; code: PayRefusal };

/** Whether a wallet may pay this payment now. */
export function decidePay(payment: WalletPaymentState, payerWalletId: string, now: Date): PayDecision {
  if (payment.method !== 'virtual_wallet') return { kind: 'refuse', code: 'PAYMENT_METHOD_MISMATCH' };
  if (payment.status !== 'pending' || now >= payment.expiresAt) return { kind: 'refuse', code: 'PAYMENT_NOT_PAYABLE' };
  const isPaid = [payment.targetWalletId, ...payment.splits.map(({ walletId }) => walletId)].includes(payerWalletId);
  if (isPaid) return { kind: 'refuse', code: 'SAME_WALLET' };
  return { kind: 'settle', amountReceived: payableAmount(payment), toWallet: netAmount(payment) };
}

/**
 * A credit is signalled unless this many credits of its payment are not applied yet: a stream of signals would fill the
 * history, and would keep the flow from continuing as new. Instead the flow reads what was not signalled, each time
 * that it has applied half as many and has no more.
 */
export const SIGNALLED_MAX = 50;
export const READ_AFTER_APPLIED = SIGNALLED_MAX / 2;

/** The state of a payment's flow. Times are milliseconds since 1970. */
export interface PaymentFlowState {
  /** Whether the payment takes money. */
  isOpen: boolean;
  /** It was cancelled, and its account number may still be open. */
  isCancelled: boolean;
  expiresAt: number;
  /** Public ids of the credits that were not processed yet. */
  fresh: readonly string[];
  waits: readonly RailWait[];
}

export type PaymentStep =
  | { do: 'applyCredit'; inboundCreditId: string }
  | { do: 'expire' }
  | { do: 'closeAccount' }
  | { do: 'wait'; until: number }
  | { do: 'end' };

/**
 * The next step of a payment's flow. A credit that was reported goes before the end of the window, because it may have
 * reached the bank before that: also one that the rail has not confirmed yet, until it needs an operator.
 */
export function decideNext(
  { isOpen, isCancelled, expiresAt, fresh, waits }: PaymentFlowState,
  now: number,
): PaymentStep {
  const [inboundCreditId] = fresh;
  if (inboundCreditId !== undefined) return { do: 'applyCredit', inboundCreditId };
  if (isCancelled) return { do: 'closeAccount' };
  const awaitsCredit = waits.some((wait) => wait.last.what === 'credit' && causeOf(wait, now) === null);
  if (isOpen && now >= expiresAt && !awaitsCredit) return { do: 'expire' };
  const due = waits.find(({ nextAt }) => now >= nextAt);
  if (due !== undefined) {
    return due.last.what === 'account' ? { do: 'closeAccount' } : { do: 'applyCredit', inboundCreditId: due.last.id };
  }
  if (!isOpen && waits.length === 0) return { do: 'end' };
  const expiry = isOpen && now < expiresAt ? [expiresAt] : [];
  return { do: 'wait', until: Math.min(...expiry, ...waits.map(({ nextAt }) => nextAt)) };
}
