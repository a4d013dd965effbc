// Delivers an event to an endpoint, one attempt per call. The retry schedule is in the delivery's row, so a call that
// comes early, twice or after a reset of its flow does no harm.
import { activityInfo } from '@temporalio/activity';
import { requireUuid, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { createAttemptDelivery, type DeliveryDependencies } from '../webhooks/attempt.ts';
import { findDelivery, type PendingDelivery, reopenDelivery } from '../webhooks/deliveries.ts';
import { EndpointLimiter } from '../webhooks/endpointLimiter.ts';
import { jittered } from '../webhooks/retrySchedule.ts';
import { bookOf } from '../workflows/flows.ts';
import type {
  WebhookActivities,
  WebhookDeliveryInput,
  WebhookDeliveryResult,
} from '../workflows/webhookDelivery/messages.ts';
import { deliveryFailed, invariantViolation } from './failures.ts';

/**
 * A worker runs a hundred activities at a time, payments among them. These limits bound the part of it that slow
 * endpoints can occupy, each and together.
 */
const IN_FLIGHT = { perEndpointMin: 8, perEndpointMax: 8, totalMax: 40 };

/** Delay until a call that found no free slot is retried; grows up to the maximum. It does not count as an attempt. */
const BUSY_GAP_MS = 5_000;
const BUSY_GAP_MAX_MS = 60_000;

/** Tolerated clock difference between two machines: an attempt that is early by at most this is due. */
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
      if (outcome.status === 'failed' && outcome.reason === 'retries_exhausted') {
        // If the endpoint was closed before this failure was written, no signal reaches the flow: it must not park.
        const after = await findDelivery(dependencies.sql, book, delivery.eventId, delivery.endpointId);
        return after === null ? outcome : { ...endOf(after), answer: outcome.answer };
      }
      if (outcome.status !== 'pending') return outcome;
      const count = `attempt ${outcome.attempts} of ${attemptsMax}`;
      throw deliveryFailed(`${count}: ${outcome.answer}`, outcome.nextAttemptAt.getTime() - Date.now());
    } finally {
      release('answered');
    }
  }

  return {
    async deliverWebhook(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
      const book = bookOf(input);
      const delivery = await findDelivery(dependencies.sql, book, ...idsOf(input));
      if (delivery === null) throw invariantViolation(`no delivery of ${input.eventId} to ${input.endpointId}`);
      if (delivery.status !== 'pending') return endOf(delivery);
      const wait = (delivery.nextAttemptAt?.getTime() ?? 0) - Date.now();
      if (wait > EARLY_MS) throw deliveryFailed(`attempt ${delivery.attempts} of ${attemptsMax} failed`, wait);
      return await attempt(book, delivery);
    },

    async reopenDelivery(input: WebhookDeliveryInput): Promise<void> {
      const [eventId, endpointId] = idsOf(input);
      await reopenDelivery(dependencies.sql, bookOf(input), { eventId, endpointId });
    },
  };
}

const idsOf = ({ eventId, endpointId }: WebhookDeliveryInput): [Uuid, Uuid] => [
  requireUuid('event', eventId),
  requireUuid('webhookEndpoint', endpointId),
];

/**
 * How a delivery ended. If its retries are exhausted and its endpoint is closed, the reason is the endpoint's status.
 */
function endOf({ status, failureReason, endpointStatus }: PendingDelivery): WebhookDeliveryResult {
  if (status === 'delivered') return { status, answer: null };
  const isClosed = failureReason === 'retries_exhausted' && endpointStatus !== 'enabled';
  const reason = isClosed ? (`endpoint_${endpointStatus}` as const) : failureReason;
  return { status: 'failed', answer: null, ...(reason !== null && { reason }) };
}
