// Lock files: one holder at a time, and what a killed process left is no obstacle.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { acquireLock, identify, isRunning, readLock, tryLock } from '../../dev/lockFile.mjs';
import { temporaryFolder } from './temporaryFolder.ts';

const TURNS = new URL('../../dev/lockFile.mjs', import.meta.url).href;
const self = identify(process.pid);

test('a process is told apart from a later one with the same number', () => {
  expect(self).toMatchObject({ pid: process.pid });
  expect(isRunning({ pid: process.pid, startedAt: self?.startedAt ?? '' })).toBe(true);
  expect(isRunning({ pid: process.pid, startedAt: 'another time' })).toBe(false);
});

test('a process that ended is not running, even before its parent took notice', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const identity = identify(child.pid ?? 0);
  expect(identity).toBeDefined();
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  expect(identity && isRunning(identity)).toBe(false);
});

test('a lock that is held by a running process is not taken, and its holder is named', () => {
  const file = path.join(temporaryFolder(), 'lock');
  expect(tryLock(file)).toEqual({ taken: true, left: undefined });
  expect(tryLock(file)).toMatchObject({ taken: false, holder: { pid: process.pid } });
});

test.each([
  ['of a process that is gone', { pid: 2 ** 22 - 1, startedAt: '1' }],
  ['of a number that another process has by now', { pid: process.pid, startedAt: 'before' }],
])('a lock %s is taken over, with what was written in it', (_case, holder) => {
  const file = path.join(temporaryFolder(), 'lock');
  writeFileSync(file, JSON.stringify({ ...holder, parts: [1, 2] }));
  expect(tryLock(file)).toEqual({ taken: true, left: { ...holder, parts: [1, 2] } });
  expect(readLock(file)).toMatchObject({ ...self });
});

test('a lock file that is empty or damaged is taken over', () => {
  const file = path.join(temporaryFolder(), 'lock');
  writeFileSync(file, '{"pid":');
  expect(tryLock(file)).toEqual({ taken: true, left: undefined });
});

test('of many processes that find a stale lock at once, one at a time gets it', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'lock');
  const log = path.join(folder, 'log');
  writeFileSync(file, JSON.stringify({ pid: 2 ** 22 - 1, startedAt: '1' }));
  const script = `
    import { appendFileSync } from 'node:fs';
    import { acquireLock } from ${JSON.stringify(TURNS)};
    const giveBack = await acquireLock(${JSON.stringify(file)});
    appendFileSync(${JSON.stringify(log)}, 'in\\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
    appendFileSync(${JSON.stringify(log)}, 'out\\n');
    giveBack();`;
  const errors = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      return await text(child.stderr);
    }),
  );
  expect(errors.join('')).toBe('');
  expect(readFileSync(log, 'utf8')).toBe('in\nout\n'.repeat(8));
  expect(existsSync(file)).toBe(false);
});

test('who waits for a turn is told whose it is, once', async () => {
  const file = path.join(temporaryFolder(), 'lock');
  const giveBack = await acquireLock(file);
  const told: number[] = [];
  const next = acquireLock(file, (holder) => told.push(holder.pid));
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([process.pid]);
  giveBack();
  (await next)();
  expect(told).toHaveLength(1);
});
