// Replays the recorded histories and names those that do not fit the code.
import { expect } from '@jest/globals';
import type { ReplayWorkerOptions } from '@temporalio/worker';
import { recordedHistories, replay } from '../support/histories.ts';
import '../support/temporalRuntime.ts';

export const recorded = recordedHistories();
export const names = recorded.map(({ name }) => name);
/** The scenario of a history: one recorded several times has numbered histories. */
export const scenarioOf = (name: string): string => name.replace(/-\d+$/, '');
export const flowOf = (name: string): string => name.slice(0, name.indexOf('-'));

/** Time to build a bundle and replay all histories. */
export const LIMIT_MS = 240_000;

/** The error of each history, by its name, that does not replay with these workflows; by default the current ones. */
export async function misfitsOf(
  workflows?: ReplayWorkerOptions,
  histories = recorded,
): Promise<ReadonlyMap<string, string>> {
  const { misfits, replayed } = await replay(histories, workflows);
  expect(replayed).toBe(histories.length);
  const nameOf = new Map(recorded.map(({ workflowId, name }) => [workflowId, name]));
  return new Map(misfits.map(({ workflowId, error }) => [nameOf.get(workflowId) ?? workflowId, error]));
}
