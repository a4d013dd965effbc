// Flows whose length others decide: a payment that is paid by many credits, and transfers of which the bank reports
// many updates. Each continues as new, loses none of them and stays below the length at which Temporal warns. The
// server suggests it early here; `LONG_FLOW_MESSAGES=10000 npm test -- longFlows.slow` runs the real size.
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { activityInfo } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { newUuid, publicId } from '../../src/ids.ts';
import { findMissingFlows, restartFlow } from '../../src/recovery/missingFlows.ts';
import { railResumed, type TransferProgress, transferUpdated } from '../../src/workflows/bankTransfer/messages.ts';
import { railQueueOf } from '../../src/workflows/flows.ts';
import { ATTENTION, ATTENTION_SINCE } from '../../src/workflows/searchAttributes.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { callBack } from '../support/callbacks.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { codeOf } from '../support/operators.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** Temporal's own limits: it warns at these. */
const EVENTS_MAX = 10_240;
const BYTES_MAX = 10_000_000;

const SIZE = process.env.LONG_FLOW_MESSAGES;
const MESSAGES = Number(SIZE ?? 200);
const SUGGESTED_AT = SIZE === undefined ? 100 : 4_096;
const LIMIT_MS = SIZE === undefined ? 300_000 : 3_600_000;
/** Requests in flight. */
const CONCURRENCY = 40;
const HOLDS = '9999999003';

let parts: Supervisor;
let connection: Connection;
let native: NativeConnection;
let flows: TestFlows;

beforeAll(async () => {
  parts = new Supervisor({ logFolder: path.join(temporaryFolder(), 'logs'), say: () => {} });
  const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': SUGGESTED_AT };
  const { address } = await startTemporal(parts, { program: await findTemporal({ say: () => {} }), dynamicConfig });
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  flows = await startTestFlows({
    settings: {
      TEMPORAL_ADDRESS: address,
      ATTENTION_OUTCOME_UNKNOWN_SECONDS: '1',
      notVisibleForMs: 100,
    },
  });
});

afterAll(async () => {
  await flows.close();
  await connection.close();
  await native.close();
  await parts.stop();
});

const client = (): Client => new Client({ connection });

async function times(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await work(next);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
}

/** The number of events and bytes of every run of a flow, oldest first. */
async function runsOf(workflowId: string): Promise<{ events: number; bytes: number }[]> {
  await client().workflow.getHandle(workflowId).result();
  const runs: { events: number; bytes: number; startedAt: number }[] = [];
  for await (const { runId } of client().workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { raw, startTime } = await client().workflow.getHandle(workflowId, runId).describe();
    const { historyLength, historySizeBytes } = raw.workflowExecutionInfo ?? {};
    runs.push({ events: Number(historyLength), bytes: Number(historySizeBytes), startedAt: startTime.getTime() });
  }
  const sorted = runs.toSorted((a, b) => a.startedAt - b.startedAt).map(({ events, bytes }) => ({ events, bytes }));
  if (SIZE !== undefined) console.log(workflowId, sorted);
  return sorted;
}

function expectShort(runs: { events: number; bytes: number }[], shortest: number): void {
  expect(runs.length).toBeGreaterThan(shortest);
  for (const { events, bytes } of runs) {
    expect(events).toBeLessThan(EVENTS_MAX);
    expect(bytes).toBeLessThan(BYTES_MAX);
  }
}

async function sweep(): Promise<void> {
  const { sql } = flows.dependencies;
  for await (const missing of findMissingFlows({ sql, client: client() }, { ageMinMs: 0 })) {
    await restartFlow(sql, missing);
  }
}

test(
  'a payment that is paid by many small credits is settled, and each credit is placed once',
  async () => {
    const credit = Math.ceil(1_000 / MESSAGES);
    const walletId = await flows.createWallet();
    // The fee is 500 kobo at least.
    const payment = await flows.createPayment(walletId, credit * MESSAGES - 500);
    expect(payment.payableAmount).toBe(credit * MESSAGES);
    await times(MESSAGES, () => flows.credit(payment.virtualAccount.accountNumber, credit));
    const settled = await waitFor(
      'the payment to be settled',
      async () => {
        // The flow begins each further run with a signal, of which there is one for each credit, or of the sweep.
        await sweep();
        const { data } = await flows.test.get(`/payments/${payment.id}`);
        return data.status === 'settled' && data;
      },
      LIMIT_MS,
    );
    expect(settled.amountReceived).toBe(credit * MESSAGES);
    expect(await flows.balanceOf(walletId)).toBe(credit * MESSAGES - 500);
    const [placed] = await flows.sql<{ credits: number; posted: number }[]>`
      SELECT count(*)::int AS credits, count(*) FILTER (WHERE status = 'posted')::int AS posted FROM inbound_credits`;
    expect(placed).toEqual({ credits: MESSAGES, posted: MESSAGES });
    expectShort(await runsOf(payment.id), 1);
  },
  LIMIT_MS,
);

