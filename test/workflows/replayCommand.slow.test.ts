// `npm run replay`: with files, with a running server, with a history that does not fit, and in a debugger.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { HISTORIES } from '../support/histories.ts';
import { openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';

const REPLAY = fileURLToPath(new URL('../../dev/replay/command.ts', import.meta.url));
const ENVIRONMENT = { ...process.env, TEMPORAL_ADDRESS: '', MANILLA_HOME: tmpdir() };

/** The code is bundled for each run: two seconds on an idle machine, far more on a busy one. */
const LIMIT_MS = 240_000;

const folder = mkdtempSync(path.join(tmpdir(), 'manilla-replay-'));

afterAll(() => rmSync(folder, { recursive: true }));

const recorded = (name: string) => path.join(HISTORIES, `${name}.json`);

/** A modified copy of a recorded history. */
function altered(name: string, change: (text: string) => string): string {
  const file = path.join(folder, `${name}.json`);
  const text = readFileSync(recorded(name), 'utf8');
  expect(change(text)).not.toBe(text);
  writeFileSync(file, change(text));
  return file;
}

function run(...args: string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [REPLAY, ...args], { env: ENVIRONMENT }, (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

describe('replayed histories', () => {
  let flows: TestFlows;
  let workflowId: string;
  let result: { exitCode: number; output: string };

  // One run for all tests: most of its time is spent on bundling the code.
  beforeAll(async () => {
    flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
    const context = await (await openScenarios(flows))();
    const scenario = SCENARIOS.find(({ flow, ending }) => flow === 'payment' && ending === 'settled') as Scenario;
    ({ workflowId } = await scenario.run(context));
    await context.untilQuiet(workflowId);
    result = await run(
      workflowId,
      recorded('withdrawal-returned'),
      altered('withdrawal-completed', (text) => text.replace('"sendBankTransfer"', '"sendMoney"')),
      altered('payment-settled', (text) => text.replace('"name": "payment"', '"name": "cheque"')),
      recorded('refund-completed'),
      '--address',
      flows.dependencies.config.temporal.address,
    );
  }, LIMIT_MS);

  afterAll(() => flows.close());

  test('a history of a server is replayed by its workflow id', () => {
    expect(result.output).toMatch(new RegExp(`^ok {2}${workflowId}: all \\d+ events replayed`));
  });

  test('a history in a file is replayed, also after one that does not fit', () => {
    expect(result.output).toMatch(/^ok {2}.*withdrawal-returned\.json: all \d+ events replayed$/m);
    expect(result.output).toMatch(/^ok {2}.*refund-completed\.json: all \d+ events replayed$/m);
  });

  test("a history with another activity is reported with its event, the code's command and its location", () => {
    expect(result.output).toMatch(
      /withdrawal-completed\.json cannot be replayed with this code\.\n {2}event \d+\n {4}recorded {2}ActivityTaskScheduled sendMoney\n {4}produced {2}scheduleActivity sendBankTransfer\n {6}src\/workflows\/bankTransfer\/drive\.ts:\d+ .*\n(?: {6}src\/.*\n)* {6}src\/workflows\/withdrawal\/workflow\.ts:\d+ .*\n {2}\[TMPRL1100\] /,
    );
  });

  test('a history of an unknown workflow is reported with the error thrown', () => {
    expect(result.output).toMatch(/payment-settled\.json cannot be replayed with this code\.\n.* throws\n.*cheque/);
  });

  test('replay exits with 1 if a history does not fit', () => {
    expect(result.exitCode).toBe(1);
  });

  test('replay reports a workflow that the server does not have', async () => {
    const { address } = flows.dependencies.config.temporal;
    const { exitCode, output } = await run('svc_nobody', '--address', address, '--namespace', 'default');
    expect(output).toMatch(/^error: The server at .* has no workflow svc_nobody in the namespace default\.\n$/);
    expect(exitCode).toBe(1);
  });
});

test(
  '--debug waits for a debugger and stops at the given event',
  async () => {
    const child = spawn(process.execPath, [REPLAY, recorded('withdrawal-completed'), '--debug', '6'], {
      env: ENVIRONMENT,
    });
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', resolve);
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    const url = await waitFor('the address for a debugger', () => /ws:\/\/\S+/.exec(output)?.[0], LIMIT_MS);
    const socket = new WebSocket(url);
    const urls = new Map<string, string>();
    const stoppedIn: string[] = [];
    const sendCommand = (method: string) => socket.send(JSON.stringify({ id: 1, method }));
    socket.addEventListener('open', () => {
      for (const method of ['Debugger.enable', 'Runtime.runIfWaitingForDebugger']) sendCommand(method);
    });
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === 'Debugger.scriptParsed') urls.set(params.scriptId, params.url);
      if (method === 'Debugger.paused') {
        stoppedIn.push(urls.get(params.callFrames[0].location.scriptId) ?? '');
        sendCommand('Debugger.resume');
      }
    });
    expect(await exited).toBe(0);
    expect(output).toMatch(/It stops when the code has received the events up to \d+\./);
    expect(stoppedIn).toEqual([expect.stringMatching(/workflow-bundle/)]);
  },
  LIMIT_MS,
);

describe('usage errors of replay', () => {
  test.each([
    [[], 2, "missing required argument 'history'"],
    [['x.json', 'y.json', '--debug'], 2, '--debug accepts a single history'],
    [['x.json', '--debug', 'soon'], 2, 'Expected an event id'],
    [['nowhere.json'], 1, 'The file nowhere.json does not exist'],
    [[fileURLToPath(new URL('../../package.json', import.meta.url))], 1, 'is not a workflow history'],
    [['svc_x'], 1, 'No Temporal server'],
  ])('replay with the arguments %j reports the usage error', async (args, exitCode, message) => {
    const result = await run(...args);
    expect(result.output).toContain(message);
    expect(result.exitCode).toBe(exitCode);
  });
});
