// A circuit breaker: after several calls in a row without a response, calls are refused at once, so that a rail that is
// down costs no waiting and is not flooded when it returns. After a pause one call at a time probes it.
import { RailUnavailableError } from './errors.ts';

/** Opens after this many failures in a row, the first of them no longer ago than this. */
const FAILURES_MAX = 10;
const FAILURES_WITHIN_MS = 30_000;
/** The pause doubles with each failed probe. Jittered, so that processes do not probe at the same moment. */
const PAUSE_FIRST_MS = 2_000;
const PAUSE_MAX_MS = 30_000;

/** `abandoned`: the caller has stopped waiting, which says nothing about the rail. */
export type CallEnd = 'answered' | 'failed' | 'abandoned';

export class Breaker {
  readonly #now: () => number;
  readonly #random: () => number;
  #failures = 0;
  #failingSince = 0;
  /** Null: closed. */
  #openUntil: number | null = null;
  #pauseMs = PAUSE_FIRST_MS;
  #isProbing = false;

  constructor(now: () => number = () => performance.now(), random: () => number = Math.random) {
    this.#now = now;
    this.#random = random;
  }

  get isOpen(): boolean {
    return this.#openUntil !== null;
  }

  /** Admits a call, which reports how it has ended. Throws RailUnavailableError while open, unless a probe is due. */
  admit(): (end: CallEnd) => void {
    if (this.#openUntil === null) return (end) => this.#note(end);
    if (this.#isProbing || this.#now() < this.#openUntil)
      throw new RailUnavailableError('the rail is not called: it has not responded to the last calls', {
        isNotSent: true,
      });
    this.#isProbing = true;
    return (end) => {
      this.#isProbing = false;
      if (end === 'failed') this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2);
      this.#note(end);
    };
  }

  #note(end: CallEnd): void {
    if (end === 'abandoned') return;
    if (end === 'answered') {
      this.#failures = 0;
      this.#openUntil = null;
      this.#pauseMs = PAUSE_FIRST_MS;
      return;
    }
    const now = this.#now();
    if (this.#failures === 0 || (this.#openUntil === null && now - this.#failingSince > FAILURES_WITHIN_MS)) {
      this.#failures = 0;
      this.#failingSince = now;
    }
    this.#failures += 1;
    if (this.#failures >= FAILURES_MAX) this.#openUntil = now + this.#pauseMs * (0.5 + this.#random());
  }
}
