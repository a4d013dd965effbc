// The process supervisor, with real child processes.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { isRunning, type ProcessIdentity } from '../../dev/lockFile.mjs';
import { type ManagedProcess, Supervisor } from '../../dev/supervisor.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

type Running = ProcessIdentity & { name: string };

interface Setup {
  parts: Supervisor;
  folder: string;
  lines: string[];
  failures: string[];
  running: () => Running[];
  pidOf: (name: string) => number;
}

const setups: Setup[] = [];

afterEach(() => Promise.all(setups.splice(0).map(({ parts }) => parts.stop())));

function createSetup(options: Partial<ConstructorParameters<typeof Supervisor>[0]> = {}): Setup {
  const folder = temporaryFolder();
  const lines: string[] = [];
  const failures: string[] = [];
  let running: Running[] = [];
  const parts = new Supervisor({
    logFolder: path.join(folder, 'logs'),
    say: (line) => lines.push(line),
    onChange: (now) => {
      running = now;
    },
    onGiveUp: (reason) => failures.push(reason),
    restartDelayMs: 5,
    ...options,
  });
  const pidOf = (name: string) => running.find((part) => part.name === name)?.pid ?? 0;
  const setup = { parts, folder, lines, failures, running: () => running, pidOf };
  setups.push(setup);
  return setup;
}

/** A process that runs the given JavaScript and is ready when it has written `ready` to its log. */
function part(setup: Setup, name: string, script: string, more: Partial<ManagedProcess> = {}): ManagedProcess {
  return {
    name,
    kind: 'application',
    command: process.execPath,
    args: ['-e', script],
    stopSignal: 'SIGTERM',
    stopWithinMs: 2_000,
    readyWithinMs: 10_000,
    isReady: async () => readFileSync(setup.parts.logOf(name), 'utf8').includes('ready'),
    ...more,
  };
}

const STAYS = 'console.log("ready"); setInterval(() => {}, 1000)';

test('a ready process runs and logs, and has exited after stop', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'api', STAYS));
  const [api] = setup.running();
  expect(api && isRunning(api)).toBe(true);
  await setup.parts.stop();
  expect(api && isRunning(api)).toBe(false);
  expect(setup.running()).toEqual([]);
  expect(setup.lines).toEqual([]);
});

test('a killed process is reported and restarted', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'worker', STAYS));
  const first = setup.pidOf('worker');
  process.kill(first, 'SIGKILL');
  await waitFor('the worker to be restarted', () => setup.lines.includes('worker is running again.'));
  expect(setup.lines[0]).toMatch(/^worker was killed by SIGKILL; restarting it in /);
  expect(setup.pidOf('worker')).not.toBe(first);
  expect(setup.failures).toEqual([]);
});

test('a process that crashes five times within a minute is abandoned, with the end of its log', async () => {
  const setup = createSetup();
  const fate = path.join(setup.folder, 'fate');
  const crashes = `
    console.log("ready");
    setInterval(() => {
      if (!require('fs').existsSync(${JSON.stringify(fate)})) return;
      console.log("out of luck");
      process.exit(9);
    }, 10)`;
  await setup.parts.start(part(setup, 'api', crashes));
  writeFileSync(fate, '');
  await waitFor('the process to be abandoned', () => setup.failures.length > 0);
  expect(setup.failures[0]).toContain('api exited with code 9, 5 times within a minute');
  expect(setup.failures[0]).toContain('out of luck');
  expect(setup.lines.filter((line) => line.includes('restarting it'))).toHaveLength(4);
});

test('a process that may not crash at all is abandoned at its first crash', async () => {
  const setup = createSetup({ crashesMax: 1 });
  await setup.parts.start(part(setup, 'api', STAYS));
  process.kill(setup.pidOf('api'), 'SIGKILL');
  await waitFor('the process to be abandoned', () => setup.failures.length > 0);
  expect(setup.failures[0]).toContain('api was killed by SIGKILL. The end of');
  expect(setup.lines).toEqual([]);
});

test('a process that exits before it is ready fails the start, with the end of its log', async () => {
  const setup = createSetup();
  const start = setup.parts.start(part(setup, 'api', 'console.error("DATABASE_URL is missing"); process.exit(1)'));
  await expect(start).rejects.toThrow(/api exited with code 1[\s\S]*DATABASE_URL is missing/);
});

test('a process that is not ready in time fails the start and is killed', async () => {
  const setup = createSetup();
  const slow = part(setup, 'api', 'setInterval(() => {}, 1000)', { readyWithinMs: 300 });
  await expect(setup.parts.start(slow)).rejects.toThrow('api was not ready within 0.3 s');
  expect(setup.running()).toEqual([]);
});

test('a missing program fails the start', async () => {
  const setup = createSetup();
  const missing = part(setup, 'temporal', '', { command: '/nowhere/temporal' });
  await expect(setup.parts.start(missing)).rejects.toThrow('temporal could not be started');
});

test('a process that ignores its stop signal is killed after its grace period', async () => {
  const setup = createSetup();
  const script = `process.on('SIGTERM', () => {}); ${STAYS}`;
  await setup.parts.start(part(setup, 'worker', script, { stopWithinMs: 200 }));
  const [worker] = setup.running();
  await setup.parts.stop();
  expect(worker && isRunning(worker)).toBe(false);
});

