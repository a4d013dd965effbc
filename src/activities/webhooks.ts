// Delivers an event to an endpoint, one attempt per call. The retry schedule is in the delivery's row, so a call that
// comes early, twice or after a reset of its flow does no harm.
import { activityInfo } from '@temporalio/activity';
import { requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { createAttemptDelivery, type DeliveryDependencies } from '../webhooks/attempt.ts';
import { findDelivery, type PendingDelivery } from '../webhooks/deliveries.ts';
import { EndpointLimiter } from '../webhooks/endpointLimiter.ts';
import { jittered } from '../webhooks/retrySchedule.ts';
import { bookOf } from '../workflows/flows.ts';
import type {
  WebhookActivities,
  WebhookDeliveryInput,
  WebhookDeliveryResult,
} from '../workflows/webhookDelivery/messages.ts';
import { deliveryFailed, invariantViolation } from './failures.ts';

/** Bounds the part of a worker's hundred activities that slow endpoints can occupy, each and together. */
const IN_FLIGHT = { perEndpointMin: 8, perEndpointMax: 8, totalMax: 40 };

/** Delay until a call that found no free slot is retried; grows up to the maximum. It does not count as an attempt. */
const BUSY_GAP_MS = 5_000;
const BUSY_GAP_MAX_MS = 60_000;

/** An attempt that is early by at most this is due: timers of Temporal and the database are two clocks. */
const EARLY_MS = 1_000;

export function createWebhookActivities(dependencies: DeliveryDependencies): WebhookActivities {
  const attemptDelivery = createAttemptDelivery(dependencies);
  const limiter = new EndpointLimiter(IN_FLIGHT);
  const attemptsMax = dependencies.config.webhooks.retryGapsMs.length + 1;

  /** Makes one attempt. If another is to follow, throws `WEBHOOK_UNDELIVERED` with the delay until then. */
  async function attempt(book: Book, delivery: PendingDelivery): Promise<WebhookDeliveryResult> {
    const release = limiter.acquire(delivery.endpointId);
    if (release === null) {
      const gap = Math.min(BUSY_GAP_MAX_MS, BUSY_GAP_MS * activityInfo().attempt);
      throw deliveryFailed('no free slot: other deliveries are in progress', jittered(gap));
    }
    try {
      const outcome = await attemptDelivery(book, delivery);
      if (outcome.status !== 'pending') return outcome;
      const count = `attempt ${outcome.attempts} of ${attemptsMax}`;
      throw deliveryFailed(`${count}: ${outcome.answer}`, outcome.waitMs);
    } finally {
      release('answered');
    }
  }

  return {
    async deliverWebhook(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
      const book = bookOf(input);
      const [eventId, endpointId] = [
        requireUuid('event', input.eventId),
        requireUuid('webhookEndpoint', input.endpointId),
      ];
      const delivery = await findDelivery(dependencies.sql, book, eventId, endpointId);
      if (delivery === null) throw invariantViolation(`no delivery of ${input.eventId} to ${input.endpointId}`);
      if (delivery.status !== 'pending') return endOf(delivery);
      const { attempts, waitMs } = delivery;
      if (waitMs > EARLY_MS) throw deliveryFailed(`attempt ${attempts} of ${attemptsMax} failed`, waitMs);
      return await attempt(book, delivery);
    },
  };
}

/** How a delivery ended. */
function endOf({ status, failureReason: reason }: PendingDelivery): WebhookDeliveryResult {
  if (status === 'delivered') return { status, answer: null };
  return { status: 'failed', answer: null, ...(reason !== null && { reason }) };
}
