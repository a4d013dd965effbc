// The payment flow's messages: its input, the signals that the rail's callback and a paying wallet give it, its result.
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { FlowMessage, FlowScope } from '../flows.ts';
import type { Undone } from '../railWait/decide.ts';

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
export interface PaymentPaid {
  amountReceived: Kobo;
}

/** Where a payment stands after a step. Ids, codes and amounts only: it goes into the workflow's history. */
export interface PaymentProgress {
  status: string;
  amountReceived: Kobo;
  /** What the rail left undone; absent when the step did all that it was to do. */
  undone?: Undone;
}

export interface PaymentResult {
  status: string;
}

export const creditReceived = defineSignal<[CreditReceived]>('creditReceived');
/** Public ids of the credits that the flow has heard of and that are not placed yet, for the sweeper. */
export const unplacedCredits = defineQuery<string[]>('unplacedCredits');

export const paid = defineSignal<[PaymentPaid]>('paid');

/** Starts the flow of a payment; with a credit it also wakes one that runs. */
export function paymentFlow(input: PaymentInput, credit?: CreditReceived): FlowMessage {
  return {
    workflow: 'payment',
    id: input.paymentId,
    summary: `Payment of ${input.amount} kobo into ${input.walletId}`,
    state: 'pending',
    input,
    ...(credit && { signal: { name: creditReceived.name, payload: credit } }),
  };
}

/** Ends the flow of a payment that a wallet has paid. */
export function paidPayment(input: PaymentInput, amountReceived: Kobo): FlowMessage {
  const payload: PaymentPaid = { amountReceived };
  return { ...paymentFlow(input), signal: { name: paid.name, payload } };
}
