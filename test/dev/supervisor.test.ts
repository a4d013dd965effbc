// The supervisor of the parts, with real child processes.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { isRunning, type ProcessIdentity } from '../../dev/lockFile.mjs';
import { type ManagedProcess, Supervisor } from '../../dev/supervisor.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

type Running = ProcessIdentity & { name: string };

interface Stage {
  parts: Supervisor;
  folder: string;
  said: string[];
  gaveUp: string[];
  running: () => Running[];
  pidOf: (name: string) => number;
}

const stages: Stage[] = [];

afterEach(async () => {
  await Promise.all(stages.splice(0).map(({ parts }) => parts.stop()));
});

function stage(): Stage {
  const folder = temporaryFolder();
  const said: string[] = [];
  const gaveUp: string[] = [];
  let running: Running[] = [];
  const parts = new Supervisor({
    logFolder: path.join(folder, 'logs'),
    say: (line) => said.push(line),
    onChange: (now) => {
      running = now;
    },
    onGiveUp: (reason) => gaveUp.push(reason),
    restartDelayMs: 5,
  });
  const pidOf = (name: string) => running.find((part) => part.name === name)?.pid ?? 0;
  const made = { parts, folder, said, gaveUp, running: () => running, pidOf };
  stages.push(made);
  return made;
}

/** A part that runs the JavaScript given, and is ready when it has written `ready` into its log. */
function part(on: Stage, name: string, script: string, more: Partial<ManagedProcess> = {}): ManagedProcess {
  return {
    name,
    kind: 'application',
    command: process.execPath,
    args: ['-e', script],
    stopSignal: 'SIGTERM',
    stopWithinMs: 2_000,
    readyWithinMs: 10_000,
    isReady: async () => readFileSync(on.parts.logOf(name), 'utf8').includes('ready'),
    ...more,
  };
}

const STAYS = 'console.log("ready"); setInterval(() => {}, 1000)';

test('a part that is ready runs, writes its log, and is gone after stop', async () => {
  const on = stage();
  await on.parts.start(part(on, 'api', STAYS));
  const [api] = on.running();
  expect(api && isRunning(api)).toBe(true);
  await on.parts.stop();
  expect(api && isRunning(api)).toBe(false);
  expect(on.running()).toEqual([]);
  expect(on.said).toEqual([]);
});

test('a part that was killed is said to be, and is started again', async () => {
  const on = stage();
  await on.parts.start(part(on, 'worker', STAYS));
  const first = on.pidOf('worker');
  process.kill(first, 'SIGKILL');
  await waitFor('the worker is back', () => on.said.includes('worker is running again.'));
  expect(on.said[0]).toMatch(/^worker was killed by SIGKILL; restarting it in /);
  expect(on.pidOf('worker')).not.toBe(first);
  expect(on.gaveUp).toEqual([]);
});

test('a part that crashes five times within a minute is given up, with the end of its log', async () => {
  const on = stage();
  const fate = path.join(on.folder, 'fate');
  const crashes = `
    console.log("ready");
    setInterval(() => {
      if (!require('fs').existsSync(${JSON.stringify(fate)})) return;
      console.log("out of luck");
      process.exit(9);
    }, 10)`;
  await on.parts.start(part(on, 'api', crashes));
  writeFileSync(fate, '');
  await waitFor('it gives up', () => on.gaveUp.length > 0);
  expect(on.gaveUp[0]).toContain('api exited with code 9, 5 times within a minute');
  expect(on.gaveUp[0]).toContain('out of luck');
  expect(on.said.filter((line) => line.includes('restarting it'))).toHaveLength(4);
});

test('a part that ends before it is ready fails the start, with the end of its log', async () => {
  const on = stage();
  const start = on.parts.start(part(on, 'api', 'console.error("DATABASE_URL is missing"); process.exit(1)'));
  await expect(start).rejects.toThrow(/api exited with code 1[\s\S]*DATABASE_URL is missing/);
});

test('a part that does not get ready in time fails the start and is ended', async () => {
  const on = stage();
  const slow = part(on, 'api', 'setInterval(() => {}, 1000)', { readyWithinMs: 300 });
  await expect(on.parts.start(slow)).rejects.toThrow('api was not ready within 0.3 s');
  expect(on.running()).toEqual([]);
});

test('a program that is not there fails the start', async () => {
  const on = stage();
  const missing = part(on, 'temporal', '', { command: '/nowhere/temporal' });
  await expect(on.parts.start(missing)).rejects.toThrow('temporal could not be started');
});

test('a part that ignores its signal is ended by force after its grace period', async () => {
  const on = stage();
  const script = `process.on('SIGTERM', () => {}); ${STAYS}`;
  await on.parts.start(part(on, 'worker', script, { stopWithinMs: 200 }));
  const [worker] = on.running();
  await on.parts.stop();
  expect(worker && isRunning(worker)).toBe(false);
});

test('applications end before the servers they use', async () => {
  const on = stage();
  const log = path.join(on.folder, 'order');
  const script = (name: string, delayMs: number) => `
    const end = () => { require('fs').appendFileSync(${JSON.stringify(log)}, '${name} '); process.exit(0) };
    process.on('SIGTERM', () => setTimeout(end, ${delayMs})); ${STAYS}`;
  await on.parts.start(part(on, 'postgres', script('postgres', 0), { kind: 'server' }));
  await on.parts.start(part(on, 'worker', script('worker', 200)));
  await on.parts.stop();
  expect(readFileSync(log, 'utf8')).toBe('worker postgres ');
});

test('the log of the run before is kept beside the new one', async () => {
  const on = stage();
  await on.parts.start(part(on, 'api', `console.log("the first run"); ${STAYS}`));
  await on.parts.stop();
  const again = new Supervisor({ logFolder: path.join(on.folder, 'logs'), say: () => {} });
  await again.start(part(on, 'api', STAYS));
  await again.stop();
  expect(readFileSync(path.join(on.folder, 'logs/api.previous.log'), 'utf8')).toContain('the first run');
  expect(readFileSync(path.join(on.folder, 'logs/api.log'), 'utf8')).not.toContain('the first run');
});

test('when the starting process is killed with -9, its parts end and its temporary folder goes', async () => {
  const folder = temporaryFolder();
  const scratch = path.join(folder, 'scratch');
  mkdirSync(scratch);
  const script = `
    import { Supervisor } from ${JSON.stringify(new URL('../../dev/supervisor.ts', import.meta.url).href)};
    const parts = new Supervisor({
      logFolder: ${JSON.stringify(path.join(folder, 'logs'))},
      say: () => {},
      onChange: (running) => console.log(JSON.stringify(running)),
    });
    parts.removeAtEnd(${JSON.stringify(scratch)});
    await parts.start({
      name: 'api', kind: 'application', command: process.execPath, args: ['-e', ${JSON.stringify(STAYS)}],
      stopSignal: 'SIGTERM', stopWithinMs: 2000, readyWithinMs: 10000, isReady: async () => true,
    });
    setInterval(() => {}, 1000);`;
  const starter = spawn(process.execPath, ['--input-type=module-typescript', '-e', script]);
  const line = await new Promise<string>((resolve) => starter.stdout.once('data', (chunk) => resolve(String(chunk))));
  const [api] = JSON.parse(line) as Running[];
  expect(api && isRunning(api)).toBe(true);
  starter.kill('SIGKILL');
  await waitFor('all is tidied up', () => api !== undefined && !isRunning(api) && !existsSync(scratch));
});
