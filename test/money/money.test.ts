// Days of busy customers, payers and operators over the real API, worker and sandbox bank, with callbacks lost, repeated and
// out of order: whatever they do, every kobo is in exactly one place and the books agree with the bank's.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyLedger } from '../../src/ledger/verify.ts';
import '../ledger/seed.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { prepareInvariants, violations } from './invariants.ts';
import { Simulation } from './simulation.ts';
import { startUnreliableCallbacks, type UnreliableCallbacks } from './unreliableCallbacks.ts';
import { workload } from './workload.ts';

/** Days to live; more of them for a long night: `MONEY_DAYS=200 npm test -- test/money`. */
const DAYS = Number(process.env.MONEY_DAYS ?? 3);
/** A day takes some twenty seconds; most of it is waiting for windows to close and for a lost transfer to be given up. */
const DAY_LIMIT_MS = 900_000;

let flows: TestFlows;
let postman: UnreliableCallbacks;
let openStage: () => Promise<ScenarioContext>;

beforeAll(async () => {
  postman = await startUnreliableCallbacks();
  flows = await startTestFlows({ settings: { ...SCENARIO_SETTINGS, SANDBOX_RAIL_CALLBACK_URL: postman.url } });
  postman.serve(`${flows.urls.test}/rails/sandbox/callbacks`);
  openStage = await openScenarios(flows);
  await prepareInvariants(flows.sql);
});

afterAll(async () => {
  await flows.close();
  await postman.close();
});

// The days go by at the same time, each in an organisation of its own: all of them wait much and work little.
test.concurrent.each(fc.sample(workload, DAYS).map((one, number) => ({ number: number + 1, one })))(
  'every kobo is in exactly one place after day $number',
  async ({ one }) => {
    const stage = await openStage();
    const world = new Simulation(stage, postman);
    try {
      await world.run(one, stage);
      expect(world.faults).toEqual([]);
      expect(postman.refused).toEqual([]);
      expect(await violations(flows.sql, stage.organisationId)).toEqual([]);
    } catch (cause) {
      throw new Error(`It went wrong on this day: ${fc.stringify(one)}`, { cause });
    }
  },
  DAY_LIMIT_MS,
);

test(
  'the books of all days are whole, and every flow replays',
  async () => {
    expect((await verifyLedger(flows.sql)).findings).toEqual([]);
    await replayEverything(flows);
  },
  DAY_LIMIT_MS,
);
