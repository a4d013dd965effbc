// Limits of wallets by tier, and what is wrong with a policy that sets them. They are stored on the account of a
// wallet; the statement that moves the money enforces them.
import { z } from 'zod';

export const TIERS = ['tier1', 'tier2', 'tier3', 'business'] as const;
export type Tier = (typeof TIERS)[number];

/** Of what leaves a wallet in a day or a month of Lagos, in the order of `ledger.accounts.period_maxima`. */
export const PERIOD_LIMITS = ['daily_amount', 'daily_count', 'monthly_amount', 'monthly_count'] as const;

/** `transaction`: kobo in or out at a time, without fee. `balance`: kobo after a credit. Counts are of transactions. */
export const LIMITS = ['transaction', 'balance', ...PERIOD_LIMITS] as const;
export type Limit = (typeof LIMITS)[number];

/** Limits by name; none where there is no such name. */
export type TierLimits = Partial<Record<Limit, number>>;

/** The limits of each tier that a policy has. */
export const policySchema = z.partialRecord(
  z.enum(TIERS),
  z.partialRecord(z.enum(LIMITS), z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)),
);
export type Policy = Partial<Record<Tier, TierLimits>>;

/** The contract, section 8: of organisations without a policy, and of policies without a tier1. */
export const CONTRACT_TIER1 = { transaction: 5_000_000, balance: 30_000_000 } as const satisfies TierLimits;

/** Pairs of which the first is not greater than the second: otherwise the first can never be reached. */
const WITHIN: readonly (readonly [Limit, Limit])[] = [
  ['transaction', 'balance'],
  ['transaction', 'daily_amount'],
  ['transaction', 'monthly_amount'],
  ['daily_amount', 'monthly_amount'],
  ['daily_count', 'monthly_count'],
];

/** Each has at least the limits of the one before it. */
const RISING = ['tier1', 'tier2', 'tier3'] as const;

export interface PolicyProblem {
  /** Such as `tier2.daily_amount`. */
  field: string;
  code: 'contradiction' | 'above_ceiling' | 'not_in_ceiling';
  message: string;
}

/** What makes a policy contradict itself, or exceed the ceiling; null: there is none. No problem: it can be set. */
export function findProblems(policy: Policy, ceiling: Policy | null): PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  const require = (tier: Tier, limit: Limit, max: number | undefined, code: PolicyProblem['code'], what: string) => {
    const value = policy[tier]?.[limit] ?? Number.POSITIVE_INFINITY;
    if (max !== undefined && value > max)
      problems.push({ field: `${tier}.${limit}`, code, message: `must be at most ${what}, ${max}` });
  };
  for (const [tier, limits] of Object.entries(policy) as [Tier, TierLimits][]) {
    for (const [limit, other] of WITHIN)
      if (limits[limit] !== undefined) require(tier, limit, limits[other], 'contradiction', other);
    if (ceiling === null) continue;
    const highest = ceiling[tier];
    if (highest === undefined)
      problems.push({ field: tier, code: 'not_in_ceiling', message: 'must be a tier of the ceiling' });
    else for (const limit of LIMITS) require(tier, limit, highest[limit], 'above_ceiling', 'the ceiling');
  }
  const tiers = RISING.filter((tier) => policy[tier] !== undefined);
  tiers.slice(1).forEach((above, index) => {
    const tier = tiers[index] as Tier;
    for (const limit of LIMITS) require(tier, limit, policy[above]?.[limit], 'contradiction', `that of ${above}`);
  });
  return problems;
}
