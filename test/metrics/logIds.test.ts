// One workflow id, or one request id, finds every line that was logged on its behalf.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLog, withLogIds } from '../../src/telemetry/log.ts';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, type Receiver, startReceiver } from '../webhooks/receiver.ts';

const lines: Record<string, unknown>[] = [];
const log = createLog('worker', 'info', { write: (line: string) => void lines.push(JSON.parse(line)) });

let flows: TestFlows;
let worker: RunningWorker;
let receiver: Receiver;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WEBHOOK_RETRY_GAPS_SECONDS: '0.1' }, worker: false });
  worker = await startWorker({ ...flows.services, log }, { codePath: testStack().workflowBundlePath });
  receiver = await startReceiver(answerStatus(500));
});

afterAll(async () => {
  await worker.stop();
  await receiver.close();
  await flows.close();
});

test('a line of an activity carries the ids of its workflow, its run, and its own name', async () => {
  await flows.test.post('/webhook-endpoints', { url: receiver.url });
  const wallet = await flows.createWallet();
  const { data } = await flows.test.get(`/wallets/${wallet}/deposit-account`);
  await flows.credit(String(data.accountNumber), 70_000);
  const line = await waitFor('a failed attempt of the flow', () =>
    lines.find((one) => one.msg === 'a webhook was not delivered' && one.attempts === 2),
  );
  expect(line).toMatchObject({
    part: 'worker',
    activity: 'deliverWebhook',
    attempt: expect.any(Number),
    workflowId: expect.stringMatching(/_evt\/|_evt|evt_/),
    runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const workflow = await flows.temporal.workflow.getHandle(String(line.workflowId)).describe();
  expect(workflow.type).toBe('webhookDelivery');
  expect(workflow.runId).toBe(line.runId);
});

test('a line of the relay, which works for no flow, carries none', async () => {
  const line = await waitFor('a first attempt', () =>
    lines.find((one) => one.msg === 'a webhook was not delivered' && one.attempts === 1),
  );
  expect(line).not.toHaveProperty('workflowId');
});

test('ids reach every line below, and none beside', async () => {
  const read: Record<string, unknown>[] = [];
  const own = createLog('x', 'info', { write: (text: string) => void read.push(JSON.parse(text)) });
  await Promise.all([
    withLogIds({ workflowId: 'a' }, async () => {
      await Promise.resolve();
      own.info('inside');
    }),
    Promise.resolve().then(() => own.info('beside')),
  ]);
  expect(Object.fromEntries(read.map(({ msg, workflowId }) => [msg, workflowId]))).toEqual({
    beside: undefined,
    inside: 'a',
  });
});

test('what one line says stays in that line', () => {
  const read: Record<string, unknown>[] = [];
  const own = createLog('x', 'info', { write: (text: string) => void read.push(JSON.parse(text)) });
  withLogIds({ workflowId: 'a' }, () => {
    own.info({ attempts: 2 }, 'first');
    own.info('second');
  });
  expect(read.map(({ msg, workflowId, attempts }) => ({ msg, workflowId, attempts }))).toEqual([
    { msg: 'first', workflowId: 'a', attempts: 2 },
    { msg: 'second', workflowId: 'a', attempts: undefined },
  ]);
});

test('the line of a request carries its id and that of the resource it answered with', async () => {
  const answer = await flows.test.post('/wallets', { email: 'ada@test.example', fullName: 'Ada Obi' });
  const line = await waitFor('the line of the request', () =>
    flows.logged.map((text) => JSON.parse(text)).find((one) => one.requestId === answer.requestId),
  );
  expect(line).toMatchObject({ route: 'POST /wallets', resource: answer.data.id, status: 201 });
});
