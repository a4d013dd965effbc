// The flow of one delivery whose first attempt failed, or was left to it because the endpoint is slow or failing.
//
//   1. Attempt until the endpoint answers 2xx.   The waits between attempts are the activity's retry policy: the pending
//      activity in the Temporal UI shows the last answer and when the next attempt is.   Undo: none is needed.
//   2. Delivered, given up after the last attempt, or ended because the endpoint is gone.   A redelivery starts it anew.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { WebhookActivities } from '../../activities/webhooks.ts';
import { showState } from '../state.ts';
import type { WebhookDeliveryInput, WebhookDeliveryResult } from './messages.ts';

const { deliverWebhook } = proxyActivities<WebhookActivities>({
  // One attempt takes ten seconds at most; the rest is for the database.
  startToCloseTimeout: '30 seconds',
  // For outages of our own. After an answer of the endpoint the activity names the gap itself (retrySchedule.ts).
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
  setCurrentDetails(
    `**retrying**: ${input.eventType} \`${input.eventId}\` to \`${input.endpointId}\`. The pending activity shows the ` +
      'last answer and when the next attempt is.',
  );
  const result = await deliverWebhook(input);
  const answer = result.answer === null ? '' : ` Last answer: ${result.answer}.`;
  setCurrentDetails(`**${result.status}**${result.reason === undefined ? '' : ` (${result.reason})`}.${answer}`);
  if (result.status !== 'delivered') showState(result.status);
  return result;
}
