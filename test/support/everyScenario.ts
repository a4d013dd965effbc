// Tests that every scenario which a bank can have ends with the same outcome, to the kobo, with the same events and
// bank transfers, if every activity fails, runs many times at once, loses its result and runs again.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { FAILS_AND_REPEATS, moneyActivities, startFaultInjectingWorker } from './activities.ts';
import { startTestFlows, type TestFlows } from './flows.ts';
import { personalWords, replayEverything } from './histories.ts';
import type { ScenarioBanks } from './scenarioBank.ts';
import { type Outcome, openScenarios, type ScenarioContext } from './scenarioContext.ts';
import { outcomeOf, recordingOf, SCENARIO_SETTINGS, SCENARIOS, type Scenario } from './scenarios.ts';
import { violationsOf } from './violations.ts';

/** All scenarios run concurrently; the slowest waits for three lost sends. */
const LIMIT_MS = 900_000;

const lacksOf = ({ needs }: Scenario, { can }: ScenarioBanks) => (needs === undefined || can[needs] ? null : needs);

/** The scenarios that a bank cannot have, each with what it needs. */
export const without = (banks: ScenarioBanks): Record<string, string> =>
  Object.fromEntries(
    SCENARIOS.flatMap((scenario) => {
      const lacks = lacksOf(scenario, banks);
      return lacks === null ? [] : [[recordingOf(scenario), lacks]];
    }),
  );

/** Defines the tests. `notRun`: the activities that these scenarios do not run. */
export function testEveryScenario(banks: ScenarioBanks, notRun: readonly string[]): void {
  let flows: TestFlows;
  let worker: { stop: () => Promise<void> };
  const scenarios = SCENARIOS.filter((scenario) => lacksOf(scenario, banks) === null);
  const contexts: ScenarioContext[] = [];
  const outcomes = new Map<Scenario, Promise<Outcome>>();
  const activitiesRun = new Set<string>();

  beforeAll(async () => {
    const settings = { ...SCENARIO_SETTINGS, ...banks.settings };
    flows = await startTestFlows({ settings, worker: false, rails: banks.rails });
    const openContext = await openScenarios(flows, banks);
    worker = await startFaultInjectingWorker(flows.dependencies, (_organisationId, name) => {
      activitiesRun.add(name);
      return FAILS_AND_REPEATS;
    });
    const runScenario = async (scenario: Scenario): Promise<Outcome> => {
      const context = await openContext();
      contexts.push(context);
      const { workflowId, path } = await scenario.run(context);
      return await context.outcome(workflowId, path);
    };
    for (const scenario of scenarios) outcomes.set(scenario, runScenario(scenario));
    await Promise.allSettled(outcomes.values());
  }, LIMIT_MS);

  afterAll(async () => {
    await worker.stop();
    const findings = await violationsOf(flows.sql);
    const searched = [...(await personalWords(flows.sql)), ...banks.secrets];
    if (banks.secrets.length > 0) await replayEverything(flows, searched);
    const log = flows.logged.join('');
    const kept = [...banks.secrets, KYC.bvn].filter((secret) => log.includes(secret));
    await flows.close();
    const complaints = await banks.close();
    expect([findings, kept, complaints]).toEqual([[], [], []]);
    expect(searched).toEqual(
      expect.arrayContaining([KYC.bvn, KYC.phone, KYC.dateOfBirth, 'Ada Obi', 'ada@test.example']),
    );
  }, LIMIT_MS);

  test.each(scenarios)(
    'the outcome of $flow $ending is unchanged if every activity fails and repeats',
    async (scenario) => {
      expect(await outcomes.get(scenario)).toEqual(outcomeOf(scenario));
    },
  );

  test('the scenarios cover every activity', () => {
    const steps = Object.keys(moneyActivities(flows.dependencies)).filter((name) => !notRun.includes(name));
    expect([...activitiesRun].toSorted()).toEqual(steps.toSorted());
  });

  test('each reference is paid at most once, by the book of the bank', async () => {
    const transfers = (await Promise.all(contexts.map(({ bank }) => bank.transfers()))).flat();
    expect(transfers.length).toBeGreaterThan(0);
    expect(transfers.filter(({ paid, returned }) => paid > 1 || returned > paid)).toEqual([]);
  });
}
