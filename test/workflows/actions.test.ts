// What the usual ending of a payment costs in Temporal, which limits how many flows a server can run.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { countActions } from '../support/temporalActions.ts';

test('a settled payment costs exactly one signal-with-start and one activity', () => {
  const history = readFileSync(new URL('histories/payment-settled.json', import.meta.url), 'utf8');
  expect(countActions(JSON.parse(history).events)).toEqual({
    starts: 0,
    activities: 1,
    signals: 1,
    timers: 0,
    'search attributes': 0,
    updates: 0,
  });
});
