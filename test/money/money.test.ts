// Property-based test: random workloads of customers, payers and operators against the real API, worker and sandbox
// bank, with callbacks lost, repeated and out of order. Afterwards all money invariants hold and the ledger agrees with
// the bank.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import '../ledger/seed.ts';
import { violations } from '../../dev/chaos/invariants.ts';
import { workload } from '../../dev/chaos/workload.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { Simulation } from './simulation.ts';
import { startUnreliableCallbacks, type UnreliableCallbacks } from './unreliableCallbacks.ts';

/** The number of random workloads ("days"). For a long run: `MONEY_DAYS=200 npm test -- test/money`. */
const DAYS = Number(process.env.MONEY_DAYS ?? 3);
/** A day takes about twenty seconds, mostly waiting for payments to expire and for lost transfers to fail. */
const DAY_LIMIT_MS = 900_000;

let flows: TestFlows;
let callbacks: UnreliableCallbacks;
let openStage: () => Promise<ScenarioContext>;

beforeAll(async () => {
  callbacks = await startUnreliableCallbacks();
  flows = await startTestFlows({ settings: { ...SCENARIO_SETTINGS, SANDBOX_RAIL_CALLBACK_URL: callbacks.url } });
  callbacks.serve(`${flows.urls.test}/rails/sandbox/callbacks`);
  openStage = await openScenarios(flows);
});

afterAll(async () => {
  await flows.close();
  await callbacks.close();
});

// The days run concurrently, each in its own organisation, because they mostly wait.
test.concurrent.each(fc.sample(workload, DAYS).map((day, index) => ({ number: index + 1, day })))(
  'all money invariants hold after day $number',
  async ({ day }) => {
    const stage = await openStage();
    const simulation = new Simulation(stage, callbacks);
    try {
      await simulation.run(day);
      expect(simulation.faults).toEqual([]);
      expect(callbacks.refused).toEqual([]);
      expect(await violations(flows.sql, stage.organisationId)).toEqual([]);
    } catch (cause) {
      throw new Error(`The workload that failed: ${fc.stringify(day)}`, { cause });
    }
  },
  DAY_LIMIT_MS,
);

test(
  'the ledger has no violations after all days, and every workflow replays',
  async () => {
    expect((await verifyBooks(flows.sql)).findings).toEqual([]);
    await replayEverything(flows);
  },
  DAY_LIMIT_MS,
);
