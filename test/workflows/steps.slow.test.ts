// Every activity of every money flow fails, runs many times at once, loses its result and runs again: each scenario has
// the same outcome, to the kobo, with the same events and bank transfers.
import { expect, test } from '@jest/globals';
import { testEveryScenario, without } from '../support/everyScenario.ts';
import { sandboxBanks } from '../support/scenarioBank.ts';

const banks = sandboxBanks();

/** Only in a flow that has continued as new, and it changes nothing. */
testEveryScenario(banks, ['listUnappliedCredits']);

test('the sandbox bank can have every scenario', () => {
  expect(without(banks)).toEqual({});
});
