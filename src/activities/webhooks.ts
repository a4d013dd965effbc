// Delivering an event to an endpoint, one attempt at a call. The retry schedule lives in the delivery's row, so an attempt
// that comes early, twice or after a reset of its flow does no harm.
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
 * A worker runs a hundred activities at a time, payments among them. However many endpoints are slow, they hold no more
 * than this part of the worker, and each no more than its own.
 */
const IN_FLIGHT = { perEndpointMin: 8, perEndpointMax: 8, totalMax: 40 };

/** An attempt that found no slot asks again after this, ever more slowly up to the maximum. It counts as no attempt. */
const BUSY_GAP_MS = 5_000;
const BUSY_GAP_MAX_MS = 60_000;

/** Clocks of two machines differ by less: an attempt that is early by no more than this is due. */
const EARLY_MS = 1_000;

export function createWebhookActivities(dependencies: DeliveryDependencies): WebhookActivities {
  const carry = createAttemptDelivery(dependencies);
  const traffic = new EndpointLimiter(IN_FLIGHT);
  const attemptsMax = dependencies.config.webhooks.retryGapsMs.length + 1;

  /** One attempt. Throws `undelivered`, with the gap until the next, when there is to be another. */
  async function attempt(book: Book, parcel: PendingDelivery): Promise<WebhookDeliveryResult> {
    const leave = traffic.acquire(parcel.endpointId);
    if (leave === null) {
      const gap = Math.min(BUSY_GAP_MAX_MS, BUSY_GAP_MS * activityInfo().attempt);
      throw deliveryFailed('other deliveries to this endpoint are under way', jittered(gap));
    }
    try {
      const carried = await carry(book, parcel);
      if (carried.status === 'failed' && carried.reason === 'retries_exhausted') {
        // Whoever closed the endpoint before this was written did not know that a flow would park because of it.
        const after = await findDelivery(dependencies.sql, book, parcel.eventId, parcel.endpointId);
        return after === null ? carried : { ...endOf(after), answer: carried.answer };
      }
      if (carried.status !== 'pending') return carried;
      const count = `attempt ${carried.attempts} of ${attemptsMax}`;
      throw deliveryFailed(`${count}: ${carried.answer}`, carried.nextAttemptAt.getTime() - Date.now());
    } finally {
      leave('answered');
    }
  }

  return {
    /** Makes the attempt that is due, or says how the delivery has ended. */
    async deliverWebhook(input: WebhookDeliveryInput): Promise<WebhookDeliveryResult> {
      const book = bookOf(input);
      const parcel = await findDelivery(dependencies.sql, book, ...idsOf(input));
      if (parcel === null) throw invariantViolation(`no delivery of ${input.eventId} to ${input.endpointId}`);
      if (parcel.status !== 'pending') return endOf(parcel);
      const wait = (parcel.nextAttemptAt?.getTime() ?? 0) - Date.now();
      if (wait > EARLY_MS) throw deliveryFailed(`attempt ${parcel.attempts} of ${attemptsMax} failed`, wait);
      return await attempt(book, parcel);
    },

    /** An operator has a delivery that was given up tried anew, by the whole schedule. */
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

/** How a delivery has ended. One whose retries are spent is over for good once its endpoint is closed. */
function endOf({ status, failureReason, endpointStatus }: PendingDelivery): WebhookDeliveryResult {
  if (status === 'delivered') return { status, answer: null };
  const isClosed = failureReason === 'retries_exhausted' && endpointStatus !== 'enabled';
  const reason = isClosed ? (`endpoint_${endpointStatus}` as const) : failureReason;
  return { status: 'failed', answer: null, ...(reason !== null && { reason }) };
}
