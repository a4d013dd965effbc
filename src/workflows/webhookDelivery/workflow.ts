// The flow of one delivery whose first attempt failed, or was left to the flow because the endpoint is slow or failing.
//
//   1. Attempt until the endpoint responds with 2xx.   The delays between attempts are retries of the activity: the
//      pending activity in the Temporal UI shows the last response and the time of the next attempt.   Compensation:
//      none needed.
//   2. The flow ends when the event is delivered, when all attempts have failed, or when the endpoint is closed. A
//      redelivery starts it again.
//
// `deliveryChanged` interrupts a wait between attempts: a redelivery was requested. The flow then acts on the
// delivery's row.
import { ActivityFailure } from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { showState } from '../state.ts';
import {
  deliveryChanged,
  type WebhookActivities,
  type WebhookDeliveryInput,
  type WebhookDeliveryResult,
} from './messages.ts';

const { deliverWebhook } = proxyActivities<WebhookActivities>({
  // One attempt takes ten seconds at most; the rest is for the database.
  startToCloseTimeout: '30 seconds',
  // For outages on our side. After a response of the endpoint the activity sets the delay itself (retrySchedule.ts).
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  // An interruption lets an attempt in progress finish: it may be the one that succeeds.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
  let changes = 0;
  let waiting: CancellationScope | null = null;
  setHandler(deliveryChanged, () => {
    changes += 1;
    waiting?.cancel();
  });

  /** Returns how the delivery ended; null if it changed first. */
  async function attemptAll(seen: number): Promise<WebhookDeliveryResult | null> {
    waiting = new CancellationScope();
    try {
      return await waiting.run(() => deliverWebhook(input));
    } catch (error) {
      if (changes === seen || !(error instanceof ActivityFailure)) throw error;
      return null;
    } finally {
      waiting = null;
    }
  }

  setCurrentDetails(
    `**retrying**: ${input.eventType} \`${input.eventId}\` to \`${input.endpointId}\`. The pending activity shows ` +
      'the last response and the time of the next attempt.',
  );
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof webhookDelivery>(input);
    const seen = changes;
    const result = await attemptAll(seen);
    // A redelivery that was requested after this attempt has failed has reopened the row.
    if (result === null || (result.status === 'failed' && changes > seen)) continue;
    const { status, reason, answer } = result;
    const lastResponse = answer === null ? '' : ` Last response: ${answer}.`;
    setCurrentDetails(`**${status}**${reason === undefined ? '' : ` (${reason})`}.${lastResponse}`);
    if (status === 'failed') showState(status);
    return result;
  }
}
