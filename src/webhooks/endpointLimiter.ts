// Concurrency limiter per webhook endpoint, with health tracking: counts open requests and remembers which endpoints
// fail or respond slowly, so that one slow endpoint cannot occupy the slots of all deliveries. In memory only: each
// process learns it again after a restart.
import { LRUCache } from 'lru-cache';
import type { Uuid } from '../ids.ts';

/** A request that is open for longer occupies a slot that dozens of quick ones could use. */
const SLOW_MS = 2_000;
/** An endpoint that failed or was slow is unhealthy for this long. */
const UNHEALTHY_MS = 30_000;
const REMEMBERED_ENDPOINTS_MAX = 10_000;
/**
 * How long a request waits for a slot of an endpoint that is not known to fail. A quick one frees many in that time.
 */
const WAIT_MS = 2_000;

export interface TrafficLimits {
  /**
   * The limit of open requests to one endpoint starts at min, grows by one with each quick success up to max, and drops
   * to min on a failed or slow request.
   */
  perEndpointMin: number;
  perEndpointMax: number;
}

interface OpenRequest {
  since: number;
}

interface Endpoint {
  open: Set<OpenRequest>;
  /** Requests that wait for a slot, first come, first served. */
  waiting: Set<() => void>;
  limit: number;
  /** The time of the last failure or slow response; null when it is healthy. */
  failingAt: number | null;
}

type Release = (outcome: 'answered' | 'failed') => void;

export class EndpointLimiter {
  readonly #limits: TrafficLimits;
  readonly #now: () => number;
  readonly #endpoints = new LRUCache<Uuid, Endpoint>({ max: REMEMBERED_ENDPOINTS_MAX });

  constructor(limits: TrafficLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Acquires a slot for a request to this endpoint; null when a limit is reached. Call the result to release the slot.
   */
  acquire(endpointId: Uuid): Release | null {
    const endpoint = this.#endpoint(endpointId);
    const { open } = endpoint;
    if (open.size >= endpoint.limit) return null;
    const request = { since: this.#now() };
    open.add(request);
    return (outcome) => {
      if (!open.delete(request)) return;
      const { perEndpointMin, perEndpointMax } = this.#limits;
      const failing = outcome === 'failed' || this.#hasSlow([request]);
      endpoint.limit = failing ? perEndpointMin : Math.min(perEndpointMax, endpoint.limit + 1);
      endpoint.failingAt = failing ? this.#now() : null;
      // As many as there are free slots; all of them when the endpoint fails.
      const woken = this.#isSuspect(endpoint) ? Number.POSITIVE_INFINITY : endpoint.limit - open.size;
      for (const wake of [...endpoint.waiting].slice(0, woken)) wake();
    };
  }

  /**
   * The same, and waits for a slot, two seconds at most, while the endpoint is not known to fail or to be slow: a burst
   * for an endpoint that responds is delivered in order of arrival, and is not left to retries.
   */
  async acquireSoon(endpointId: Uuid): Promise<Release | null> {
    const until = this.#now() + WAIT_MS;
    for (;;) {
      const release = this.acquire(endpointId);
      if (release !== null) return release;
      const endpoint = this.#endpoint(endpointId);
      const left = until - this.#now();
      if (left <= 0 || this.#isSuspect(endpoint)) return null;
      await turn(endpoint, left);
    }
  }

  /** Whether the endpoint failed or was slow within the last 30 s, or has a slow request open now. */
  isUnhealthy(endpointId: Uuid): boolean {
    const { failingAt, open } = this.#endpoint(endpointId);
    return (failingAt !== null && this.#now() - failingAt < UNHEALTHY_MS) || this.#hasSlow(open);
  }

  #endpoint(endpointId: Uuid): Endpoint {
    const known = this.#endpoints.get(endpointId);
    if (known !== undefined) return known;
    const limit = this.#limits.perEndpointMin;
    const endpoint: Endpoint = { open: new Set(), waiting: new Set(), limit, failingAt: null };
    this.#endpoints.set(endpointId, endpoint);
    return endpoint;
  }

  /** Whether its last request failed or was slow, however long ago, or one that is open is slow. */
  #isSuspect({ failingAt, open }: Endpoint): boolean {
    return failingAt !== null || this.#hasSlow(open);
  }

  #hasSlow(requests: Iterable<OpenRequest>): boolean {
    return [...requests].some(({ since }) => this.#now() - since > SLOW_MS);
  }
}

/** Resolves when a slot may be free, or after `ms`. */
const turn = ({ waiting }: Endpoint, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      waiting.delete(wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    waiting.add(wake);
  });
