// The workflow bundle is built once per set of sources and packages, and cached under a fingerprint of them.
import { globSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { DefaultLogger } from '@temporalio/worker';
import { BUNDLED, bundleWorkflows, fingerprint } from '../../src/worker/workflowBundle.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';

const logger = new DefaultLogger('WARN');

/** Time for webpack while other tests run. */
const LIMIT_MS = 120_000;

test(
  'a bundle is cached, read from the cache later, and the oldest bundles are removed',
  async () => {
    const folder = temporaryFolder();
    const older = Array.from({ length: 9 }, (_, age) => path.join(folder, `workflows-${age}.js`));
    for (const [age, file] of older.entries()) {
      writeFileSync(file, '');
      utimesSync(file, 1_000 - age, 1_000 - age);
    }
    const { code } = await bundleWorkflows({ folder, logger });
    expect(code).toContain('withdrawal');
    const sources = globSync(BUNDLED, { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
    const bundled = [...code.matchAll(/\.\/(src\/[a-zA-Z/]+\.ts)/g)].map(([, file = '']) => file);
    expect(bundled.length).toBeGreaterThan(20);
    expect(bundled.filter((file) => !sources.includes(file))).toEqual([]);
    const cached = readdirSync(folder);
    const created = cached.filter((name) => !older.includes(path.join(folder, name)));
    expect(created).toEqual([expect.stringMatching(/^workflows-[0-9a-f]{32}\.js$/)]);
    expect(cached.toSorted()).toEqual([...created, ...older.slice(0, 7).map((file) => path.basename(file))].toSorted());

    writeFileSync(path.join(folder, created[0] as string), 'what is kept');
    expect(await bundleWorkflows({ folder, logger })).toEqual({ code: 'what is kept' });
  },
  LIMIT_MS,
);

test(
  'a bundle is built even if its cache folder cannot be written',
  async () => {
    const file = path.join(temporaryFolder(), 'a file');
    writeFileSync(file, '');
    expect((await bundleWorkflows({ folder: path.join(file, 'folder'), logger })).code).toContain('withdrawal');
  },
  LIMIT_MS,
);

test('the fingerprint changes with any source that may be bundled, package or interceptor', async () => {
  const project = temporaryFolder();
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
    writeFileSync(path.join(project, name), text);
  };
  write('src/one.ts', 'one');
  write('src/workflows/deep/two.ts', 'two');
  await expect(fingerprint([], project)).rejects.toThrow('.package-lock.json');
  write('node_modules/.package-lock.json', '{}');
  const first = await fingerprint([], project);
  const changes: Record<string, () => void> = {
    'a changed source': () => write('src/workflows/deep/two.ts', 'too'),
    'text moved between adjacent sources': () => {
      write('src/workflows/deep/two.ts', 't');
      write('src/one.ts', 'woone');
    },
    'a new source': () => write('src/three.ts', ''),
    'a renamed source': () => renameSync(path.join(project, 'src/three.ts'), path.join(project, 'src/four.ts')),
    'changed packages': () => write('node_modules/.package-lock.json', '{ }'),
  };
  const fingerprints = new Map([[first, 'the first']]);
  for (const [what, change] of Object.entries(changes)) {
    change();
    const one = await fingerprint([], project);
    expect([what, fingerprints.get(one)]).toEqual([what, undefined]);
    fingerprints.set(one, what);
  }
  const last = await fingerprint([], project);
  write('src/api/other.ts', '');
  expect(await fingerprint([], project)).toBe(last);
  write('dev/interceptor.ts', 'before');
  const intercepted = await fingerprint([path.join(project, 'dev/interceptor.ts')], project);
  expect(fingerprints.has(intercepted)).toBe(false);
  write('dev/interceptor.ts', 'after');
  expect(await fingerprint([path.join(project, 'dev/interceptor.ts')], project)).not.toBe(intercepted);

  write('src/one.ts', 'one');
  write('src/workflows/deep/two.ts', 'two');
  write('node_modules/.package-lock.json', '{}');
  rmSync(path.join(project, 'src/four.ts'));
  expect(await fingerprint([], project)).toBe(first);
});
