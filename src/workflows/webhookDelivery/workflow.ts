// The flow of one delivery whose first attempt failed, or was left to it because the endpoint is slow or failing.
//
//   1. Attempt until the endpoint answers 2xx.   The waits between attempts are the activity's retry policy: the pending
//      activity in the Temporal UI shows the last answer and when the next attempt is.   Undo: none is needed.
//   2. All attempts spent: the delivery is failed, and the flow parks. An operator has it tried anew, or gives it up.
//   3. Delivered, given up, or ended because the endpoint is closed.
//
// `deliveryChanged` wakes it from a wait between attempts and from being parked: somebody asked for a redelivery, or the
// endpoint was closed. Then it goes by what the delivery's row says.
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
import { type AttentionActivities, createAttention, type ParkedView } from '../attention/park.ts';
import { showState } from '../state.ts';
import {
  deliveryChanged,
  type WebhookActivities,
  type WebhookDeliveryInput,
  type WebhookDeliveryResult,
} from './messages.ts';

const { deliverWebhook, reopenDelivery, recordOperatorAction } = proxyActivities<
  WebhookActivities & AttentionActivities
>({
  // One attempt takes ten seconds at most; the rest is for the database.
  startToCloseTimeout: '30 seconds',
  // For outages of our own. After an answer of the endpoint the activity names the gap itself (retrySchedule.ts).
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  // A wake-up lets an attempt that is being made come to its end: it may be the one that is taken.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
  const attention = createAttention(
    { ...input, subject: `${input.eventId}/${input.endpointId}` },
    { recordOperatorAction },
  );
  let changes = 0;
  let waiting: CancellationScope | null = null;
  setHandler(deliveryChanged, () => {
    changes += 1;
    waiting?.cancel();
  });

  /** How the delivery ended; null when something about it changed first. */
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

  let answer: string | null = null;
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof webhookDelivery>(input);
    const seen = changes;
    setCurrentDetails(
      `**retrying**: ${input.eventType} \`${input.eventId}\` to \`${input.endpointId}\`. The pending activity shows the ` +
        'last answer and when the next attempt is.',
    );
    const result = await attemptAll(seen);
    if (result === null) continue;
    answer = result.answer ?? answer;
    if (result.reason !== 'retries_exhausted') return end(result, answer);
    const isChanged = (): boolean => changes > seen;
    if (isChanged()) continue;
    const decision = await attention.park('webhook_retries_exhausted', parkedView(input, answer), isChanged);
    if (decision?.action === 'dismiss') return end(result, answer);
    if (decision !== null) await reopenDelivery(input);
  }
}

function end(result: WebhookDeliveryResult, answer: string | null): WebhookDeliveryResult {
  const said = answer === null ? '' : ` Last answer: ${answer}.`;
  setCurrentDetails(`**${result.status}**${result.reason === undefined ? '' : ` (${result.reason})`}.${said}`);
  if (result.status !== 'delivered') showState(result.status);
  return { ...result, answer };
}

function parkedView({ eventType, eventId, endpointId }: WebhookDeliveryInput, answer: string | null): ParkedView {
  return {
    summary: 'The endpoint has not taken the event in any attempt of the schedule, and no more are made by themselves.',
    lastResponse: { of: 'endpoint', words: answer ?? 'none' },
    fundsAtRisk:
      `${endpointId} has not heard of ${eventType} ${eventId}. No money. The API shows the delivery as failed; a ` +
      'redelivery that the integrator asks for, or closing the endpoint, wakes this flow too',
  };
}
