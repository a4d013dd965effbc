// What `npm run dev` does after changes: two reloads at once would each start an API and a worker, and lose one.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { onChange, onceAtATime } from '../../dev/onChange.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

test('three changes during one run are followed by one more run, after it', async () => {
  let [running, runningMost, runs] = [0, 0, 0];
  const { promise: end, resolve: endFirst } = Promise.withResolvers<void>();
  const change = onceAtATime(async () => {
    runs += 1;
    running += 1;
    runningMost = Math.max(runningMost, running);
    await end;
    running -= 1;
  });
  const changes = [change(), change(), change(), change()];
  expect(runs).toBe(1);
  endFirst();
  await Promise.all(changes);
  expect([runs, runningMost]).toEqual([2, 1]);
  await change();
  expect(runs).toBe(3);
});

test('a changed file runs it with the file, until it is ended', async () => {
  const folder = temporaryFolder();
  const seen = new Set<string>();
  const end = onChange(folder, async (changed) => {
    for (const file of changed) seen.add(file);
  });
  for (const file of ['one.ts', 'other.sql']) {
    writeFileSync(path.join(folder, file), '');
    await waitFor('the run after the change', () => Promise.resolve(seen.has(file)));
  }
  end();
  expect(seen).toEqual(new Set(['one.ts', 'other.sql']));
});
