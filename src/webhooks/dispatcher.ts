// Dispatching an event: the first attempt for every endpoint that wants it, all at the same time, straight from the
// outbox. What cannot be delivered at once becomes a `webhookDelivery` flow, where it waits without holding anybody up.
import { publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { WebhookDeliveryInput } from '../workflows/webhookDelivery/messages.ts';
import { createAttemptDelivery, type DeliveryDependencies } from './attempt.ts';
import { listPendingDeliveries, openDeliveries, type PendingDelivery } from './deliveries.ts';
import { EndpointLimiter } from './endpointLimiter.ts';

/**
 * How many direct attempts an endpoint gets at a time from one process. A new or troubled one holds a small part of the
 * relay's hundred slots even if it never answers; one that answers quickly earns enough for a burst. The rest are flows.
 */
const IN_FLIGHT = { perEndpointMin: 10, perEndpointMax: 40, totalMax: Number.POSITIVE_INFINITY };

export interface DispatcherDependencies extends DeliveryDependencies {
  /** Starts the flow of a delivery, or finds that it runs; with news it wakes it then. Rejects when Temporal is away. */
  startDelivery: (input: WebhookDeliveryInput, news?: 'news') => Promise<void>;
  /** Wakes the flow of a delivery if it runs: it may wait for hours, or for an operator. Rejects when Temporal is away. */
  wakeDelivery: (input: WebhookDeliveryInput) => Promise<void>;
}

/** An outbox message of topic `event`: plain UUIDs. */
export interface EventMessage {
  book: Book;
  eventId: Uuid;
  /** Only to this endpoint. */
  endpointId?: Uuid;
  /** The deliveries were opened again by whoever asked for it; no other endpoint gets the event. */
  redelivery?: true;
  /** The endpoint was disabled or deleted: nothing is sent, and the flow of its delivery is told. */
  endpointClosed?: true;
}

export interface Dispatcher {
  /**
   * Resolves when every delivery of the event is done or has a flow; rejects when one could be neither, and then the
   * message is to be handled again. A repeat sends nothing twice that was answered with 2xx.
   */
  dispatchEvent: (message: EventMessage) => Promise<void>;
}

export function createDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { sql, startDelivery, wakeDelivery } = dependencies;
  const carry = createAttemptDelivery(dependencies);
  const traffic = new EndpointLimiter(IN_FLIGHT);

  /** Makes an attempt, unless others would have to wait for it. Where the delivery stands then. */
  async function attempt(book: Book, parcel: PendingDelivery, redelivery: boolean): Promise<PendingDelivery['status']> {
    if (parcel.status !== 'pending') return parcel.status;
    // After the first attempt the schedule is the flow's; whoever asked for a redelivery gets one attempt more.
    const isFirst = parcel.attempts === 0;
    const isWanted = redelivery || (isFirst && !traffic.isStruggling(parcel.endpointId));
    const leave = isWanted ? traffic.acquire(parcel.endpointId) : null;
    if (leave === null) return parcel.status;
    let outcome: 'answered' | 'failed' = 'failed';
    try {
      const { status } = await carry(book, parcel, { extra: !isFirst });
      if (status === 'delivered') outcome = 'answered';
      return status;
    } finally {
      leave(outcome);
    }
  }

  /** What is left to do after the first attempt is the flow's; one that runs already is told what changed. */
  async function dispatch(
    book: Book,
    parcel: PendingDelivery,
    { redelivery, endpointClosed }: EventMessage,
  ): Promise<void> {
    const input = {
      ...book,
      eventId: publicId('event', parcel.eventId),
      endpointId: publicId('webhookEndpoint', parcel.endpointId),
      eventType: parcel.type,
    };
    if (endpointClosed) return await wakeDelivery(input);
    const status = await attempt(book, parcel, redelivery ?? false);
    if (status === 'pending') return await startDelivery(input, redelivery && 'news');
    if (redelivery) await wakeDelivery(input);
  }

  return {
    async dispatchEvent(message) {
      const { book, eventId, endpointId, redelivery, endpointClosed } = message;
      const read = redelivery || endpointClosed ? listPendingDeliveries : openDeliveries;
      const parcels = await read(sql, book, eventId, endpointId);
      const dispatched = await Promise.allSettled(parcels.map((parcel) => dispatch(book, parcel, message)));
      const failed = dispatched.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  };
}
