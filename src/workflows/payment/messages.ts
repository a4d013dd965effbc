// The payment flow's messages: its input, the signals that the rail's callback and a paying wallet give it, its result.
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { IncompleteWork } from '../railWait/decide.ts';

export interface PaymentInput extends FlowScope {
  paymentId: string;
  walletId: string;
  amount: Kobo;
  /** ISO 8601; absolute, so that a worker that was away still expires the payment at its time. */
  expiresAt: string;
}

/** Money arrived on the payment's account. */
export interface CreditReceived {
  inboundCreditId: string;
}

/** A wallet has paid the payment; the books say so already. */
export interface PaymentSettledByWallet {
  amountReceived: Kobo;
}

/** Where a payment stands after a step. Ids, codes and amounts only: it goes into the workflow's history. */
export interface PaymentProgress {
  status: string;
  amountReceived: Kobo;
  /** What the rail left undone; absent when the step did all that it was to do. */
  incomplete?: IncompleteWork;
}

export interface PaymentResult {
  status: string;
}

export const creditReceived = defineSignal<[CreditReceived]>('creditReceived');
/** Public ids of the credits that the flow has heard of and that are not placed yet, for the sweeper. */
export const unplacedCredits = defineQuery<string[]>('unplacedCredits');

export const paymentSettledByWallet = defineSignal<[PaymentSettledByWallet]>('paymentSettledByWallet');

export interface PaymentActivities {
  /** Confirms a credit with the rail and posts it: held, settled, or into suspense with a review case. */
  applyCredit: (input: PaymentInput, credit: CreditReceived) => Promise<PaymentProgress>;
  /** The same, for an operator who has it set aside: if the rail still does not confirm it, a review case is opened. */
  setAsideCredit: (input: PaymentInput, credit: CreditReceived) => Promise<PaymentProgress>;
  /** Ends a payment whose window closed. What was received so far goes to review. */
  expirePayment: (input: PaymentInput) => Promise<PaymentProgress>;
  /** Closes the account of a payment that has ended, where the rail did not answer when it ended. */
  closePaymentAccount: (input: PaymentInput) => Promise<PaymentProgress>;
}
