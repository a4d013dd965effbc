// A workflow id or a request id identifies all of its log lines.
import { afterAll, expect, test } from '@jest/globals';
import { createLog, withLogIds } from '../../src/telemetry/log.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { startTestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';

const lines: Record<string, unknown>[] = [];
const log = createLog('worker', 'info', { write: (line: string) => void lines.push(JSON.parse(line)) });

const flows = await startTestFlows({ settings: { WEBHOOK_RETRY_GAPS_SECONDS: '0.1' }, worker: false });
const worker = await startWorker({ ...flows.dependencies, log }, { codePath: testStack().workflowBundlePath });
const receiver = await startReceiver(answerStatus(500));

afterAll(async () => {
  await worker.stop();
  await receiver.close();
  await flows.close();
});

test('a log line of an activity has its workflow id, run id and activity name', async () => {
  const { organisationId } = flows.organisation;
  const payment = await flows.createPayment(await flows.createWallet(), 100_000);
  const reported = {
    type: 'inbound_credit',
    contract: organisationId,
    sessionId: 'unconfirmed',
    accountNumber: payment.virtualAccount.accountNumber,
    accountReference: null,
    amount: 70_000,
    senderName: null,
    senderAccountNumber: null,
    senderBankCode: null,
    receivedAt: new Date().toISOString(),
  };
  await flows.sql`
    INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
    VALUES (${organisationId}, ${JSON.stringify(reported)}, now())`;
  const line = await waitFor('an unconfirmed credit', () =>
    lines.find((one) => one.msg === 'the rail has not confirmed a credit'),
  );
  expect(line).toMatchObject({ part: 'worker', activity: 'applyCredit', workflowId: payment.id });
  const workflow = await flows.temporal.workflow.getHandle(payment.id).describe();
  expect(workflow.runId).toBe(line.runId);
});

test('a log line of the relay has no workflow id', async () => {
  const endpoint = await flows.test.post('/webhook-endpoints', { url: receiver.url });
  await flows.test.post(`/webhook-endpoints/${endpoint.data.id}/test`);
  const line = await waitFor('a first attempt', () =>
    lines.find((one) => one.msg === 'a webhook was not delivered' && one.attempts === 1),
  );
  expect(line).not.toHaveProperty('workflowId');
});

test('log ids apply to every line within withLogIds and to no concurrent line', async () => {
  const logged: Record<string, unknown>[] = [];
  const testLog = createLog('x', 'info', { write: (text: string) => void logged.push(JSON.parse(text)) });
  await Promise.all([
    withLogIds({ workflowId: 'a' }, async () => {
      await Promise.resolve();
      testLog.info('inside');
    }),
    Promise.resolve().then(() => testLog.info('beside')),
  ]);
  expect(Object.fromEntries(logged.map(({ msg, workflowId }) => [msg, workflowId]))).toEqual({
    beside: undefined,
    inside: 'a',
  });
});

test('the fields of one log line do not affect later lines', () => {
  const logged: Record<string, unknown>[] = [];
  const testLog = createLog('x', 'info', { write: (text: string) => void logged.push(JSON.parse(text)) });
  withLogIds({ workflowId: 'a' }, () => {
    testLog.info({ attempts: 2 }, 'first');
    testLog.info('second');
  });
  expect(logged.map(({ msg, workflowId, attempts }) => ({ msg, workflowId, attempts }))).toEqual([
    { msg: 'first', workflowId: 'a', attempts: 2 },
    { msg: 'second', workflowId: 'a', attempts: undefined },
  ]);
});

test('the log line of a request has its id and the id of the returned resource', async () => {
  const answer = await flows.test.post('/wallets', { email: 'ada@test.example', fullName: 'Ada Obi' });
  const line = await waitFor('the line of the request', () =>
    flows.logged.map((text) => JSON.parse(text)).find((one) => one.requestId === answer.requestId),
  );
  expect(line).toMatchObject({ route: 'POST /wallets', resource: answer.data.id, status: 201 });
});
