// A credit that its payment's flow does not place within a moment, here because its query to the rail has no response,
// is placed by a second flow: once, and with nothing left to do twice.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publicId, type Uuid } from '../../src/ids.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { endFlows } from '../support/endFlows.ts';
import { type PaymentResource, startTestFlows, type TestFlows } from '../support/flows.ts';
import { UnsureRail } from '../support/unsureRail.ts';
import { waitFor } from '../support/waitFor.ts';

const BASE = 100_000;
const PAYABLE = BASE + 1_000;

let flows: TestFlows;
const rail = new UnsureRail();

beforeAll(async () => {
  flows = await startTestFlows({
    settings: { WORKER_ROLES: 'flows,credits,relay', ATTENTION_CREDIT_UNCONFIRMED_SECONDS: '1' },
    rails: (rails) => rail.within(rails),
  });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const flowOf = (id: string) => flows.temporal.workflow.getHandle(id);
const pathOf = ({ id }: PaymentResource): string => `/payments/${id}`;

async function createPayment(): Promise<{ payment: PaymentResource; wallet: string }> {
  const wallet = await flows.createWallet();
  return { payment: await flows.createPayment(wallet, BASE), wallet };
}

/** A credit for whose first query the rail has no response until `release` is called. */
async function heldCredit({ virtualAccount }: PaymentResource, amount: number) {
  const sessionId = randomUUID();
  const release = rail.holdNext(sessionId);
  await flows.credit(virtualAccount.accountNumber, amount, { sessionId });
  return { sessionId, release };
}

const creditIdOf = (sessionId: string): Promise<string> =>
  waitFor('the credit to be reported', async () => {
    const [row] = await flows.sql<{ id: Uuid }[]>`SELECT id FROM inbound_credits WHERE session_id = ${sessionId}`;
    return row && publicId('inboundCredit', row.id);
  });

/** The result of the flow beside that of the payment, once it has started. */
const placementOf = async (sessionId: string): Promise<unknown> => {
  const id = await creditIdOf(sessionId);
  await waitFor('the second flow', () => isStarted(id));
  return await flowOf(id).result();
};

async function isStarted(id: string): Promise<boolean> {
  try {
    return (await flowOf(id).describe()).type === 'paymentCredit';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

const outcomesOf = async ({ id }: PaymentResource): Promise<string[]> =>
  (await flows.eventsOf(id)).map(({ type, data }) => `${type} ${String(data.status)}`);

test.concurrent('a held up credit settles its payment once, and its flow ends with that', async () => {
  const { payment, wallet } = await createPayment();
  const { sessionId, release } = await heldCredit(payment, PAYABLE);
  await flows.untilStatus(pathOf(payment), 'settled');
  expect(await placementOf(sessionId)).toEqual({ status: 'placed' });
  expect((await flowOf(payment.id).describe()).status.name).toBe('RUNNING');
  release();
  expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
  expect(await outcomesOf(payment)).toEqual(['payment.settled settled']);
  expect(await flows.balanceOf(wallet)).toBe(BASE);
});

test.concurrent('a held up part of a payment counts with the rest', async () => {
  const { payment, wallet } = await createPayment();
  const { sessionId, release } = await heldCredit(payment, 40_000);
  await flows.untilStatus(pathOf(payment), 'partial');
  expect(await placementOf(sessionId)).toEqual({ status: 'placed' });
  // The payment's flow still waits for the rail, so this one is held up as well.
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE - 40_000);
  await flows.untilStatus(pathOf(payment), 'settled');
  expect((await flowOf(payment.id).describe()).status.name).toBe('RUNNING');
  release();
  expect(await flowOf(payment.id).result()).toEqual({ status: 'settled' });
  expect(await outcomesOf(payment)).toEqual(['payment.settled partial', 'payment.settled settled']);
  expect(await flows.balanceOf(wallet)).toBe(BASE);
});

test.concurrent('a credit that the rail does not confirm is left to the flow of its payment, which alone parks', async () => {
  const { payment } = await createPayment();
  const sessionId = randomUUID();
  rail.say(sessionId, 'denied');
  await flows.credit(payment.virtualAccount.accountNumber, PAYABLE, { sessionId });
  expect(await placementOf(sessionId)).toEqual({ status: 'left' });
  await waitFor('the flow of the payment to park', async () => {
    const { typedSearchAttributes } = await flowOf(payment.id).describe();
    return typedSearchAttributes.get(ATTENTION) === 'credit_unconfirmed';
  });
  const second = await flowOf(await creditIdOf(sessionId)).describe();
  expect([second.status.name, second.typedSearchAttributes.get(ATTENTION)]).toEqual(['COMPLETED', undefined]);
  rail.say(sessionId, 'known');
  await flows.untilStatus(pathOf(payment), 'settled');
  expect(await outcomesOf(payment)).toEqual(['payment.settled settled']);
});

// Not beside the others: a process starts three second flows a second.
test('a credit whose posting the ledger refuses is left to the flow of its payment, which alone parks', async () => {
  const owner = await flows.createOrganisation();
  const targetWalletId = await flows.createWallet(owner.test);
  const { data } = await owner.test.money('/payments', { method: 'bank_transfer', baseAmount: BASE, targetWalletId });
  const payment = data as PaymentResource;
  const setStatus = (status: string) => flows.sql`
    INSERT INTO ledger.accounts (organisation_id, environment, code, status)
    VALUES (${owner.organisationId}, 'test', 'clearing:sandbox', ${status})
    ON CONFLICT (organisation_id, environment, code) DO UPDATE SET status = excluded.status`;
  await setStatus('frozen');
  const sessionId = randomUUID();
  const { accountNumber } = payment.virtualAccount;
  await owner.test.post('/simulations/inbound-credits', { accountNumber, amount: PAYABLE, sessionId });
  expect(await placementOf(sessionId)).toEqual({ status: 'left' });
  await waitFor('the flow of the payment to park', async () => {
    const { typedSearchAttributes } = await flowOf(payment.id).describe();
    return typedSearchAttributes.get(ATTENTION) === 'posting_refused';
  });
});

test('a payment whose flow was not started yet is settled, and its flow is not started again', async () => {
  const late = await startTestFlows({
    worker: false,
    settings: { WORKER_ROLES: 'flows,credits,relay' },
    rails: (rails) => rail.within(rails),
  });
  const payment = await late.createPayment(await late.createWallet(), BASE);
  const start = late.sql`topic = 'flow' AND message ->> 'id' = ${payment.id} AND NOT message ? 'signal'`;
  await late.sql`UPDATE outbox SET available_at = now() + interval '1 hour' WHERE ${start}`;
  await late.startWorkerAgain();
  const sessionId = randomUUID();
  const release = rail.holdNext(sessionId);
  await late.credit(payment.virtualAccount.accountNumber, PAYABLE, { sessionId });
  await late.untilStatus(pathOf(payment), 'settled');
  release();
  const flow = late.temporal.workflow.getHandle(payment.id);
  expect(await flow.result()).toEqual({ status: 'settled' });
  const { runId } = await flow.describe();
  await late.sql`UPDATE outbox SET available_at = now() WHERE ${start}`;
  await waitFor(
    'the start to be handled',
    async () => (await late.sql`SELECT FROM outbox WHERE ${start}`).length === 0,
  );
  expect((await flow.describe()).runId).toBe(runId);
  expect(await endFlows(late)).toEqual([]);
});
