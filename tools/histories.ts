// `npm run histories`: runs the scenarios against the test stack and records the histories of their flows, which
// `npm test` replays from then on. Existing histories are never overwritten: the history of a changed flow gets a new
// file next to them (docs/replaying.md).
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Supervisor } from '../dev/supervisor.ts';
import { startTemporal } from '../dev/temporal.ts';
import { findTemporal } from '../dev/temporalInstall.ts';
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
  SIDE_SCENARIOS,
} from '../test/support/scenarios.ts';
import { STACK_VARIABLE, testStack } from '../test/support/stack.ts';
import { writeActionsPage } from './generateActionsDoc.ts';

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

const scenarios = [...SCENARIOS, ...SIDE_SCENARIOS].filter(isSelected);
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
async function recordTogether(together: Recorded[], settings: Record<string, string> = {}): Promise<void> {
  const flows = await startTestFlows({ settings: { ...SCENARIO_SETTINGS, ...settings } });
  try {
    const openContext = await openScenarios(flows);
    await Promise.all(together.map(async (scenario) => await record(flows, await openContext(), scenario)));
  } finally {
    await flows.close();
  }
}

/** Runs `work` with a Temporal server that suggests continuing as new after this many events. */
async function withSuggestions(eventsMax: number, work: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'manilla-histories-'));
  const parts = new Supervisor({ logFolder: path.join(folder, 'logs'), say: console.log });
  parts.removeAtEnd(folder);
  const usual = testStack();
  try {
    const program = await findTemporal({ say: console.log });
    const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': eventsMax };
    const { address: temporalAddress } = await startTemporal(parts, { program, dynamicConfig });
    process.env[STACK_VARIABLE] = JSON.stringify({ ...usual, temporalAddress });
    await work();
  } finally {
    process.env[STACK_VARIABLE] = JSON.stringify(usual);
    await parts.stop();
  }
}

async function recordAlone(scenario: IsolatedScenario): Promise<void> {
  const run = (): Promise<void> => recordTogether([scenario], scenario.settings);
  await (scenario.eventsMax === undefined ? run() : withSuggestions(scenario.eventsMax, run));
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
    writeActionsPage();
  } finally {
    await globalTeardown();
  }
}
