// The messages of the flow that places a credit beside its payment's flow.
import type { PaymentInput } from '../payment/messages.ts';

export interface PaymentCreditInput extends PaymentInput {
  inboundCreditId: string;
}

export interface PaymentCreditResult {
  /** `left`: to the payment's flow. */
  status: 'placed' | 'left';
}
