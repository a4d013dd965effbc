// The bundle of the workflows is made once for the same sources and packages, and never taken for another.
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { DefaultLogger } from '@temporalio/worker';
import { bundleWorkflows, fingerprint } from '../../src/worker/workflowBundle.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';

const logger = new DefaultLogger('WARN');

/** Webpack, beside other tests. */
const LIMIT_MS = 120_000;

test(
  'is kept, read when it is asked for again, and the oldest make room',
  async () => {
    const folder = temporaryFolder();
    const older = Array.from({ length: 9 }, (_, age) => path.join(folder, `workflows-${age}.js`));
    for (const [age, file] of older.entries()) {
      writeFileSync(file, '');
      utimesSync(file, 1_000 - age, 1_000 - age);
    }
    const { code } = await bundleWorkflows({ folder, logger });
    expect(code).toContain('withdrawal');
    const kept = readdirSync(folder);
    const made = kept.filter((name) => !older.includes(path.join(folder, name)));
    expect(made).toEqual([expect.stringMatching(/^workflows-[0-9a-f]{32}\.js$/)]);
    expect(kept.toSorted()).toEqual([...made, ...older.slice(0, 7).map((file) => path.basename(file))].toSorted());

    writeFileSync(path.join(folder, made[0] as string), 'what is kept');
    expect(await bundleWorkflows({ folder, logger })).toEqual({ code: 'what is kept' });
  },
  LIMIT_MS,
);

test(
  'is made all the same where nothing can be kept',
  async () => {
    const file = path.join(temporaryFolder(), 'a file');
    writeFileSync(file, '');
    expect((await bundleWorkflows({ folder: path.join(file, 'folder'), logger })).code).toContain('withdrawal');
  },
  LIMIT_MS,
);

test('another source, package or interceptor is another bundle', async () => {
  const project = temporaryFolder();
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
    writeFileSync(path.join(project, name), text);
  };
  write('src/one.ts', 'one');
  write('src/deep/two.ts', 'two');
  await expect(fingerprint([], project)).rejects.toThrow('.package-lock.json');
  write('node_modules/.package-lock.json', '{}');
  const first = await fingerprint([], project);
  const changes: Record<string, () => void> = {
    'a changed source': () => write('src/deep/two.ts', 'too'),
    'a text that moved from one to the next': () => {
      write('src/deep/two.ts', 't');
      write('src/one.ts', 'woone');
    },
    'a new source': () => write('src/three.ts', ''),
    'a renamed source': () => renameSync(path.join(project, 'src/three.ts'), path.join(project, 'src/four.ts')),
    'other packages': () => write('node_modules/.package-lock.json', '{ }'),
  };
  const seen = new Map([[first, 'the first']]);
  for (const [what, change] of Object.entries(changes)) {
    change();
    const one = await fingerprint([], project);
    expect([what, seen.get(one)]).toEqual([what, undefined]);
    seen.set(one, what);
  }
  expect(seen.has(await fingerprint(['an interceptor'], project))).toBe(false);

  write('src/one.ts', 'one');
  write('src/deep/two.ts', 'two');
  write('node_modules/.package-lock.json', '{}');
  rmSync(path.join(project, 'src/four.ts'));
  expect(await fingerprint([], project)).toBe(first);
});
