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

/** Opens, closes and admits calls, by how they ended. */
export type Breaker = ReturnType<typeof createBreaker>;

export function createBreaker(now: () => number = () => performance.now(), random: () => number = Math.random) {
  let failures = 0;
  let failingSince = 0;
  /** Null: closed. */
  let openUntil: number | null = null;
  let pauseMs = PAUSE_FIRST_MS;
  let isProbing = false;

  function note(end: CallEnd): void {
    if (end === 'abandoned') return;
    if (end === 'answered') {
      failures = 0;
      openUntil = null;
      pauseMs = PAUSE_FIRST_MS;
      return;
    }
    if (failures === 0 || (openUntil === null && now() - failingSince > FAILURES_WITHIN_MS)) {
      failures = 0;
      failingSince = now();
    }
    failures += 1;
    if (failures >= FAILURES_MAX) openUntil = now() + pauseMs * (0.5 + random());
  }

  return {
    isOpen: () => openUntil !== null,
    /** Admits a call, which reports how it has ended. Throws RailUnavailableError while open, unless a probe is due. */
    admit(): (end: CallEnd) => void {
      if (openUntil === null) return note;
      if (isProbing || now() < openUntil)
        throw new RailUnavailableError('the rail is not called: it has not responded to the last calls', {
          isNotSent: true,
        });
      isProbing = true;
      return (end) => {
        isProbing = false;
        if (end === 'failed') pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
        note(end);
      };
    },
  };
}
