// The scenarios of steps.slow.test.ts with Monnify as the rail: while every activity of every money flow fails, runs
// many times at once, loses its result and runs again, each has the same outcome as over the sandbox bank, and each
// reference was paid at most once by the books of the fake.
import { expect, test } from '@jest/globals';
import { testEveryScenario, without } from '../support/everyScenario.ts';
import { MonnifyBanks } from '../support/monnifyBank.ts';

const banks = new MonnifyBanks();

/** Monnify reports no recall; see steps.slow.test.ts for the other one. */
testEveryScenario(banks, ['applyRecall', 'listUnappliedCredits']);

test('the scenarios that Monnify cannot have are these, each for what it cannot do', () => {
  expect(without(banks)).toEqual({
    'payment-partialThenSettled': 'any_amount',
    'payment-partialThenExpired': 'any_amount',
    'payment-unconfirmedThenSettledByAnother': 'any_amount',
    'payment-lateCredit': 'late_money',
    'payment-cancelledThenPaid': 'late_money',
    'reviewCase-returnedUnasked': 'late_money',
    'inboundCredit-recalledBeforePosting': 'recalls',
    'recall-takenFromWallet': 'recalls',
    'recall-takenFromPayment': 'recalls',
    'recall-unconfirmedSetAside': 'recalls',
    'reviewCase-recalled': 'recalls',
  });
});
