// An operator's decision on an unconfirmed credit, made while another activity of the same flow is running.

import { afterAll, expect, test } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { newUuid, publicId } from '../../src/ids.ts';
import { POSTING_REFUSED, type Resolution, resolve } from '../../src/workflows/attention/messages.ts';
import { taskQueueOf } from '../../src/workflows/flows.ts';
import { creditReceived, type PaymentActivities, type PaymentProgress } from '../../src/workflows/payment/messages.ts';
import type { IncompleteWork } from '../../src/workflows/railWait/decide.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const TASK_QUEUE = 'raised-decision';

type AppliedCredit = Parameters<PaymentActivities['applyCredit']>[1];

const connection = await Connection.connect({ address: testStack().temporalAddress });
const native = await NativeConnection.connect({ address: testStack().temporalAddress });
const client = new Client({ connection });

afterAll(async () => {
  await connection.close();
  await native.close();
});

const decision = (action: Resolution['action']): [Resolution] => [{ action, reason: 'asked the bank', code: 'any' }];

/** Sends an operator's decision as soon as the flow accepts it. */
const decide = (flow: WorkflowHandle, action: Resolution['action']) =>
  waitFor(`${action} to be accepted`, () => flow.executeUpdate(resolve, { args: decision(action) }).catch(() => null));

test('a decision is executed and audited even if the running activity is refused by the ledger and parks the flow', async () => {
  const [denied, refused] = [publicId('inboundCredit', newUuid()), publicId('inboundCredit', newUuid())];
  const paymentId = publicId('payment', newUuid());
  const incomplete: IncompleteWork = {
    id: denied,
    what: 'credit',
    rail: 'unconfirmed',
    why: 'not_known',
    amount: 1,
    limits: { railUnreachableMs: 1, creditUnconfirmedMs: 1 },
  };
  const pending: PaymentProgress = { status: 'pending', amountReceived: 0 };
  const audited: string[] = [];
  const setAside: string[] = [];
  let hasStarted = false;
  let release = (): void => {};
  const gate = new Promise<void>((resolveGate) => {
    release = resolveGate;
  });
  const common = {
    connection: native,
    activities: {
      applyCredit: async (_: unknown, { inboundCreditId, ...options }: AppliedCredit): Promise<PaymentProgress> => {
        if (options.setAside) {
          setAside.push(inboundCreditId);
          return { status: 'settled', amountReceived: 2 };
        }
        if (inboundCreditId === denied) return { ...pending, incomplete };
        if (hasStarted) return { status: 'settled', amountReceived: 2 };
        hasStarted = true;
        await gate;
        const refusal = { code: 'ANY', account: null, transaction: null, postings: [] };
        throw ApplicationFailure.nonRetryable('refused', POSTING_REFUSED, refusal);
      },
      closePaymentAccount: async (): Promise<PaymentProgress> => ({ status: 'settled', amountReceived: 2 }),
      recordDecision: async (_: unknown, { action }: { action: string }) => {
        audited.push(action);
        return { outcome: 'accepted' };
      },
    },
  };
  const worker = await Worker.create({
    ...common,
    taskQueue: TASK_QUEUE,
    workflowBundle: { codePath: testStack().workflowBundlePath },
  });
  const railWorker = await Worker.create({ ...common, taskQueue: taskQueueOf(TASK_QUEUE, 'rail') });
  const decided = async (): Promise<void> => {
    const flow = await client.workflow.signalWithStart('payment', {
      workflowId: paymentId,
      taskQueue: TASK_QUEUE,
      args: [
        {
          organisationId: newUuid(),
          environment: 'test',
          paymentId,
          walletId: publicId('wallet', newUuid()),
          amount: 2,
          expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        },
      ],
      signal: creditReceived,
      signalArgs: [{ inboundCreditId: denied }],
    });
    await waitFor('the cause to be raised', async () => {
      const { typedSearchAttributes } = await flow.describe();
      return typedSearchAttributes.get(ATTENTION) === 'credit_unconfirmed';
    });
    await flow.signal(creditReceived, { inboundCreditId: refused });
    await waitFor('the activity of the other credit to run', () => hasStarted);
    await decide(flow, 'set_aside');
    release();
    // Resolves the refused posting: set_aside has been decided, so the raised cause accepts nothing else.
    await decide(flow, 'retry');
    expect(await flow.result()).toEqual({ status: 'settled' });
  };
  await worker.runUntil(() => railWorker.runUntil(decided));
  expect(audited).toEqual(['resolve:set_aside', 'resolve:retry']);
  expect(setAside).toEqual([denied]);
});
