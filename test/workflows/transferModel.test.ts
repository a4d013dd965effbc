// Nothing is given back that the bank pays: the decisions of a transfer against a model of a bank, by random schedules,
// for the capabilities of every rail. A failure prints the seed and the schedule.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PROVIDERS } from '../../src/rail/providers.ts';
import { sandboxCapabilities } from '../../src/rail/sandbox/capabilities.ts';
import { limitsOf, runTransfer, schedules } from './transferModel.ts';

const SANDBOX = sandboxCapabilities({ callLimitMs: 5_000, notVisibleForMs: 7_000 });
const RAILS = [...PROVIDERS, { name: 'sandbox', capabilities: SANDBOX }].map(
  ({ name, capabilities }) => [name, capabilities.transfers] as const,
);
const RUNS = 5_000;

test.each(RAILS)('%s: what the bank has accepted is never given back, and is paid in the end', (_name, transfers) => {
  fc.assert(
    fc.property(schedules, (schedule) => {
      const { state, isPaid } = runTransfer(schedule, limitsOf(transfers));
      expect(isPaid && state !== 'completed').toBe(false);
    }),
    { numRuns: RUNS },
  );
});

test.each(RAILS)('%s: every transfer ends by itself, after an outage of up to an hour too', (_name, transfers) => {
  fc.assert(
    fc.property(schedules, (schedule) => {
      const { state } = runTransfer(schedule, limitsOf(transfers));
      expect(state).not.toBe('processing');
    }),
    { numRuns: RUNS },
  );
});

test.each([
  ['a refusal is believed at once', { notVisibleForMs: 0, unknownIsFinal: false }],
  ['silence is final too early', { notVisibleForMs: 60_000, unknownIsFinal: true }],
])('the schedules find what is wrong where %s', (_name, transfers) => {
  const { failed } = fc.check(
    fc.property(schedules, (schedule) => {
      const { state, isPaid } = runTransfer(schedule, limitsOf(transfers), 360_000);
      return !(isPaid && state === 'failed');
    }),
    { numRuns: RUNS },
  );
  expect(failed).toBe(true);
});
