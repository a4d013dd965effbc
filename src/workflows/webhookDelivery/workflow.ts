// The flow of one delivery whose first attempt failed, or was left to the flow because the endpoint is slow or failing.
//
//   1. Attempt until the endpoint responds with 2xx.   The delays between attempts are retries of the activity: the
//      pending activity in the Temporal UI shows the last response and the time of the next attempt.   Compensation:
//      none needed.
//   2. All attempts failed: the delivery is failed, and the flow parks. An operator restarts or dismisses it.
//   3. The flow ends when the event is delivered, when it is dismissed, or when the endpoint is closed.
//
// `deliveryChanged` interrupts a wait between attempts and ends the parking: a redelivery was requested, or the
// endpoint was closed. The flow then acts on the delivery's row.
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

const { deliverWebhook, reopenDelivery, recordOperatorAction, identifyOperator } = proxyActivities<
  WebhookActivities & AttentionActivities
>({
  // One attempt takes ten seconds at most; the rest is for the database.
  startToCloseTimeout: '30 seconds',
  // For outages on our side. After a response of the endpoint the activity sets the delay itself (retrySchedule.ts).
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  // An interruption lets an attempt in progress finish: it may be the one that succeeds.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
  const attention = createAttention(
    { ...input, subject: `${input.eventId}/${input.endpointId}` },
    { recordOperatorAction, identifyOperator },
  );
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

  let answer: string | null = null;
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof webhookDelivery>(input);
    const seen = changes;
    setCurrentDetails(
      `**retrying**: ${input.eventType} \`${input.eventId}\` to \`${input.endpointId}\`. The pending activity shows ` +
        'the last response and the time of the next attempt.',
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
  const lastResponse = answer === null ? '' : ` Last response: ${answer}.`;
  setCurrentDetails(`**${result.status}**${result.reason === undefined ? '' : ` (${result.reason})`}.${lastResponse}`);
  if (result.status !== 'delivered') showState(result.status);
  return { ...result, answer };
}

function parkedView({ eventType, eventId, endpointId }: WebhookDeliveryInput, answer: string | null): ParkedView {
  return {
    summary:
      'All attempts of the schedule to deliver the event to the endpoint have failed, and no more are scheduled.',
    lastResponse: { of: 'endpoint', words: answer ?? 'none' },
    fundsAtRisk:
      `none; ${endpointId} has not received ${eventType} ${eventId}, and the API shows the delivery as failed. A ` +
      'redelivery requested by the integrator, or closing the endpoint, also ends the wait',
  };
}
