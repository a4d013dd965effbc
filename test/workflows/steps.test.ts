// Every activity of every money flow fails, runs many times at once, loses its result and runs again: each scenario has
// the same outcome, to the kobo, with the same events and bank transfers.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { FAILS_AND_REPEATS, moneyActivities, startFaultInjectingWorker } from '../support/activities.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type Outcome, openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';

/** All scenarios run concurrently; the slowest waits for three lost sends. */
const LIMIT_MS = 900_000;

let flows: TestFlows;
let worker: { stop: () => Promise<void> };
const outcomes = new Map<Scenario, Promise<Outcome>>();
const activitiesRun = new Set<string>();

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS, worker: false });
  const openContext = await openScenarios(flows);
  worker = await startFaultInjectingWorker(flows.dependencies, (_organisationId, name) => {
    activitiesRun.add(name);
    return FAILS_AND_REPEATS;
  });
  const runScenario = async (scenario: Scenario): Promise<Outcome> => {
    const context = await openContext();
    const { workflowId, path } = await scenario.run(context);
    return await context.outcome(workflowId, path);
  };
  for (const scenario of SCENARIOS) outcomes.set(scenario, runScenario(scenario));
  await Promise.allSettled(outcomes.values());
}, LIMIT_MS);

afterAll(async () => {
  await worker.stop();
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

test.each(SCENARIOS)(
  'the outcome of $flow $ending is unchanged if every activity fails and repeats',
  async (scenario) => {
    expect(await outcomes.get(scenario)).toEqual(scenario.outcome);
  },
);

/** Only in a flow that has continued as new, and it changes nothing. */
const NOT_RUN = ['listUnplacedCredits'];

test('the scenarios cover every activity', () => {
  const steps = Object.keys(moneyActivities(flows.dependencies)).filter((name) => !NOT_RUN.includes(name));
  expect([...activitiesRun].toSorted()).toEqual(steps.toSorted());
});
