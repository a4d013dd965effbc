// `--version` of every program and process of this release: operators ask what a container runs.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { VERSION } from '../../src/release.ts';

const ROOT = path.join(import.meta.dirname, '../..');

test.concurrent.each([
  'src/api/main.ts',
  'src/worker/main.ts',
  'src/api/codec/main.ts',
  'src/cli/main.ts',
  'dev/start.ts',
  'dev/demo.ts',
  'dev/example.ts',
  'dev/reset.ts',
  'dev/drill/command.ts',
  'dev/chaos/command.ts',
  'dev/soak/command.ts',
  'dev/replay/command.ts',
  'tools/generate.ts',
  'tools/guide/build.ts',
  'tools/histories.ts',
  'tools/schemathesis/run.ts',
  'bench/main.ts',
])('%s --version prints the release, without any settings, and nothing else', async (file) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const run = promisify(execFile)(process.execPath, [file, '--version'], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE },
  });
  expect(await run).toEqual({ stdout: `${VERSION}\n`, stderr: '' });
});
