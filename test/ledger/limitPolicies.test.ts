// Policies of limits as data: each way in which one contradicts itself or exceeds its ceiling has a code and the field.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONTRACT_TIER1, findProblems, LIMITS, type Policy, TIERS } from '../../src/ledger/limits.ts';
import './seed.ts';

test.each<[name: string, policy: Policy, ceiling: Policy | null, problems: string[]]>([
  ["the contract's", { tier1: CONTRACT_TIER1 }, null, []],
  ['no limits at all', { tier1: {}, business: {} }, null, []],
  ['equal limits', { tier1: { transaction: 5, balance: 5, daily_amount: 5, monthly_amount: 5 } }, null, []],
  [
    'a transaction above the balance',
    { tier1: { transaction: 6, balance: 5 } },
    null,
    ['tier1.transaction contradiction'],
  ],
  [
    'a transaction above the day and the month',
    { tier2: { transaction: 6, daily_amount: 5, monthly_amount: 5 } },
    null,
    ['tier2.transaction contradiction', 'tier2.transaction contradiction'],
  ],
  [
    'a day above the month',
    { tier3: { daily_amount: 6, monthly_amount: 5 } },
    null,
    ['tier3.daily_amount contradiction'],
  ],
  [
    'a count above the month',
    { tier1: { daily_count: 6, monthly_count: 5 } },
    null,
    ['tier1.daily_count contradiction'],
  ],
  ['a lower tier2', { tier1: { balance: 6 }, tier2: { balance: 5 } }, null, ['tier1.balance contradiction']],
  [
    'a tier2 with a limit that tier1 lacks',
    { tier1: {}, tier2: { daily_count: 5 } },
    null,
    ['tier1.daily_count contradiction'],
  ],
  [
    'a tier3 below tier1, without tier2',
    { tier1: { balance: 6 }, tier3: { balance: 5 } },
    null,
    ['tier1.balance contradiction'],
  ],
  ['a business below tier1', { tier1: { balance: 6 }, business: { balance: 5 } }, null, []],
  ['a limit above the ceiling', { tier1: { balance: 6 } }, { tier1: { balance: 5 } }, ['tier1.balance above_ceiling']],
  [
    'a limit of the ceiling left out',
    { tier1: {} },
    { tier1: { daily_count: 5 } },
    ['tier1.daily_count above_ceiling'],
  ],
  ['a tier that the ceiling lacks', { tier1: {}, business: {} }, { tier1: {} }, ['business not_in_ceiling']],
])('%s', (_, policy, ceiling, problems) => {
  expect(findProblems(policy, ceiling).map(({ field, code }) => `${field} ${code}`)).toEqual(problems);
});

const tierLimits = fc.record(Object.fromEntries(LIMITS.map((limit) => [limit, fc.integer({ min: 1, max: 9 })])), {
  requiredKeys: [],
});
const policies = fc.record(Object.fromEntries(TIERS.map((tier) => [tier, tierLimits])), { requiredKeys: [] });

test('a policy without problems allows at most its ceiling, and can be its own ceiling', () => {
  fc.assert(
    fc.property(policies as fc.Arbitrary<Policy>, policies as fc.Arbitrary<Policy>, (policy, ceiling) => {
      const within = (Object.keys(policy) as (keyof Policy)[]).every(
        (tier) =>
          ceiling[tier] !== undefined &&
          LIMITS.every((limit) => (policy[tier]?.[limit] ?? Infinity) <= (ceiling[tier]?.[limit] ?? Infinity)),
      );
      const alone = findProblems(policy, null).length;
      expect(findProblems(policy, ceiling).length === alone).toBe(within);
      expect(findProblems(policy, policy)).toHaveLength(alone);
    }),
  );
});
