// Every step of every money flow fails in turn and runs more than once: each story ends the same, to the kobo, with the
// same events and the same transfers at the bank.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Uuid } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { FAULT_MODES, moneyActivities, startFaultInjectingWorker } from '../support/activities.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type Outcome, openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';

/** All stories play at the same time; the slowest waits for three lost sends. */
const LIMIT_MS = 900_000;

type Does = keyof typeof FAULT_MODES;

let flows: TestFlows;
let worker: { stop: () => Promise<void> };
const told = new Map<string, Promise<Outcome>>();
const ran = new Map<Does, Set<string>>();

const nameOf = (does: Does, { flow, ending }: Scenario) => `${flow}: ${ending}, and each step ${does}`;

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS, worker: false });
  const openStage = await openScenarios(flows);
  const does = new Map<Uuid, Does>();
  worker = await startFaultInjectingWorker(flows.services, (organisationId, name) => {
    const doing = does.get(organisationId) as Does;
    ran.set(doing, (ran.get(doing) ?? new Set()).add(name));
    return FAULT_MODES[doing];
  });
  const tell = async (doing: Does, story: Scenario): Promise<Outcome> => {
    const stage = await openStage();
    does.set(stage.organisationId, doing);
    const { workflowId, path } = await story.run(stage);
    return await stage.outcome(workflowId, path);
  };
  for (const doing of Object.keys(FAULT_MODES) as Does[]) {
    for (const story of SCENARIOS) told.set(nameOf(doing, story), tell(doing, story));
  }
  await Promise.allSettled(told.values());
}, LIMIT_MS);

afterAll(async () => {
  await worker.stop();
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

describe.each(Object.keys(FAULT_MODES) as Does[])('each step %s', (doing) => {
  test.each(SCENARIOS)('$flow: $ending', async (story) => {
    expect(await told.get(nameOf(doing, story))).toEqual(story.outcome);
  });

  test('and no step is left out', () => {
    const steps = Object.keys(moneyActivities(flows.services));
    expect([...(ran.get(doing) ?? [])].toSorted()).toEqual(steps.toSorted());
  });
});
