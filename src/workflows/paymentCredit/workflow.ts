// The second flow of a payment's credit, started when the payment's flow has not placed the credit after a moment
// because much else is waiting (docs/decisions/0021-priorities-and-fairness.md). Its task queue has nothing but such
// flows.
//
//   1. Place the credit by the activity of the payment's flow. Whichever flow is second finds it placed.
//   2. What cannot be done now is left to the payment's flow, which has the credit too: it alone retries, and parks.
import { ActivityFailure } from '@temporalio/common';
import { proxyActivities } from '@temporalio/workflow';
import { MONEY_ACTIVITY } from '../options.ts';
import type { PaymentActivities } from '../payment/messages.ts';
import type { PaymentCreditInput, PaymentCreditResult } from './messages.ts';

/** Enough for a lost connection to the database. */
const ATTEMPTS_MAX = 3;

const { applyCredit } = proxyActivities<PaymentActivities>({
  ...MONEY_ACTIVITY,
  retry: { ...MONEY_ACTIVITY.retry, maximumAttempts: ATTEMPTS_MAX },
});

export async function paymentCredit({ inboundCreditId, ...input }: PaymentCreditInput): Promise<PaymentCreditResult> {
  try {
    const { incomplete } = await applyCredit(input, { inboundCreditId });
    return { status: incomplete?.what === 'credit' ? 'left' : 'placed' };
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return { status: 'left' };
  }
}
