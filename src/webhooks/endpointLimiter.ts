// What this process knows of the endpoints it talks to right now: how many requests each has open, and which ones fail or
// are slow. It keeps one slow endpoint from holding the slots that everybody's deliveries need. Lost with the process,
// which then learns it again.
import { LRUCache } from 'lru-cache';
import type { Uuid } from '../ids.ts';

/** An answer that takes longer holds a slot that dozens of quick ones could use. */
const SLOW_MS = 2_000;
/** An endpoint that failed or was slow counts as struggling for this long; then it may be tried directly again. */
const STRUGGLING_MS = 30_000;
const REMEMBERED_ENDPOINTS_MAX = 10_000;

export interface TrafficLimits {
  /** Requests that may be open to one endpoint: at first, and after enough quick answers. Trouble brings it back down. */
  perEndpointMin: number;
  perEndpointMax: number;
  /** Requests that may be open to all endpoints together. */
  totalMax: number;
}

interface OpenRequest {
  since: number;
}

/** What an endpoint has earned: room by its quick answers, or none for a while by its last trouble. */
interface Standing {
  room: number;
  troubledAt: number | null;
}

export class EndpointLimiter {
  readonly #limits: TrafficLimits;
  readonly #now: () => number;
  readonly #open = new Map<Uuid, Set<OpenRequest>>();
  readonly #standings = new LRUCache<Uuid, Standing>({ max: REMEMBERED_ENDPOINTS_MAX });
  #total = 0;

  constructor(limits: TrafficLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Takes a slot for a request to this endpoint; null when it has too many open. Call the result when it is over. */
  acquire(endpointId: Uuid): ((outcome: 'answered' | 'failed') => void) | null {
    const open = this.#open.get(endpointId) ?? new Set();
    if (this.#total >= this.#limits.totalMax || open.size >= this.#room(endpointId)) return null;
    const request = { since: this.#now() };
    this.#open.set(endpointId, open.add(request));
    this.#total += 1;
    return (outcome) => {
      if (!open.delete(request)) return;
      if (open.size === 0) this.#open.delete(endpointId);
      this.#total -= 1;
      const troubled = outcome === 'failed' || this.#isSlow(request);
      this.#standings.set(endpointId, {
        room: troubled
          ? this.#limits.perEndpointMin
          : Math.min(this.#limits.perEndpointMax, this.#room(endpointId) + 1),
        troubledAt: troubled ? this.#now() : null,
      });
    };
  }

  /** Whether it failed or was slow lately, or leaves a request unanswered now. */
  isStruggling(endpointId: Uuid): boolean {
    const troubledAt = this.#standings.get(endpointId)?.troubledAt ?? null;
    if (troubledAt !== null && this.#now() - troubledAt < STRUGGLING_MS) return true;
    return [...(this.#open.get(endpointId) ?? [])].some((request) => this.#isSlow(request));
  }

  #room(endpointId: Uuid): number {
    return this.#standings.get(endpointId)?.room ?? this.#limits.perEndpointMin;
  }

  #isSlow({ since }: OpenRequest): boolean {
    return this.#now() - since > SLOW_MS;
  }
}
