// Encrypted flows: their histories, as anyone with access to Temporal reads them, have no text that a person wrote and
// no error; they replay, as those from before the switch do; keys are rotated while flows are open.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { dataConverterOf, ENCODED_FAILURES, readPayloadKeys } from '../../src/temporal/dataConverter.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { runCli } from '../cli/run.ts';
import { changedRail } from '../support/changedRail.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { findWords, recordedHistories, replay } from '../support/histories.ts';
import { OPERATORS, type OperatorName } from '../support/operators.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { replayFile } from './replayFile.ts';

const key = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64url')}`;
const OLD_KEYS = key('old', 1);
const BOTH_KEYS = `${key('new', 2)},${OLD_KEYS}`;

/** What operators write, what an adapter throws, and what the flows' summaries say. */
const REASON = 'Adaobi Nwosu telephoned on Tuesday';
const EVIDENCE = 'letter of Emeka Bank, page 4';
const ERROR = 'cannot read the answer for Chidi Okafor';
const SUMMARY = '₦1,000.00';

let home: string;
let flows: TestFlows;
let isRailBroken = false;

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'manilla-codec-'));
  flows = await startTestFlows({
    settings: {
      TEMPORAL_PAYLOAD_KEYS: OLD_KEYS,
      ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
      activityFailingMs: 1_000,
      notVisibleForMs: 100,
    },
    rails: changedRail((bank) => ({
      transferStatus: async (query) => {
        if (isRailBroken) throw new TypeError(ERROR);
        return await bank.transferStatus(query);
      },
    })),
  });
}, 120_000);

afterAll(async () => {
  await flows.close();
  await rm(home, { recursive: true });
});

let accounts = 2_222_222_220;

/** A withdrawal to a bank that does not respond, until `heal`. */
async function withdraw(behaviour = 'unavailable') {
  accounts += 1;
  const accountNumber = String(accounts);
  await flows.setBehaviour(accountNumber, behaviour);
  const { id } = await flows.withdraw(accountNumber);
  return { id, heal: () => flows.setBehaviour(accountNumber, 'complete') };
}

const untilParked = (id: string) =>
  waitFor(`${id} to be parked`, async () => {
    const query = `Attention = 'rail_unreachable' AND WorkflowId = '${id}'`;
    return (await flows.temporal.workflow.count(query)).count === 1;
  });

/** Runs a command with these keys. */
const cli = (operator: OperatorName, keys: string, ...words: string[]) =>
  runCli(words, {
    databaseUrl: flows.databaseUrl,
    home,
    temporalAddress: testStack().temporalAddress,
    taskQueue: flows.dependencies.config.temporal.taskQueue,
    operatorKey: OPERATORS[operator].key,
    more: { TEMPORAL_PAYLOAD_KEYS: keys },
  });

/** All histories of this file, as the server has them. */
async function histories(): Promise<{ workflowId: string; history: History }[]> {
  const { taskQueue } = flows.dependencies.config.temporal;
  const all = [];
  const query = `TaskQueue STARTS_WITH '${taskQueue}'`;
  for await (const one of flows.temporal.workflow.list({ query }).intoHistories()) all.push(one);
  return all as { workflowId: string; history: History }[];
}

const converterOf = (keys: string) => dataConverterOf(readPayloadKeys({ TEMPORAL_PAYLOAD_KEYS: keys }));

