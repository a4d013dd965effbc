// `npm run histories`: runs the scenarios against the test stack and records the histories of their flows, which
// `npm test` replays from then on. Existing histories are never overwritten: the history of a changed flow gets a new
// file next to them (docs/replaying.md).
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { answerVersion } from '../src/release.ts';
import type { TestSettings } from '../test/support/api.ts';
import { startTestFlows, type TestFlows } from '../test/support/flows.ts';
import globalSetup from '../test/support/globalSetup.ts';
import globalTeardown from '../test/support/globalTeardown.ts';
import { findWords, HISTORIES, historyText, personalWords } from '../test/support/histories.ts';
import { openScenarios, type ScenarioContext } from '../test/support/scenarioContext.ts';
import {
  ISOLATED_SCENARIOS,
  type IsolatedScenario,
  recordingOf,
  SCENARIO_SETTINGS,
  SCENARIOS,
  type Scenario,
} from '../test/support/scenarios.ts';
import { suggestContinueAsNew } from '../test/support/suggestions.ts';

answerVersion();
/** Prefixes of the scenarios to record again. Without any: the scenarios without a history. */
const prefixes = process.argv.slice(2);

const fileOf = (name: string): string => path.join(HISTORIES, `${name}.json`);

function isSelected(scenario: Pick<Scenario, 'flow' | 'ending'>): boolean {
  const name = recordingOf(scenario);
  return prefixes.length === 0 ? !existsSync(fileOf(name)) : prefixes.some((prefix) => name.startsWith(prefix));
}

/** Returns the first candidate name: `withdrawal-completed`, then `withdrawal-completed-2` … */
function freeName(name: string): string {
  let candidate = name;
  for (let number = 2; existsSync(fileOf(candidate)); number += 1) candidate = `${name}-${number}`;
  return candidate;
}

const scenarios = SCENARIOS.filter(isSelected);
const isolated = ISOLATED_SCENARIOS.filter(isSelected);

type Recorded = Pick<Scenario, 'flow' | 'ending' | 'run'>;

async function record(flows: TestFlows, context: ScenarioContext, scenario: Recorded): Promise<void> {
  const { workflowId, runId } = await scenario.run(context);
  await context.untilQuiet(workflowId);
  const history = await flows.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  const found = findWords(history, await personalWords(flows.sql));
  const name = freeName(recordingOf(scenario));
  if (found.length > 0) throw new Error(`The history ${name} contains personal data: ${found.join(', ')}`);
  writeFileSync(fileOf(name), historyText(history));
  console.log(`${name}: ${history.events?.length} events`);
}

/** Runs scenarios concurrently, in one database. */
async function recordTogether(together: Recorded[], settings: TestSettings = {}): Promise<void> {
  const flows = await startTestFlows({ settings: { ...SCENARIO_SETTINGS, ...settings } });
  try {
    const openContext = await openScenarios(flows);
    await Promise.all(together.map(async (scenario) => await record(flows, await openContext(), scenario)));
  } finally {
    await flows.close();
  }
}

async function recordAlone({ eventsMax, settings, ...scenario }: IsolatedScenario): Promise<void> {
  const stop = eventsMax === undefined ? null : await suggestContinueAsNew(eventsMax, console.log);
  try {
    await recordTogether([scenario], settings);
  } finally {
    await stop?.();
  }
}

async function recordAll(): Promise<void> {
  mkdirSync(HISTORIES, { recursive: true });
  if (scenarios.length > 0) await recordTogether(scenarios);
  for (const scenario of isolated) await recordAlone(scenario);
}

if (scenarios.length + isolated.length === 0) {
  console.log(
    prefixes.length === 0
      ? 'All scenarios are recorded. To record some again, pass prefixes of their names, for example: npm run histories -- withdrawal'
      : `No scenario has a name that begins with ${prefixes.join(' or ')}.`,
  );
} else {
  await globalSetup();
  try {
    await recordAll();
  } finally {
    await globalTeardown();
  }
}