/** As `STAYS`; one that is prepared waits for its steps. */
const WAITS = `
  const start = () => { ${STAYS} };
  if (process.send === undefined) start();
  else process.on('message', (step) => {
    console.log(step);
    if (step === 'start') { process.disconnect(); start(); }
  });`;

test('a prepared process loads while the one before it stops, and starts after that and what comes before', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'api', WAITS));
  const first = setup.pidOf('api');
  setup.parts.prepare('api');
  setup.parts.prepare('api'); // there is one
  const [, prepared, ...others] = setup.running();
  expect(others).toEqual([]);
  const log = setup.parts.logOf('api');
  const isLoaded = waitFor('the source to be loaded', () => readFileSync(log, 'utf8').includes('load'));
  await setup.parts.startAgain('api', isLoaded);
  expect(setup.running()).toEqual([prepared]);
  expect(prepared?.pid).not.toBe(first);
  setup.parts.prepare('api');
  const [, last] = setup.running();
  await setup.parts.stop();
  for (const ended of [prepared, last]) expect(ended && isRunning(ended)).toBe(false);
});

test('a process that is prepared while the one before it stops starts too', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'api', WAITS));
  const before = Promise.withResolvers<void>();
  const started = setup.parts.startAgain('api', before.promise);
  setup.parts.prepare('api');
  const prepared = setup.running().at(-1);
  before.resolve();
  await started;
  expect(setup.running()).toEqual([prepared]);
});

test('in place of a prepared process that has ended, another is started', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'api', WAITS));
  setup.parts.prepare('api');
  const prepared = setup.running()[1]?.pid ?? 0;
  process.kill(prepared, 'SIGKILL');
  await waitFor('the process to end', () => setup.running().length === 1);
  await setup.parts.startAgain('api');
  expect(setup.running()).toHaveLength(1);
  expect(setup.pidOf('api')).not.toBe(prepared);
  expect(setup.lines).toEqual([]);
});

test('applications are stopped before the servers they use', async () => {
  const setup = createSetup();
  const log = path.join(setup.folder, 'order');
  const script = (name: string, delayMs: number) => `
    const end = () => { require('fs').appendFileSync(${JSON.stringify(log)}, '${name} '); process.exit(0) };
    process.on('SIGTERM', () => setTimeout(end, ${delayMs})); ${STAYS}`;
  await setup.parts.start(part(setup, 'postgres', script('postgres', 0), { kind: 'server' }));
  await setup.parts.start(part(setup, 'worker', script('worker', 200)));
  await setup.parts.stop();
  expect(readFileSync(log, 'utf8')).toBe('worker postgres ');
});

test('the log of the previous run is kept beside the new one', async () => {
  const setup = createSetup();
  await setup.parts.start(part(setup, 'api', `console.log("the first run"); ${STAYS}`));
  await setup.parts.stop();
  const again = new Supervisor({ logFolder: path.join(setup.folder, 'logs'), say: () => {} });
  await again.start(part(setup, 'api', STAYS));
  await again.stop();
  expect(readFileSync(path.join(setup.folder, 'logs/api.1.log'), 'utf8')).toContain('the first run');
  expect(readFileSync(path.join(setup.folder, 'logs/api.log'), 'utf8')).not.toContain('the first run');
});

test('a log that grows is rotated by size, and a fixed number of older ones is kept', async () => {
  const logs = { bytesMax: 1_000, olderKept: 2, checkEveryMs: 5 };
  const setup = createSetup({ logs });
  // In each line: the first one may be in an older log by the time the supervisor looks.
  const writes = `let n = 0; setInterval(() => console.log('line ' + ++n + ' ready' + ' '.repeat(84)), 1);`;
  await setup.parts.start(part(setup, 'api', writes));
  const log = (name: string) => path.join(setup.folder, 'logs', name);
  const linesOf = (name: string) =>
    [...readFileSync(log(name), 'utf8').matchAll(/line (\d+)/g)].map(([, n]) => Number(n));
  await waitFor('a log to be kept twice', () => existsSync(log('api.2.log')) || undefined);
  await waitFor(
    'a later line',
    () => (linesOf('api.log').at(-1) ?? 0) > (linesOf('api.2.log').at(-1) ?? 0) || undefined,
  );
  await setup.parts.stop();
  const [newest, older] = [linesOf('api.1.log'), linesOf('api.2.log')];
  expect(newest[0]).toBeGreaterThan(older.at(-1) ?? Infinity);
  expect(linesOf('api.log')[0] ?? Infinity).toBeGreaterThan(newest.at(-1) ?? Infinity);
  expect(readdirSync(path.join(setup.folder, 'logs')).toSorted()).toEqual(['api.1.log', 'api.2.log', 'api.log']);
});

test('after kill -9 of the supervisor its processes are ended and its temporary folder is removed', async () => {
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
  await waitFor(
    'the process and the folder to be removed',
    () => api !== undefined && !isRunning(api) && !existsSync(scratch),
  );
});
