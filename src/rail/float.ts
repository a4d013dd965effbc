// The balance that a rail pays from, as far as this process knows it. It keeps back what the rail would refuse, so that
// a low balance makes transfers wait instead of fail, whatever the rail responds to a transfer that it cannot pay.
import type { Kobo } from '../money.ts';
import { RailNotReadyError, RailUnavailableError } from './errors.ts';

/** A balance is believed for this long, less what was sent since. */
const BELIEVED_MS = 10_000;
/** A balance that is too low is read again after this. */
const READ_AGAIN_AFTER_MS = 1_000;

/**
 * Returns what admits a transfer, and counts it. That throws RailNotReadyError `underfunded` when the balance is too
 * low.
 */
export function floatGate(now: () => number = () => performance.now()) {
  let known: { available: Kobo; at: number } | null = null;
  return async (amount: Kobo, read: () => Promise<Kobo | null>): Promise<void> => {
    const age = known === null ? Number.POSITIVE_INFINITY : now() - known.at;
    const isEnough = known !== null && amount <= known.available;
    if (age > (isEnough ? BELIEVED_MS : READ_AGAIN_AFTER_MS)) {
      known = null;
      const available = await read().catch((error: unknown) => {
        const decidesItself = error instanceof RailUnavailableError || isRateLimited(error);
        return decidesItself ? null : Promise.reject(error);
      });
      if (available === null) return;
      known = { available, at: now() };
    }
    if (known === null) return;
    if (amount > known.available) {
      throw new RailNotReadyError('underfunded', 'the balance that the rail pays from is too low');
    }
    known.available -= amount;
  };
}

const isRateLimited = (error: unknown): boolean => error instanceof RailNotReadyError && error.why === 'rate_limited';
