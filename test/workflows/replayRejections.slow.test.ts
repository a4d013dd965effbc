// The replay of the recorded histories (replay.test.ts) can fail: incompatible workflows are rejected by every history,
// and single careless changes by the histories of the scenarios that they name.
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { bundleCarelessChanges, CARELESS_CHANGES } from './carelessChanges.ts';
import { flowOf, LIMIT_MS, misfitsOf, names, recorded, scenarioOf } from './misfits.ts';

describe('histories with incompatible code', () => {
  let misfits: ReadonlyMap<string, string>;

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
