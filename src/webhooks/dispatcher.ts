// Deliveries of events: the first attempt at every subscribed endpoint when the relay has the event, unless it has an
// outage, and later ones when they are due. What waits is a row, so an endpoint that does not respond costs nothing
// meanwhile and delays no other.
import { PollingLoop } from '../concurrency/pollingLoop.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { createAttemptDelivery, type DeliveryDependencies } from './attempt.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  findDelivery,
  leaveDue,
  openDeliveries,
  type PendingDelivery,
} from './deliveries.ts';
import { EndpointLimiter } from './endpointLimiter.ts';

/**
 * Concurrent first attempts to one endpoint, per process. A new endpoint can occupy at most 10 of the relay's 100 slots
 * even if it never responds; an endpoint that responds quickly is raised to 40. Deliveries above the limit wait for a
 * moment if the endpoint has not failed yet; otherwise they are left as due.
 */
const IN_FLIGHT = { perEndpointMin: 10, perEndpointMax: 40 };
/** Attempts of due deliveries at a time, per process. */
const RETRY_CONCURRENCY = 100;
/** Each look reads an index entry for every endpoint with pending deliveries. */
const IDLE_PAUSE_MS = 500;

/** An outbox message of topic `event`: plain UUIDs. */
export interface EventMessage {
  book: Book;
  eventId: Uuid;
  /** Set: deliver to this endpoint only. */
  endpointId?: Uuid;
}

/**
 * Resolves when every delivery of the event has been attempted, or is left as due. Rejects otherwise; the message must
 * then be handled again. A repeat sends nothing twice.
 */
export type DispatchEvent = (message: EventMessage) => Promise<void>;

/** `retries` attempts what is due, until it is stopped. */
export function createDispatcher(dependencies: DeliveryDependencies) {
  const { sql, config, log } = dependencies;
  const attemptDelivery = createAttemptDelivery(dependencies);
  const limiter = new EndpointLimiter(IN_FLIGHT);

  /** Makes an attempt, and remembers whether the endpoint responds. */
  async function attempt(book: Book, delivery: PendingDelivery, release: ReturnType<typeof limiter.acquire>) {
    let outcome: 'answered' | 'failed' = 'failed';
    try {
      const { status } = await attemptDelivery(book, delivery);
      if (status === 'delivered') outcome = 'answered';
    } finally {
      release?.(outcome);
    }
  }

  /** Makes the first attempt, and returns null; the endpoint, if it is unhealthy (and not tested) or at its limit. */
  async function attemptFirst(book: Book, delivery: PendingDelivery, isTest: boolean): Promise<Uuid | null> {
    const { endpointId } = delivery;
    const release = !isTest && limiter.isUnhealthy(endpointId) ? null : await limiter.acquireSoon(endpointId);
    if (release === null) return endpointId;
    await attempt(book, delivery, release);
    return null;
  }

  let last: Uuid | null = null; // whose turn was the last one
  const retries = new PollingLoop<ClaimedDelivery>({
    concurrency: RETRY_CONCURRENCY,
    idlePauseMs: IDLE_PAUSE_MS,
    claim: async (max) => {
      const claimed = await claimDeliveries(sql, { after: last, max, atOnce: config.webhooks.retriesAtOnce });
      last = claimed.at(-1)?.endpointId ?? last;
      return claimed;
    },
    handle: async ({ eventId, endpointId, ...book }) => {
      const delivery = await findDelivery(sql, book, eventId, endpointId);
      if (delivery?.status === 'pending') await attempt(book, delivery, limiter.acquire(endpointId));
    },
    onError: (error) => log.error({ err: error }, 'due webhook deliveries could not be attempted; retrying'),
  });

  const dispatchEvent: DispatchEvent = async ({ book, eventId, endpointId }) => {
    const opened = await openDeliveries(sql, book, eventId, endpointId);
    const tried = await Promise.allSettled(
      opened.map((delivery) => attemptFirst(book, delivery, endpointId !== undefined)),
    );
    const failed = tried.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const left = tried.flatMap((one) => (one.status === 'fulfilled' && one.value !== null ? [one.value] : []));
    if (left.length > 0) await leaveDue(sql, book, eventId, left);
  };
  return { dispatchEvent, retries };
}
