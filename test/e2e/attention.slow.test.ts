// Parked withdrawals: a withdrawal that cannot proceed parks with its cause, leaves the money unchanged and executes
// the operators' decision, which is audited.

import { afterAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { saveProviderMessage } from '../../src/resources/rails/providerMessages.ts';
import { parkedFlows } from '../../src/telemetry/metrics.ts';
import { parkedFlowGauges } from '../../src/worker/backlogGauges.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { operate } from '../cli/run.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { type OperatorName, withCode } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({
  settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: '1', notVisibleForMs: 100 },
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const FUNDS = 1_000_000;
const HELD = 103_000;
/** Each test has its own account, so that tests do not share bank behaviour and can run concurrently. */
let accounts = 1_111_111_110;

async function withdraw(behaviour = 'unavailable') {
  accounts += 1;
  const accountNumber = String(accounts);
  await flows.setBehaviour(accountNumber, behaviour);
  return {
    ...(await flows.withdraw(accountNumber, FUNDS)),
    recover: () => flows.setBehaviour(accountNumber, 'complete'),
  };
}

const untilParked = (id: string, cause: string) =>
  waitFor(`${id} to be parked`, async () => {
    for await (const found of flows.temporal.workflow.list({
      query: `Attention = '${cause}' AND WorkflowId = '${id}'`,
    })) {
      return found;
    }
    return undefined;
  });

const RETRY = { action: 'retry', reason: 'the bank is back' };

describe('unreachable rails', () => {
  test.concurrent('an unreachable rail parks the flow with the money unchanged, and the update retry resumes it', async () => {
    const { walletId, id, path, flow, recover } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
    await recover();
    expect(await flows.decide('resolve', id, RETRY)).toMatchObject({ outcome: 'accepted' });
    await flows.untilStatus(path, 'completed');
    await flow.result();
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
    expect(await flows.auditOf(id)).toEqual(['ngozi resolve:retry']);
  });

  test.concurrent('a parked flow rejects an invalid resolution with the allowed ones', async () => {
    const { id, flow, recover, path } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const refusalOf = async (change: object) => (await flows.decide('resolve', id, { ...RETRY, ...change })).message;
    expect(await refusalOf({ action: 'dismiss' })).toMatch(/one of retry, complete, fail/);
    expect(await refusalOf({ reason: '' })).toMatch(/reason/);
    await recover();
    await flow.signal('retry', await withCode(flows.sql, id, { reason: 'all at once', operator: 'ngozi' }));
    await flows.untilStatus(path, 'completed');
  });

  test.concurrent('failing a transfer without confirmation by the rail requires two operators', async () => {
    const { walletId, id, path } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const fail = (operator: OperatorName) =>
      flows.decide(
        'resolve',
        id,
        { action: 'fail', reason: 'the bank confirmed by letter', evidence: 'T-1' },
        operator,
      );
    expect(await fail('ngozi')).toMatchObject({ outcome: 'proposed' });
    expect(await fail('ngozi')).toMatchObject({ outcome: 'proposed' });
    expect((await flows.test.get(path)).data.status).toBe('processing');
    expect(await fail('tunde')).toMatchObject({ outcome: 'accepted' });
    const failed = await flows.untilStatus(path, 'failed');
    expect(failed.failureCode).toBe('operator_decision');
    expect(failed.failureReason).toMatch(/Decided by operators/);
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
    expect(await flows.auditOf(id)).toEqual(['ngozi resolve:fail:proposed', 'tunde resolve:fail']);
  });
});

// Not concurrent: the commands list the flows of all tests.
describe('attention commands', () => {
  const cli = (...words: string[]): Promise<unknown> => cliAs('ada', ...words);
  const cliAs = (name: OperatorName, ...words: string[]): Promise<unknown> =>
    operate(flows, name, 'attention', ...words);

  test('attention list and show find a parked flow, and retry with a query resumes it', async () => {
    const { walletId, id, path, recover } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const byWallet = ['--query', `WalletId = '${walletId}'`];
    expect(await cli('list', ...byWallet)).toEqual([
      { id, flow: 'withdrawal', attention: 'rail_unreachable', since: expect.stringMatching(/^20/), amount: 100_000 },
    ]);
    expect(await cli('show', id)).toMatchObject({
      attention: 'rail_unreachable',
      details: expect.stringContaining('held in transit'),
    });
    await recover();
    expect(await cli('retry', ...byWallet, '--reason', 'the bank is back')).toEqual({
      batch: expect.stringMatching(/^[0-9a-f-]{36}$/),
      flows: 1,
      failed: 0,
    });
    await flows.untilStatus(path, 'completed');
    expect(await flows.auditOf(id)).toEqual(['ada resolve:retry']);
    const batches = await flows.sql<{ operator: string; reason: string }[]>`
      SELECT operator, reason FROM audit_log WHERE action = 'attention.retry'`;
    expect(batches).toEqual([{ operator: 'ada', reason: `the bank is back (WalletId = '${walletId}')` }]);
    await waitFor('the list to be empty', async () => ((await cli('list', ...byWallet)) as unknown[]).length === 0);
  });

  test('a flow of another installation in the same namespace is neither listed, retried nor counted', async () => {
    const elsewhere = await flows.temporal.workflow.start('withdrawal', {
      taskQueue: `elsewhere-${newUuid()}`,
      workflowId: `elsewhere-${newUuid()}`,
      args: [],
      typedSearchAttributes: [{ key: ATTENTION, value: 'rail_unreachable' }],
    });
    const { id, recover, path } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    await waitFor('both to be listed by Temporal', async () => {
      const ids = `WorkflowId IN ('${id}', '${elsewhere.workflowId}') AND Attention = 'rail_unreachable'`;
      return (await flows.temporal.workflow.count(ids)).count === 2;
    });
    const listed = (await cli('list')) as { id: string }[];
    expect(listed.map((one) => one.id)).toContain(id);
    expect(listed.map((one) => one.id)).not.toContain(elsewhere.workflowId);
    const show = await parkedFlowGauges(flows.temporal, flows.dependencies.config.temporal.taskQueue).collect();
    show();
    const { values } = await parkedFlows.get();
    expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(listed.length);
    await recover();
    const retry = ['retry', '--query', "Attention = 'rail_unreachable'", '--reason', 'the bank is back'];
    expect(await cli(...retry)).toMatchObject({ failed: 0 });
    await flows.untilStatus(path, 'completed');
    const { events } = await elsewhere.fetchHistory();
    expect(events?.some((event) => event.workflowExecutionSignaledEventAttributes)).toBe(false);
    await elsewhere.terminate();
  });

  test('attention resolve executes a resolution and reports a refusal', async () => {
    const { id, path } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const resolution = ['resolve', id, '--reason', 'confirmed by letter'];
    await expect(cliAs('ngozi', ...resolution, '--action', 'dismiss')).rejects.toThrow(/retry, complete, fail/);
    expect(await cliAs('ngozi', ...resolution, '--action', 'fail')).toMatchObject({ outcome: 'proposed' });
    expect(await cliAs('tunde', ...resolution, '--action', 'fail')).toMatchObject({ outcome: 'accepted' });
    await flows.untilStatus(path, 'failed');
  });
});

test.concurrent('attention show reads a flow that has not begun from the database', async () => {
  const { organisationId } = flows.organisation;
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  const message = 'a payment of ₦1.00 was sent back';
  await saveProviderMessage(flows.sql, { organisationId, environment: 'test' }, payment.id, message);
  expect(await operate(flows, 'ada', 'attention', 'show', payment.id)).toMatchObject({
    flow: 'payment',
    status: 'NOT STARTED',
    details: expect.stringMatching(/^\*\*pending\*\*: Payment of ₦2,000\.00 .* The flow starts at /),
    providerMessage: { message },
  });
  await expect(operate(flows, 'ada', 'attention', 'show', publicId('payment', newUuid()))).rejects.toThrow(
    /There is no running flow/,
  );
});

test.concurrent('a flow that is not parked rejects a resolution', async () => {
  const { id, flow } = await withdraw('hold');
  await flows.untilStarted(id);
  expect((await flows.decide('resolve', id, RETRY)).message).toMatch(/not parked/);
  await flows.endTransfer(id, 'complete');
  await flow.result();
});
