// Two API and two worker processes with one database and one Temporal server give the same guarantees as one of each,
// also when one of each is killed. The processes have no configuration of each other.
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { freePort } from '../../dev/freePort.ts';
import { requireUuid } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { type Client, createClient, type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { endProcess, killProcesses, startProcess } from '../support/processes.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

/** The two workers bundle their workflows first, on a machine that may be busy. */
const START_LIMIT_MS = 240_000;
const LIMIT_MS = 200_000;
/** temporal.api.enums.v1.TaskQueueType */
const WORKFLOW_TASKS = 1;

const PAYMENTS = 20;
const ITEMS = 30;
const SHORT_WINDOW_MS = 3_000;

let setup: TestApi; // creates the organisation and reads rows; receives no request of a test
let receiver: Receiver;
let callers: Client[]; // one for each API process
let apis: ChildProcess[];
let workers: ChildProcess[];
let urls: string[];
let temporal: Connection;
let client: TemporalClient;

beforeAll(async () => {
  setup = await startTestApi();
  temporal = await Connection.connect({ address: setup.dependencies.config.temporal.address });
  client = new TemporalClient({ connection: temporal });
  receiver = await startReceiver();
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
  urls = ports.slice(0, 2).map((port) => `http://127.0.0.1:${port}/v1`);
  // The API process that is never killed.
  const toFirst = { SANDBOX_RAIL_CALLBACK_URL: `${urls[0]}/rails/sandbox/callbacks` };
  apis = [0, 1].map((index) => {
    const own = { SANDBOX_PORT: String(ports[index]), LIVE_PORT: String(ports[index + 2]) };
    return startProcess('api', setup, { ...toFirst, ...own });
  });
  workers = [0, 1].map(() => startProcess('worker', setup, toFirst));
  const { key } = await setup.createKey(setup.organisation.organisationId);
  callers = urls.map((url) => createClient(url, key, 'test'));
  await Promise.all(urls.map((url) => waitFor(`${url} to respond`, () => isUp(url), START_LIMIT_MS)));
  await untilBothPoll();
}, START_LIMIT_MS);

afterAll(async () => {
  await killProcesses();
  await receiver.close();
  await temporal.close();
  const { findings } = await verifyBooks(setup.sql);
  await setup.close();
  expect(findings).toEqual([]);
});

const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );

/** Waits until both workers poll the task queue of the flows. */
async function untilBothPoll(): Promise<void> {
  const { namespace, taskQueue } = setup.dependencies.config.temporal;
  await waitFor(
    'both workers to poll',
    async () => {
      const { pollers } = await temporal.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: WORKFLOW_TASKS,
      });
      const pids = new Set((pollers ?? []).map(({ identity }) => pidOf(identity)));
      return workers.every(({ pid = 0 }) => pids.has(pid));
    },
    START_LIMIT_MS,
  );
}

/** A worker's identity begins with its process id. */
const pidOf = (identity: string | null | undefined): number => Number(identity?.split('@')[0]);

const caller = (index: number): Client => callers[index % callers.length] as Client;

async function accepted(answer: Promise<{ status: number; text: string; data: Resource }>): Promise<Resource> {
  const { status, text, data } = await answer;
  if (status >= 300) throw new Error(`refused: ${text}`);
  return data;
}

type PaymentResource = Resource & { payableAmount: number; virtualAccount: { accountNumber: string } };

/** Creates payments into one wallet through both APIs alternately. */
async function createPayments(count: number, targetWalletId: string): Promise<PaymentResource[]> {
  const body = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId };
  return (await Promise.all(
    Array.from({ length: count }, (_, index) => accepted(caller(index).money('/payments', body))),
  )) as PaymentResource[];
}

/** Reports every credit twice, through the simulations of both APIs; the session id makes it one credit. */
async function creditTwice(payments: PaymentResource[]): Promise<void> {
  await Promise.all(
    payments.map(async ({ id, virtualAccount, payableAmount }, index) => {
      const credit = { accountNumber: virtualAccount.accountNumber, amount: payableAmount, sessionId: `session-${id}` };
      await accepted(caller(index).post('/simulations/inbound-credits', credit));
      await accepted(caller(0).post('/simulations/inbound-credits', credit));
    }),
  );
}

const untilSettled = (payments: PaymentResource[]) =>
  waitFor(
    'all payments to be settled',
    async () => {
      const rows = await setup.sql`
        SELECT FROM payments WHERE status = 'settled' AND id = ANY (${payments.map(({ id }) => requireUuid('payment', id))}::uuid[])`;
      return rows.length === payments.length;
    },
    LIMIT_MS,
  );

/** The number of events of this type of each resource. */
async function eventCounts(type: string, resources: readonly { id: string }[]): Promise<number[]> {
  const rows = await setup.sql<{ resource: string; count: number }[]>`
    SELECT resource, count(*)::int AS count FROM events WHERE type = ${type} GROUP BY resource`;
  const counts = new Map(rows.map(({ resource, count }) => [resource, count]));
  return resources.map(({ id }) => counts.get(id) ?? 0);
}

const onceEach = (resources: readonly unknown[]) => resources.map(() => 1);

