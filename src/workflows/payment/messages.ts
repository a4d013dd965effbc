// The messages of the payment flow: input, signals of a callback and of an end by a request, result.
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { CarriedAttention } from '../attention/park.ts';
import type { FlowScope } from '../flows.ts';
import type { CarriedRailWaits, CreditOptions, CreditProgress } from '../railWait/messages.ts';

export interface PaymentInput extends FlowScope {
  paymentId: string;
  walletId: string;
  amount: Kobo;
  /** ISO 8601. Absolute, so that an outage of the workers does not extend the window. */
  expiresAt: string;
  /** Where the run before this one was, if the flow has continued as new. */
  continued?: ContinuedPayment;
}

/** What a run carries over. The credits that it has not applied are read from the database. */
export interface ContinuedPayment {
  progress: Omit<PaymentProgress, 'incomplete'>;
  /** The last value of the search attribute FlowState. */
  shownStatus: string;
  rail: CarriedRailWaits;
  attention?: CarriedAttention;
}

/** Credits of a payment that are not applied yet, oldest first. */
export interface UnappliedCredits {
  inboundCreditIds: string[];
  /** There are more, after the last of these. */
  hasMore: boolean;
}

/** Money arrived on the payment's account number. */
export interface CreditReceived {
  inboundCreditId: string;
}

/** A request has ended the payment, and that is posted already: a wallet has paid it, or it is cancelled. */
export interface PaymentEnded {
  status: 'settled' | 'cancelled';
  amountReceived: Kobo;
}

/** The state of a payment after a step. Ids, codes and amounts only: it is stored in the workflow's history. */
export interface PaymentProgress extends CreditProgress {
  amountReceived: Kobo;
  /** Public ids of the reported credits for which the payment was not expired: they are to be applied first. */
  unapplied?: string[];
}

export const creditReceived = defineSignal<[CreditReceived]>('creditReceived');

/** Public ids of the credits that were signalled to the flow and are not applied yet; for the sweep. */
export const unappliedCredits = defineQuery<string[]>('unappliedCredits');

export const paymentEnded = defineSignal<[PaymentEnded]>('paymentEnded');

export interface PaymentActivities {
  /** Confirms a credit with the rail and posts it: held, settled, or to suspense with a review case. */
  applyCredit: (input: PaymentInput, credit: CreditReceived & CreditOptions) => Promise<PaymentProgress>;
  /** Lists a payment's credits that are not applied yet, after this one. */
  listUnappliedCredits: (input: PaymentInput, after: string | null) => Promise<UnappliedCredits>;
  /**
   * Expires a payment whose window closed, unless it has unapplied credits other than these. What was received so far
   * goes to review.
   */
  expirePayment: (input: PaymentInput, waiting?: readonly string[]) => Promise<PaymentProgress>;
  /** Closes the account number of a payment that has ended, if the rail did not respond when it ended. */
  closePaymentAccount: (input: PaymentInput) => Promise<PaymentProgress>;
}
