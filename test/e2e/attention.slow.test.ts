// Parked withdrawals: a withdrawal that cannot proceed parks with its cause, leaves the money unchanged and executes
// the operators' decision, which is audited.

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { ResolveAnswer } from '../../src/workflows/attention/messages.ts';
import { operate } from '../cli/run.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type OperatorName, withCode } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({
    settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: '1', sandboxUnknownIsFinalAfterMs: 100 },
  });
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
  const setBehaviour = (how: string) =>
    flows.test.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body: { behaviour: how } });
  await setBehaviour(behaviour);
  const walletId = await flows.createWallet(undefined, { balance: FUNDS });
  const { data } = await flows.test.money(`/wallets/${walletId}/withdraw`, {
    amount: 100_000,
    accountNumber,
    bankCode: '058',
  });
  return {
    walletId,
    id: data.id,
    path: `/withdrawals/${data.id}`,
    flow: flows.temporal.workflow.getHandle(data.id),
    setBehaviour,
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

const audited = async (id: string) =>
  (
    await flows.sql<{ action: string; operator: string }[]>`
    SELECT action, operator FROM audit_log WHERE subject = ${id} ORDER BY id`
  ).map(({ action, operator }) => `${operator} ${action}`);

/** Each call makes a code of its own. */
const send = async (flow: WorkflowHandle, { operator, ...message }: { action: string; operator: string }) =>
  await flow.executeUpdate<ResolveAnswer, [object]>('resolve', {
    args: [await withCode(flows.sql, flow.workflowId, { operator, ...message })],
  });

const retryRequest = { action: 'retry', reason: 'the bank is back', operator: 'ngozi' };

describe('unreachable rails', () => {
  test.concurrent('an unreachable rail parks the flow with the money unchanged, and the update retry resumes it', async () => {
    const { walletId, id, path, flow, setBehaviour } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
    await setBehaviour('complete');
    expect(await send(flow, retryRequest)).toMatchObject({ outcome: 'accepted' });
    await flows.untilStatus(path, 'completed');
    await flow.result();
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
    expect(await audited(id)).toEqual(['ngozi resolve:retry']);
  });

  test.concurrent('a parked flow rejects an invalid resolution with the allowed ones', async () => {
    const { id, flow, setBehaviour, path } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const refusalOf = async (args: typeof retryRequest) =>
      await send(flow, args).then(
        () => 'accepted',
        (error: Error & { cause?: Error }) => error.cause?.message ?? error.message,
      );
    expect(await refusalOf({ ...retryRequest, action: 'dismiss' })).toMatch(/one of retry, complete, fail/);
    expect(await refusalOf({ ...retryRequest, reason: '' })).toMatch(/reason/);
    await setBehaviour('complete');
    await flow.signal('retry', await withCode(flows.sql, id, { reason: 'all at once', operator: 'ngozi' }));
    await flows.untilStatus(path, 'completed');
  });

  test.concurrent('failing a transfer without confirmation by the rail requires two operators', async () => {
    const { walletId, id, path, flow } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const fail = { action: 'fail', reason: 'the bank confirmed by letter', operator: 'ngozi', evidence: 'TICKET-1' };
    expect(await send(flow, fail)).toMatchObject({ outcome: 'proposed' });
    expect(await send(flow, fail)).toMatchObject({ outcome: 'proposed' });
    expect((await flows.test.get(path)).data.status).toBe('processing');
    expect(await send(flow, { ...fail, operator: 'tunde' })).toMatchObject({
      outcome: 'accepted',
    });
    const failed = await flows.untilStatus(path, 'failed');
    expect(failed.failureCode).toBe('operator_decision');
    expect(failed.failureReason).toMatch(/Decided by operators/);
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
    expect(await audited(id)).toEqual(['ngozi resolve:fail:proposed', 'tunde resolve:fail']);
  });
});

// Not concurrent: a command imports its modules while it runs, which Jest refuses between two tests.
describe('attention commands', () => {
  const cli = (...words: string[]): Promise<unknown> => cliAs('ada', ...words);
  const cliAs = (name: OperatorName, ...words: string[]): Promise<unknown> =>
    operate(flows, name, 'attention', ...words);

  test('attention list and show find a parked flow, and retry with a query resumes it', async () => {
    const { walletId, id, path, setBehaviour } = await withdraw();
    await untilParked(id, 'rail_unreachable');
    const byWallet = ['--query', `WalletId = '${walletId}'`];
    expect(await cli('list', ...byWallet)).toEqual([
      { id, flow: 'withdrawal', attention: 'rail_unreachable', since: expect.stringMatching(/^20/), amount: 100_000 },
    ]);
    expect(await cli('show', id)).toMatchObject({
      attention: 'rail_unreachable',
      details: expect.stringContaining('held in transit'),
    });
    await setBehaviour('complete');
    expect(await cli('retry', ...byWallet, '--reason', 'the bank is back')).toEqual({
      batch: expect.stringMatching(/^[0-9a-f-]{36}$/),
      flows: 1,
      failed: 0,
    });
    await flows.untilStatus(path, 'completed');
    expect(await audited(id)).toEqual(['ada resolve:retry']);
    const batches = await flows.sql<{ operator: string; reason: string }[]>`
      SELECT operator, reason FROM audit_log WHERE action = 'attention.retry'`;
    expect(batches).toEqual([{ operator: 'ada', reason: `the bank is back (WalletId = '${walletId}')` }]);
    await waitFor('the list to be empty', async () => ((await cli('list', ...byWallet)) as unknown[]).length === 0);
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

test.concurrent('a flow that is not parked rejects a resolution', async () => {
  const { id, flow } = await withdraw('hold');
  await waitFor('the flow to start', () => flow.describe().catch(() => null));
  const refusal = await send(flow, retryRequest).then(
    () => 'accepted',
    (error: Error & { cause?: Error }) => error.cause?.message ?? error.message,
  );
  expect(refusal).toMatch(/not parked/);
  await waitFor('the bank to have the transfer', async () => {
    const { status } = await flows.test.post(`/simulations/bank-transfers/${id}/resolve`, { outcome: 'complete' });
    return status === 200;
  });
  await flow.result();
});
