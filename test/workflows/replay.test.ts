// Every recorded history replays with today's code, so a flow that is under way somewhere goes on after a deployment. A
// history is recorded by `npm run histories`; docs/replaying.md says what to do when one does not fit any more.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { KYC } from '../support/api.ts';
import { recordedHistories, replay, textOf } from '../support/histories.ts';
import { recordingOf, SCENARIOS, SIDE_SCENARIOS } from '../support/scenarios.ts';

// Each refusal below would fill the screen.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => {}),
  telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
});

// A runtime lives until its last worker ends, and without one for ever.
afterAll(() => Runtime.instance().shutdown());

const recorded = recordedHistories();
const names = recorded.map(({ name }) => name);
const flowOf = (name: string) => name.slice(0, name.indexOf('-'));

/** Flows of a Schedule are one activity each, and none is under way when code is deployed. */
const WITHOUT_STORY = ['housekeeping', 'ledgerVerification', 'reconciliation', 'sweep'];

/** Building a bundle and replaying them all. */
const LIMIT_MS = 240_000;

async function misfitsOf(workflows?: { workflowsPath: string }): Promise<Map<string, string>> {
  const { misfits, replayed } = await replay(recorded, workflows);
  expect(replayed).toBe(recorded.length);
  const nameOf = new Map(recorded.map(({ workflowId, name }) => [workflowId, name]));
  return new Map(misfits.map(({ workflowId, error }) => [nameOf.get(workflowId) ?? workflowId, error]));
}

describe('with the code of today', () => {
  let misfits: Map<string, string>;

  beforeAll(async () => {
    misfits = await misfitsOf();
  }, LIMIT_MS);

  test.each(names)('%s replays', (name) => {
    expect(misfits.get(name)).toBeUndefined();
  });
});

describe('with code that was changed without care', () => {
  let misfits: Map<string, string>;

  beforeAll(async () => {
    misfits = await misfitsOf({ workflowsPath: fileURLToPath(new URL('mutants.ts', import.meta.url)) });
  }, LIMIT_MS);

  test.each(names)('%s is refused', (name) => {
    expect(misfits.get(name)).toMatch(/nondeterminism/i);
  });
});

test('every story is recorded, some of them more than once, and nothing else', () => {
  const told = new Set(names.map((name) => name.replace(/-\d+$/, '')));
  expect([...told].toSorted()).toEqual([...SCENARIOS, ...SIDE_SCENARIOS].map(recordingOf).toSorted());
});

test('every workflow of a money flow has a story', () => {
  const index = readFileSync(fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)), 'utf8');
  const exported = [...index.matchAll(/export \{ (.+?) \}/g)].flatMap(([, list = '']) => list.split(', '));
  expect(exported.filter((flow) => !WITHOUT_STORY.includes(flow)).toSorted()).toEqual([...new Set(names.map(flowOf))]);
});

test.each(recorded)('$name names no person, no account and no machine', ({ history }) => {
  const text = textOf(history);
  const { bvn, dateOfBirth, phone, addressLine1 } = KYC;
  for (const word of ['Ada Obi', 'Chidi Eze', bvn, dateOfBirth, phone, addressLine1]) expect(text).not.toContain(word);
  expect(text).not.toMatch(/\b\d{10,11}\b/); // an account number, or a BVN
  expect(text).not.toMatch(/[a-z]@[a-z]+\.[a-z]|https?:/i);
  expect(text).not.toMatch(/\b\d+@/); // a process and its host
});
