// Concurrency limiter per webhook endpoint, with health tracking: counts open requests and remembers which endpoints
// fail or respond slowly, so that one slow endpoint cannot occupy the slots of all deliveries. In memory only: each
// process learns it again after a restart.
import { LRUCache } from 'lru-cache';
import type { Uuid } from '../ids.ts';

/** A request that is open for longer occupies a slot that dozens of quick ones could use. */
const SLOW_MS = 2_000;
/** An endpoint that failed or was slow is unhealthy for this long; after that it gets direct attempts again. */
const UNHEALTHY_MS = 30_000;
const REMEMBERED_ENDPOINTS_MAX = 10_000;

export interface TrafficLimits {
  /**
   * The limit of open requests to one endpoint starts at min, grows by one with each quick success up to max, and drops
   * to min on a failed or slow request.
   */
  perEndpointMin: number;
  perEndpointMax: number;
  /** The limit of open requests to all endpoints together. */
  totalMax: number;
}

interface OpenRequest {
  since: number;
}

/**
 * An endpoint's current concurrency limit, and the time of its last failure or slow response; null when it is healthy.
 */
interface EndpointHealth {
  limit: number;
  failingAt: number | null;
}

export class EndpointLimiter {
  readonly #limits: TrafficLimits;
  readonly #now: () => number;
  readonly #open = new Map<Uuid, Set<OpenRequest>>();
  readonly #health = new LRUCache<Uuid, EndpointHealth>({ max: REMEMBERED_ENDPOINTS_MAX });
  #total = 0;

  constructor(limits: TrafficLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Acquires a slot for a request to this endpoint; null when a limit is reached. Call the result to release the slot.
   */
  acquire(endpointId: Uuid): ((outcome: 'answered' | 'failed') => void) | null {
    const open = this.#open.get(endpointId) ?? new Set();
    if (this.#total >= this.#limits.totalMax || open.size >= this.#limit(endpointId)) return null;
    const request = { since: this.#now() };
    this.#open.set(endpointId, open.add(request));
    this.#total += 1;
    return (outcome) => {
      if (!open.delete(request)) return;
      if (open.size === 0) this.#open.delete(endpointId);
      this.#total -= 1;
      const failing = outcome === 'failed' || this.#isSlow(request);
      this.#health.set(endpointId, {
        limit: failing
          ? this.#limits.perEndpointMin
          : Math.min(this.#limits.perEndpointMax, this.#limit(endpointId) + 1),
        failingAt: failing ? this.#now() : null,
      });
    };
  }

  /** Whether the endpoint failed or was slow within the last 30 s, or has a slow request open now. */
  isUnhealthy(endpointId: Uuid): boolean {
    const failingAt = this.#health.get(endpointId)?.failingAt ?? null;
    if (failingAt !== null && this.#now() - failingAt < UNHEALTHY_MS) return true;
    return [...(this.#open.get(endpointId) ?? [])].some((request) => this.#isSlow(request));
  }

  #limit(endpointId: Uuid): number {
    return this.#health.get(endpointId)?.limit ?? this.#limits.perEndpointMin;
  }

  #isSlow({ since }: OpenRequest): boolean {
    return this.#now() - since > SLOW_MS;
  }
}
