// How many calls to a server are in progress at a time, by how long they take: as many as it answers quickly. A server
// at its limit answers no more calls a second when more of them wait, it only answers each later, also those of others.

export interface AdaptiveLimitOptions {
  min: number;
  max: number;
  /** A call that takes longer lowers the limit. */
  slowMs: number;
}

/** A fifteenth less for each slow call: fast enough for a burst, slow enough for one call that was slow by chance. */
const DECREASE = 14 / 15;

/**
 * The limit after a call that took `ms`: additive increase, by one for as many quick calls as the limit allows, and
 * multiplicative decrease, as congestion control does.
 */
export function nextLimit(limit: number, ms: number, { min, max, slowMs }: AdaptiveLimitOptions): number {
  return ms > slowMs ? Math.max(min, limit * DECREASE) : Math.min(max, limit + 1 / limit);
}

export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions;
  #limit: number;

  constructor(options: AdaptiveLimitOptions) {
    this.#options = options;
    this.#limit = options.max;
  }

  /** Whole calls. */
  get value(): number {
    return Math.floor(this.#limit);
  }

  /** Makes a call and learns from its duration, also when it fails. */
  async measure<Result>(call: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    try {
      return await call();
    } finally {
      this.#limit = nextLimit(this.#limit, performance.now() - startedAt, this.#options);
    }
  }
}
