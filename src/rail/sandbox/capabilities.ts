// What the sandbox bank can do: everything that the contract of the API promises.
import { AMOUNT_MAX } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';

const DAY_SECONDS = 86_400;

export interface SandboxLimits {
  callLimitMs: number;
  unknownIsFinalAfterMs: number;
}

/** The name of its rail. */
export const SANDBOX_RAIL = 'sandbox';

export const sandboxCapabilities = (limits: SandboxLimits): RailCapabilities => ({
  oneOff: { amount: 'any', maxSeconds: DAY_SECONDS, minAmount: 1, closes: true, lateMoney: 'taken' },
  permanent: { needs: [] },
  credits: { listable: true, senderAccount: 'full', settles: 'at_once' },
  transfers: {
    unknownIsFinalAfterMs: limits.unknownIsFinalAfterMs,
    sameRecipientGapMs: 0,
    sessionId: 'answer',
    minAmount: 1,
    maxAmount: AMOUNT_MAX,
    balance: false,
  },
  callbacks: { signed: 'body', timestamped: true },
  statement: { credits: true, transfers: true, charges: true, settlements: true },
  calls: { limitMs: limits.callLimitMs },
  charges: null,
});