test.each([
  ['callbacks', MESSAGES, 0],
  ['signals', 200, SIZE === undefined ? 1 : 0], // of which the API would send a few only
] as const)(
  'a transfer with many %s ends once, and its flow stays short',
  async (kind, count, shortest) => {
    const { id, path: withdrawal } = await flows.withdraw(HOLDS);
    const flow = client().workflow.getHandle(id);
    await waitFor('the flow to start', () => flow.describe().catch(() => null));
    await times(count, () => (kind === 'callbacks' ? callBack(flows, id) : flow.signal(transferUpdated)));
    await flows.endTransfer(id, 'complete');
    await flows.untilStatus(withdrawal, 'completed');
    expectShort(await runsOf(id), shortest);
    expect(await flows.sql`SELECT times FROM sandbox_bank.requests WHERE reference = ${id}`).toEqual([{ times: 1 }]);
  },
  LIMIT_MS,
);

test('a parked flow that continues as new stays parked since the same time, and keeps the proposal of an operator', async () => {
  const { id, path: withdrawal } = await flows.withdraw(HOLDS);
  const flow = client().workflow.getHandle(id);
  const attention = async () => {
    const described = await flow.describe().catch(() => null); // not started yet
    const attributes = described?.typedSearchAttributes;
    return attributes?.get(ATTENTION) === 'outcome_unknown' ? described : undefined;
  };
  const parked = await waitFor('the flow to be parked', attention);
  const decide = async (operator: 'ada' | 'ngozi') =>
    await flow.executeUpdate<{ outcome: string }, [object]>('resolve', {
      args: [{ action: 'complete', reason: 'by letter', code: await codeOf(flows.sql, operator, id, 'complete') }],
    });
  expect(await decide('ada')).toMatchObject({ outcome: 'proposed' });
  const continued = await waitFor('the flow to continue as new', async () => {
    await flow.signal(railResumed); // any news: the flow queries the rail
    const described = await attention();
    return described?.runId !== parked.runId && described;
  });
  expect(continued.typedSearchAttributes.get(ATTENTION_SINCE)).toEqual(
    parked.typedSearchAttributes.get(ATTENTION_SINCE),
  );
  await waitFor('the second operator to be accepted', async () => (await decide('ngozi')).outcome === 'accepted');
  await flows.untilStatus(withdrawal, 'completed');
});

test(
  'a flow that was parked two runs ago is shown when it parks again, without the proposal of then',
  async () => {
    const taskQueue = 'parked-twice';
    const limits = {
      ...flows.dependencies.config.attention,
      notVisibleForMs: 360_000,
      unknownIsFinal: false,
      outcomeUnknownMs: 3_600_000,
    };
    const transferId = publicId('withdrawal', newUuid());
    let firstRun = '';
    /** Nothing is wrong in the run that was started parked; in the next one its cause is back. */
    const check = (): TransferProgress => {
      const { runId } = activityInfo().workflowExecution ?? {};
      firstRun ||= runId ?? '';
      return { status: 'processing', rail: runId === firstRun ? 'known' : 'contradiction', limits };
    };
    const activities = {
      sendBankTransfer: check,
      checkBankTransfer: check,
      recordDecision: () => ({ outcome: 'accepted' }),
    };
    const [worker, railWorker] = [
      await Worker.create({
        connection: native,
        taskQueue,
        activities,
        workflowBundle: { codePath: testStack().workflowBundlePath },
      }),
      await Worker.create({ connection: native, taskQueue: railQueueOf(taskQueue), activities }),
    ];
    const parkedTwice = async (): Promise<void> => {
      const now = Date.now();
      const flow = await client().workflow.start('withdrawal', {
        taskQueue,
        workflowId: transferId,
        args: [
          {
            organisationId: newUuid(),
            environment: 'test',
            transferId,
            amount: 1,
            continued: {
              step: 'check',
              sends: 1,
              sentAt: now,
              checks: 1,
              openSince: now,
              found: { rail: 'known', since: now, steps: 1 },
              knowsReference: true,
              hasNews: false,
              attention: {
                cause: 'rail_contradiction',
                since: new Date(now).toISOString(),
                proposal: { operator: 'svc_x_opr', decision: 'return of rail_contradiction', reason: 'x' },
              },
            },
          },
        ],
      });
      const parked = await waitFor('the next run to park', async () => {
        await flow.signal(transferUpdated);
        const described = await flow.describe();
        return described.typedSearchAttributes.get(ATTENTION) === 'rail_contradiction' && described;
      });
      expect(parked.runId).not.toBe(flow.firstExecutionRunId);
      const { metadata } = await flow
        .query<{ metadata?: string }>('__temporal_workflow_metadata')
        .then((found) => ({ metadata: JSON.stringify(found) }));
      expect(metadata).toContain('Needs attention');
      expect(metadata).not.toContain('Proposed by');
      await flow.terminate();
    };
    await worker.runUntil(() => railWorker.runUntil(parkedTwice));
  },
  LIMIT_MS,
);
