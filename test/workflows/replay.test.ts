// Every recorded history replays with the current code, so running flows continue after a deployment. Histories are
// recorded by `npm run histories`; docs/replaying.md describes what to do when one no longer fits.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DefaultLogger, type ReplayWorkerOptions, Runtime } from '@temporalio/worker';
import { KYC } from '../../dev/chaos/requests.ts';
import { recordedHistories, replay, textOf } from '../support/histories.ts';
import { ISOLATED_SCENARIOS, recordingOf, SCENARIOS, SIDE_SCENARIOS, WITHOUT_SCENARIO } from '../support/scenarios.ts';
import { bundleCarelessChanges, CARELESS_CHANGES } from './carelessChanges.ts';

// Each nondeterminism error below would fill the screen.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => {}),
  telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
});

// A runtime stops with its last worker, and never without one.
afterAll(() => Runtime.instance().shutdown());

const recorded = recordedHistories();
const names = recorded.map(({ name }) => name);
/** A scenario recorded several times has numbered histories. */
const scenarioOf = (name: string) => name.replace(/-\d+$/, '');
const flowOf = (name: string) => name.slice(0, name.indexOf('-'));

/** Time to build a bundle and replay all histories. */
const LIMIT_MS = 240_000;

async function misfitsOf(workflows?: ReplayWorkerOptions, histories = recorded): Promise<Map<string, string>> {
  const { misfits, replayed } = await replay(histories, workflows);
  expect(replayed).toBe(histories.length);
  const nameOf = new Map(recorded.map(({ workflowId, name }) => [workflowId, name]));
  return new Map(misfits.map(({ workflowId, error }) => [nameOf.get(workflowId) ?? workflowId, error]));
}

describe('histories with the current code', () => {
  let misfits: Map<string, string>;

  beforeAll(async () => {
    misfits = await misfitsOf();
  }, LIMIT_MS);

  test.each(names)('%s replays with the current code', (name) => {
    expect(misfits.get(name)).toBeUndefined();
  });
});

describe('histories with incompatible code', () => {
  let misfits: Map<string, string>;

  beforeAll(async () => {
    misfits = await misfitsOf({ workflowsPath: fileURLToPath(new URL('mutants.ts', import.meta.url)) });
  }, LIMIT_MS);

  test.each(names)('%s is rejected with incompatible code', (name) => {
    expect(misfits.get(name)).toMatch(/nondeterminism/i);
  });
});

describe('histories with a careless change', () => {
  let bundleOf: (name: string) => { code: string };

  beforeAll(async () => {
    bundleOf = await bundleCarelessChanges();
  }, LIMIT_MS);

  test.each(CARELESS_CHANGES)('a history is rejected if $name', async ({ name, rejectedBy }) => {
    const flows = new Set(rejectedBy.map(flowOf));
    const histories = recorded.filter((one) => flows.has(flowOf(one.name)));
    const misfits = await misfitsOf({ workflowBundle: bundleOf(name) }, histories);
    for (const error of misfits.values()) expect(error).toMatch(/nondeterminism/i);
    expect([...new Set([...misfits.keys()].map(scenarioOf))]).toEqual(rejectedBy);
  });
});

test('exactly the scenarios are recorded, some of them several times', () => {
  const recordedScenarios = new Set(names.map(scenarioOf));
  const scenarios = [...SCENARIOS, ...SIDE_SCENARIOS, ...ISOLATED_SCENARIOS];
  expect([...recordedScenarios].toSorted()).toEqual(scenarios.map(recordingOf).toSorted());
});

test('every workflow of a money flow has a scenario', () => {
  const index = readFileSync(fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)), 'utf8');
  const exported = [...index.matchAll(/export \{ (.+?) \}/g)].flatMap(([, list = '']) => list.split(', '));
  expect(exported.filter((flow) => !WITHOUT_SCENARIO.includes(flow)).toSorted()).toEqual([
    ...new Set(names.map(flowOf)),
  ]);
});

test.each(recorded)('$name has no personal data, no account number and no machine name', ({ history }) => {
  const text = textOf(history);
  const { bvn, dateOfBirth, phone, addressLine1 } = KYC;
  for (const word of ['Ada Obi', 'Chidi Eze', bvn, dateOfBirth, phone, addressLine1]) expect(text).not.toContain(word);
  expect(text).not.toMatch(/\b\d{10,11}\b/); // an account number, or a BVN
  expect(text).not.toMatch(/[a-z]@[a-z]+\.[a-z]|https?:/i);
  expect(text).not.toMatch(/\b\d+@/); // a process and its host
});
