// `npm run histories`: plays stories against the test stack and records the histories of their flows, which `npm test` then
// replays for ever. A history that is there is never touched: one of a changed flow is put beside it (docs/replaying.md).
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startTestFlows } from '../test/support/flows.ts';
import globalSetup from '../test/support/globalSetup.ts';
import globalTeardown from '../test/support/globalTeardown.ts';
import { findWords, HISTORIES, historyText, personalWords } from '../test/support/histories.ts';
import { openScenarios } from '../test/support/scenarioContext.ts';
import { recordingOf, SCENARIO_SETTINGS, SCENARIOS, type Scenario, SIDE_SCENARIOS } from '../test/support/scenarios.ts';
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

async function record(): Promise<void> {
  mkdirSync(HISTORIES, { recursive: true });
  const flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
  try {
    const openStage = await openScenarios(flows);
    await Promise.all(
      stories.map(async (story) => {
        const stage = await openStage();
        const { workflowId } = await story.run(stage);
        await stage.untilQuiet(workflowId);
        const history = await flows.temporal.workflow.getHandle(workflowId).fetchHistory();
        const found = findWords(history, await personalWords(flows.sql));
        const name = freeName(recordingOf(story));
        if (found.length > 0) throw new Error(`The history ${name} names a person: ${found.join(', ')}`);
        writeFileSync(fileOf(name), historyText(history));
        console.log(`${name}: ${history.events?.length} events`);
      }),
    );
  } finally {
    await flows.close();
  }
}

if (stories.length === 0) {
  console.log(
    wanted.length === 0
      ? 'Every story is recorded. Name those to record anew, for example: npm run histories -- withdrawal'
      : `There is no story whose name begins with ${wanted.join(' or ')}.`,
  );
} else {
  await globalSetup();
  try {
    await record();
    writeActionsPage();
  } finally {
    await globalTeardown();
  }
}
