// What the sandbox bank can do: everything that the contract of the API promises.
import type { RailCapabilities } from '../capabilities.ts';

const DAY_SECONDS = 86_400;

/** The name of its rail. */
export const SANDBOX_RAIL = 'sandbox';

export const sandboxCapabilities = (limits: { callLimitMs: number; notVisibleForMs: number }): RailCapabilities => ({
  oneOff: { amount: 'any', maxSeconds: DAY_SECONDS, minAmount: 1, closes: true, lateMoney: 'accepted' },
  permanent: { needs: [] },
  credits: { settles: 'at_once' },
  transfers: {
    notVisibleForMs: limits.notVisibleForMs,
    unknownIsFinal: true,
    sameRecipientGapMs: 0,
    minAmount: 1,
    balance: false,
  },
  lists: { changeForMs: 3_600_000 },
  callbacks: { signed: 'body' },
  calls: { limitMs: limits.callLimitMs },
  charges: null,
});