test(
  'each payment settles once, each event is emitted and delivered once, and both workers run workflow tasks',
  async () => {
    await accepted(caller(0).post('/webhook-endpoints', { url: receiver.url, eventTypes: ['payment.completed'] }));
    const target = await setup.createWallet();
    const payments = await createPayments(PAYMENTS, target);
    await creditTwice(payments);
    await untilSettled(payments);
    expect(await setup.balanceOf(target)).toBe(PAYMENTS * 1_000);
    expect(await eventCounts('payment.completed', payments)).toEqual(onceEach(payments));

    await receiver.untilReceived(PAYMENTS);
    await waitFor('every attempt to be recorded', async () => {
      const rows = await setup.sql`SELECT FROM webhook_deliveries WHERE status = 'pending'`;
      const [waiting] = await setup.sql<
        { count: number }[]
      >`SELECT count(*)::int AS count FROM outbox WHERE topic <> 'scheduled'`;
      return rows.length === 0 && waiting?.count === 0;
    });
    const eventIds = receiver.received.map(({ headers }) => String(headers['webhook-id']));
    expect([eventIds.length, new Set(eventIds).size]).toEqual([PAYMENTS, PAYMENTS]);
    const [attempts] = await setup.sql<{ count: number }[]>`SELECT count(*)::int AS count FROM webhook_attempts`;
    expect(attempts?.count).toBe(PAYMENTS);

    const pids = await Promise.all(
      payments.map(async ({ id }) => {
        const { events } = await client.workflow.getHandle(id).fetchHistory();
        return (events ?? []).map((event) => pidOf(event.workflowTaskCompletedEventAttributes?.identity));
      }),
    );
    expect(workers.filter(({ pid = 0 }) => pids.flat().includes(pid))).toHaveLength(workers.length);
  },
  LIMIT_MS,
);

test(
  'each payment expires once across worker processes',
  async () => {
    const targetWalletId = await setup.createWallet();
    const request = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId, windowMs: SHORT_WINDOW_MS } as const;
    const payments = await Promise.all(
      Array.from({ length: PAYMENTS }, () => createShortPayment(setup, setup.organisation, request)),
    );
    await waitFor(
      'all payments to be expired',
      async () => (await eventCounts('payment.expired', payments)).every((count) => count > 0),
      LIMIT_MS,
    );
    expect(await eventCounts('payment.expired', payments)).toEqual(onceEach(payments));
  },
  LIMIT_MS,
);

test(
  'after one API and one worker are killed, everything accepted is completed once by the remaining ones',
  async () => {
    const target = await setup.createWallet();
    const source = await setup.createWallet(setup.test, { balance: 1_000_000 });
    const payments = await createPayments(PAYMENTS, target);
    const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
    const items = Array.from({ length: ITEMS }, () => ({ amount: 1_000, bankAccount }));
    const payout = await accepted(caller(1).money('/payouts', { sourceWalletId: source, items }));

    // Requests are in flight at both when one is killed; a caller without a response repeats its request at the other,
    // with the same key.
    const transfers = Array.from({ length: 40 }, (_, index) => ({ key: `killed-${index}`, index }));
    const body = { amount: 10, destinationWalletId: target };
    const path = `/wallets/${source}/transfer`;
    const crediting = creditTwice(payments.slice(0, PAYMENTS / 2));
    const sending = transfers.map(async ({ key, index }) => {
      const first = await caller(index)
        .money(path, body, key)
        .catch(() => null);
      if (first?.status === 201) return;
      await waitFor(`${key} to succeed`, async () => (await caller(0).money(path, body, key)).status === 201, LIMIT_MS);
    });
    await crediting;
    await Promise.all([apis[1], workers[1]].map((one) => endProcess(one as ChildProcess)));
    callers = callers.slice(0, 1);
    await Promise.all(sending);
    await creditTwice(payments.slice(PAYMENTS / 2));
    await untilSettled(payments);
    await waitFor(
      'the payout to be completed',
      async () => (await caller(0).get(`/payouts/${payout.id}`)).data.status === 'completed',
      LIMIT_MS,
    );

    expect(await setup.balanceOf(target)).toBe(PAYMENTS * 1_000 + transfers.length * 10);
    expect(await setup.balanceOf(source)).toBe(1_000_000 - transfers.length * 10 - ITEMS * (1_000 + 500 + 2_000));
    expect(await eventCounts('payment.completed', payments)).toEqual(onceEach(payments));
    expect(await eventCounts('payout.completed', [payout])).toEqual([1]);
    const [sent] = await setup.sql<{ transfers: number; paid: number }[]>`
    SELECT count(DISTINCT reference)::int AS transfers, count(*)::int AS paid FROM sandbox_bank.statement_lines WHERE kind = 'sent'`;
    expect(sent).toEqual({ transfers: ITEMS, paid: ITEMS });

    // The killed worker may have sent a webhook before it could record that: then it is sent again.
    await waitFor(
      'every event to be received',
      () => {
        const eventIds = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
        return eventIds.size === 2 * PAYMENTS;
      },
      LIMIT_MS,
    );
  },
  2 * LIMIT_MS,
);
