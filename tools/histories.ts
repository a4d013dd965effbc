// `npm run histories`: plays stories against the test stack and records the histories of their flows, which `npm test` then
// replays for ever. A history that is there is never touched: one of a changed flow is put beside it (docs/replaying.md).
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

/** Stories whose name begins with one of these are recorded anew. Without any: those of which there is no history yet. */
const wanted = process.argv.slice(2);

const fileOf = (name: string): string => path.join(HISTORIES, `${name}.json`);

function isWanted(story: Pick<Scenario, 'flow' | 'ending'>): boolean {
  const name = recordingOf(story);
  return wanted.length === 0 ? !existsSync(fileOf(name)) : wanted.some((start) => name.startsWith(start));
}

/** The first name that is free: `withdrawal-completed`, then `withdrawal-completed-2` … */
function freeName(name: string): string {
  let free = name;
  for (let number = 2; existsSync(fileOf(free)); number += 1) free = `${name}-${number}`;
  return free;
}

const stories = [...SCENARIOS, ...SIDE_SCENARIOS].filter(isWanted);
const isolated = ISOLATED_SCENARIOS.filter(isWanted);

type Recorded = Pick<Scenario, 'flow' | 'ending' | 'run'>;

async function record(flows: TestFlows, stage: ScenarioContext, story: Recorded): Promise<void> {
  const { workflowId, runId } = await story.run(stage);
  await stage.untilQuiet(workflowId);
  const history = await flows.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  const found = findWords(history, await personalWords(flows.sql));
  const name = freeName(recordingOf(story));
  if (found.length > 0) throw new Error(`The history ${name} names a person: ${found.join(', ')}`);
  writeFileSync(fileOf(name), historyText(history));
  console.log(`${name}: ${history.events?.length} events`);
}

/** Plays stories at the same time, in one database. */
async function recordTogether(together: Recorded[], settings: Record<string, string> = {}): Promise<void> {
  const flows = await startTestFlows({ settings: { ...SCENARIO_SETTINGS, ...settings } });
  try {
    const openStage = await openScenarios(flows);
    await Promise.all(together.map(async (story) => await record(flows, await openStage(), story)));
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

async function recordAlone(story: IsolatedScenario): Promise<void> {
  const play = (): Promise<void> => recordTogether([story], story.settings);
  await (story.eventsMax === undefined ? play() : withSuggestions(story.eventsMax, play));
}

async function recordAll(): Promise<void> {
  mkdirSync(HISTORIES, { recursive: true });
  if (stories.length > 0) await recordTogether(stories);
  for (const story of isolated) await recordAlone(story);
}

if (stories.length + isolated.length === 0) {
  console.log(
    wanted.length === 0
      ? 'Every story is recorded. Name those to record anew, for example: npm run histories -- withdrawal'
      : `There is no story whose name begins with ${wanted.join(' or ')}.`,
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