test('no history has the text of operators, summaries or errors, and every one replays', async () => {
  const { id, heal } = await withdraw();
  await untilParked(id);
  const shown = await cli('ada', OLD_KEYS, 'attention', 'show', id);
  expect(shown.output).toContain('The rail has not responded');
  expect(await (await flows.temporal.workflow.getHandle(id).describe()).staticSummary()).toContain(SUMMARY);
  for (const operator of ['ada', 'ngozi'] as const) {
    const words = ['resolve', id, '--action', 'fail', '--reason', REASON, '--evidence', EVIDENCE];
    expect(await cli(operator, OLD_KEYS, 'attention', ...words)).toMatchObject({ exitCode: 0, errors: '' });
  }
  await flows.untilStatus(`/withdrawals/${id}`, 'failed');
  await heal();

  const retried = await withdraw();
  await untilParked(retried.id);
  await retried.heal();
  const query = ['--query', `WorkflowId = '${retried.id}'`, '--reason', REASON];
  expect(await cli('ada', OLD_KEYS, 'attention', 'retry', ...query)).toMatchObject({ exitCode: 0, errors: '' });
  await flows.untilStatus(`/withdrawals/${retried.id}`, 'completed');

  isRailBroken = true;
  const broken = await withdraw('complete');
  await waitFor('the error to be listed', async () => {
    await flows.runMaintenance('failingFlows');
    const [row] = await flows.sql<{ error: string }[]>`SELECT error FROM failing_flows`;
    return row?.error === `TypeError: ${ERROR}`;
  });
  isRailBroken = false;
  await flows.untilStatus(`/withdrawals/${broken.id}`, 'completed');

  const all = await histories();
  const ofFlows = all.filter(({ workflowId }) => [id, retried.id, broken.id].includes(workflowId));
  expect(ofFlows).toHaveLength(3);
  const words = [REASON, EVIDENCE, ERROR, SUMMARY, flows.organisation.organisationId, 'rail_unreachable:'];
  expect(all.flatMap(({ history }) => findWords(history, words))).toEqual([]);
  // They were there: encrypted with the key, and read with it.
  const encrypted = btoa('binary/encrypted');
  expect(ofFlows.filter(({ history }) => !historyToJSON(history).includes(encrypted))).toEqual([]);
  const audited = await flows.sql<{ reason: string }[]>`SELECT reason FROM audit_log WHERE subject = ${id}`;
  expect(audited.map(({ reason }) => reason)).toContainEqual(expect.stringContaining(`${REASON} (${EVIDENCE})`));

  const { misfits, replayed } = await replay(all, {
    workflowBundle: { codePath: testStack().workflowBundlePath },
    dataConverter: converterOf(OLD_KEYS),
  });
  expect([misfits, replayed]).toEqual([[], all.length]);
}, 240_000);

test('`npm run replay` reads an encrypted history with the keys, and says which key is missing without', async () => {
  const [one] = await histories();
  const file = path.join(home, 'history.json');
  await writeFile(file, historyToJSON(one?.history ?? { events: [] }));
  expect(await replayFile(file, OLD_KEYS)).toMatch(/^ok /);
  expect(await replayFile(file, '')).toMatch(/encrypted with the key old, but TEMPORAL_PAYLOAD_KEYS is not set/);
  expect(await replayFile(file, key('new', 2))).toMatch(/no key with the id old in TEMPORAL_PAYLOAD_KEYS/);
}, 120_000);

test('recorded histories, which are not encrypted, replay with keys', async () => {
  const { misfits, replayed } = await replay(recordedHistories(), {
    workflowBundle: await bundleWorkflows({ encodeFailures: true }),
    dataConverter: { ...converterOf(OLD_KEYS), failureConverterPath: ENCODED_FAILURES },
  });
  expect([misfits, replayed]).toEqual([[], recordedHistories().length]);
}, 120_000);

test('open flows go on when a key is put before the old one, and when payloads are encrypted from now on', async () => {
  const { config } = flows.dependencies;
  const withKeys = (keys: string) => ({
    ...flows.dependencies,
    config: {
      ...config,
      temporal: { ...config.temporal, payloadKeys: readPayloadKeys({ TEMPORAL_PAYLOAD_KEYS: keys }) },
    },
  });
  const old = await withdraw();
  await untilParked(old.id);
  await flows.stopWorker();
  const unencrypted = await startWorker(withKeys(''), { codePath: testStack().workflowBundlePath });
  const plain = await withdraw();
  await untilParked(plain.id);
  await unencrypted.stop();

  const rotated = await startWorker(withKeys(BOTH_KEYS));
  for (const { id, heal } of [old, plain]) {
    await heal();
    const retry = ['attention', 'retry', id, '--reason', REASON];
    expect(await cli('ada', BOTH_KEYS, ...retry)).toMatchObject({ exitCode: 0, errors: '' });
    await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  }
  await rotated.stop();
  await flows.startWorkerAgain();

  const keysOf = async (id: string): Promise<string[]> => {
    const { workflow } = new Client({ connection: flows.temporal.connection });
    const text = historyToJSON(await workflow.getHandle(id).fetchHistory());
    const ids = [...text.matchAll(/"encryption-key-id":\s*"([^"]+)"/g)].map(([, encoded = '']) => encoded);
    return [...new Set(ids)].map((encoded) => Buffer.from(encoded, 'base64').toString()).toSorted();
  };
  expect(await keysOf(old.id)).toEqual(['new', 'old']);
  expect(await keysOf(plain.id)).toEqual(['new']);
}, 240_000);
