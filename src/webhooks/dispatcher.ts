// Event dispatch from the outbox relay: makes the first attempt for every subscribed endpoint, concurrently. A delivery
// that cannot be made at once is handed to a `webhookDelivery` flow, where it waits without holding a slot of the
// relay.
import { publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { WebhookDeliveryInput } from '../workflows/webhookDelivery/messages.ts';
import { createAttemptDelivery, type DeliveryDependencies } from './attempt.ts';
import { listPendingDeliveries, openDeliveries, type PendingDelivery } from './deliveries.ts';
import { EndpointLimiter } from './endpointLimiter.ts';

/**
 * Concurrent direct attempts to one endpoint, per process. A new or failing endpoint can occupy at most 10 of the
 * relay's 100 slots even if it never responds; an endpoint that responds quickly is raised to 40. Deliveries above the
 * limit wait for a moment if the endpoint has not failed yet; otherwise they become flows.
 */
const IN_FLIGHT = { perEndpointMin: 10, perEndpointMax: 40, totalMax: Number.POSITIVE_INFINITY };

export interface DispatcherDependencies extends DeliveryDependencies {
  /** Starts the flow of a delivery, or finds it running; `changed` also signals it. Rejects when Temporal is down. */
  startDelivery: (input: WebhookDeliveryInput, change?: 'changed') => Promise<void>;
  /** Signals the flow of a delivery if it runs: it may wait for hours. Rejects when Temporal is down. */
  wakeDelivery: (input: WebhookDeliveryInput) => Promise<void>;
}

/** An outbox message of topic `event`: plain UUIDs. */
export interface EventMessage {
  book: Book;
  eventId: Uuid;
  /** Set: deliver to this endpoint only. */
  endpointId?: Uuid;
  /** The request for a redelivery has already reopened the deliveries; no new ones are created. */
  redelivery?: true;
}

/**
 * Resolves when every delivery of the event has ended or has a flow. Rejects otherwise; the message must then be
 * handled again. A repeat does not resend a delivery that got a 2xx response.
 */
export type DispatchEvent = (message: EventMessage) => Promise<void>;

export function createDispatcher(dependencies: DispatcherDependencies): DispatchEvent {
  const { sql, startDelivery, wakeDelivery } = dependencies;
  const attemptDelivery = createAttemptDelivery(dependencies);
  const limiter = new EndpointLimiter(IN_FLIGHT);

  /**
   * Makes a direct attempt unless the endpoint is unhealthy or at its limit. Returns the delivery's status after it.
   */
  async function attempt(
    book: Book,
    delivery: PendingDelivery,
    redelivery: boolean,
  ): Promise<PendingDelivery['status']> {
    if (delivery.status !== 'pending') return delivery.status;
    // Later scheduled attempts are made by the flow; a requested redelivery gets one extra direct attempt.
    const isFirst = delivery.attempts === 0;
    const isDirect = redelivery || (isFirst && !limiter.isUnhealthy(delivery.endpointId));
    const release = isDirect ? await limiter.acquireSoon(delivery.endpointId) : null;
    if (release === null) return delivery.status;
    let outcome: 'answered' | 'failed' = 'failed';
    try {
      const { status } = await attemptDelivery(book, delivery, !isFirst);
      if (status === 'delivered') outcome = 'answered';
      return status;
    } finally {
      release(outcome);
    }
  }

  /** Makes the direct attempt and leaves a pending delivery to its flow; a flow that runs already is signalled. */
  async function dispatch(book: Book, delivery: PendingDelivery, { redelivery }: EventMessage): Promise<void> {
    const input = {
      ...book,
      eventId: publicId('event', delivery.eventId),
      endpointId: publicId('webhookEndpoint', delivery.endpointId),
      eventType: delivery.type,
    };
    const status = await attempt(book, delivery, redelivery ?? false);
    if (status === 'pending') return await startDelivery(input, redelivery && 'changed');
    if (redelivery) await wakeDelivery(input);
  }

  return async (message) => {
    const { book, eventId, endpointId, redelivery } = message;
    const read = redelivery ? listPendingDeliveries : openDeliveries;
    const deliveries = await read(sql, book, eventId, endpointId);
    const dispatched = await Promise.allSettled(deliveries.map((delivery) => dispatch(book, delivery, message)));
    const failed = dispatched.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
}
