// Every activity of every money flow fails in turn and runs more than once: each scenario has the same outcome, to the
// kobo, with the same events and bank transfers.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Uuid } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { FAULT_MODES, moneyActivities, startFaultInjectingWorker } from '../support/activities.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type Outcome, openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';

/** All scenarios run concurrently; the slowest waits for three lost sends. */
const LIMIT_MS = 900_000;

type FaultMode = keyof typeof FAULT_MODES;

let flows: TestFlows;
let worker: { stop: () => Promise<void> };
const outcomes = new Map<string, Promise<Outcome>>();
const activitiesRun = new Map<FaultMode, Set<string>>();

const nameOf = (mode: FaultMode, { flow, ending }: Scenario) => `${flow}: ${ending}, and every activity ${mode}`;

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS, worker: false });
  const openContext = await openScenarios(flows);
  const modeOf = new Map<Uuid, FaultMode>();
  worker = await startFaultInjectingWorker(flows.dependencies, (organisationId, name) => {
    const mode = modeOf.get(organisationId) as FaultMode;
    activitiesRun.set(mode, (activitiesRun.get(mode) ?? new Set()).add(name));
    return FAULT_MODES[mode];
  });
  const runScenario = async (mode: FaultMode, scenario: Scenario): Promise<Outcome> => {
    const context = await openContext();
    modeOf.set(context.organisationId, mode);
    const { workflowId, path } = await scenario.run(context);
    return await context.outcome(workflowId, path);
  };
  for (const mode of Object.keys(FAULT_MODES) as FaultMode[]) {
    for (const scenario of SCENARIOS) outcomes.set(nameOf(mode, scenario), runScenario(mode, scenario));
  }
  await Promise.allSettled(outcomes.values());
}, LIMIT_MS);

afterAll(async () => {
  await worker.stop();
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

describe.each(Object.keys(FAULT_MODES) as FaultMode[])('scenarios in which every activity %s', (mode) => {
  test.each(SCENARIOS)(`the outcome of $flow $ending is unchanged if every activity ${mode}`, async (scenario) => {
    expect(await outcomes.get(nameOf(mode, scenario))).toEqual(scenario.outcome);
  });

  test(`the scenarios cover every activity that ${mode}`, () => {
    const steps = Object.keys(moneyActivities(flows.dependencies));
    expect([...(activitiesRun.get(mode) ?? [])].toSorted()).toEqual(steps.toSorted());
  });
});
