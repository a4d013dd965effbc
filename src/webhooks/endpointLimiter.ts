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

/**
 * An endpoint's current concurrency limit, and the time of its last failure or slow response; null when it is healthy.
 */
interface EndpointHealth {
  limit: number;
  failingAt: number | null;
}

type Release = (outcome: 'answered' | 'failed') => void;

export class EndpointLimiter {
  readonly #limits: TrafficLimits;
  readonly #now: () => number;
  readonly #open = new Map<Uuid, Set<OpenRequest>>();
  readonly #health = new LRUCache<Uuid, EndpointHealth>({ max: REMEMBERED_ENDPOINTS_MAX });
  /** Requests that wait for a slot, first come, first served. */
  readonly #waiting = new Map<Uuid, Set<() => void>>();

  constructor(limits: TrafficLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Acquires a slot for a request to this endpoint; null when a limit is reached. Call the result to release the slot.
   */
  acquire(endpointId: Uuid): Release | null {
    const open = this.#open.get(endpointId) ?? new Set();
    if (open.size >= this.#limit(endpointId)) return null;
    const request = { since: this.#now() };
    this.#open.set(endpointId, open.add(request));
    return (outcome) => {
      if (!open.delete(request)) return;
      if (open.size === 0) this.#open.delete(endpointId);
      const failing = outcome === 'failed' || this.#isSlow(request);
      this.#health.set(endpointId, {
        limit: failing
          ? this.#limits.perEndpointMin
          : Math.min(this.#limits.perEndpointMax, this.#limit(endpointId) + 1),
        failingAt: failing ? this.#now() : null,
      });
      this.#wake(endpointId);
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
      const left = until - this.#now();
      if (left <= 0 || this.#isSuspect(endpointId)) return null;
      await this.#turn(endpointId, left);
    }
  }

  /** Whether its last request failed or was slow, however long ago, or one that is open is slow. */
  #isSuspect(endpointId: Uuid): boolean {
    return (this.#health.get(endpointId)?.failingAt ?? null) !== null || this.isUnhealthy(endpointId);
  }

  /** Resolves when a slot may be free, or after `ms`. */
  #turn(endpointId: Uuid, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(endpointId) ?? new Set();
      const wake = (): void => {
        clearTimeout(timer);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(endpointId);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.set(endpointId, waiting.add(wake));
    });
  }

  /** Wakes as many as there are free slots; all of them when the endpoint fails. */
  #wake(endpointId: Uuid): void {
    const free = this.#limit(endpointId) - (this.#open.get(endpointId)?.size ?? 0);
    const count = this.#isSuspect(endpointId) ? Number.POSITIVE_INFINITY : free;
    for (const wake of [...(this.#waiting.get(endpointId) ?? [])].slice(0, count)) wake();
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
