// The flow of a payment paid from a wallet: it waits, and ends with the payment's final status.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows();
});

afterAll(() => flows.close());

async function bill(targetWalletId: string): Promise<string> {
  const body = { method: 'virtual_wallet', baseAmount: 400, targetWalletId };
  const answer = await flows.test.money('/payments', body);
  expect(answer.data).toMatchObject({ status: 'pending', fee: 0, virtualAccount: null });
  return answer.data.id;
}

const pay = (walletId: string, paymentId: string) => flows.test.money(`/wallets/${walletId}/pay`, { paymentId });

test('paying from a wallet ends the flow without an activity', async () => {
  const [payer, target] = [await flows.createWallet(flows.test, { balance: 400 }), await flows.createWallet()];
  const paymentId = await bill(target);
  expect((await pay(payer, paymentId)).status).toBe(200);
  const flow = flows.temporal.workflow.getHandle(paymentId);
  await waitFor('the flow to start', () => flow.describe().catch(() => null));
  expect(await flow.result()).toEqual({ status: 'settled' });
  const { events } = await flow.fetchHistory();
  expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toEqual([]);
  expect(await flows.balanceOf(target)).toBe(400);
});

test('a payment paid while no worker was running ends when a worker starts', async () => {
  const [payer, target] = [await flows.createWallet(flows.test, { balance: 400 }), await flows.createWallet()];
  await flows.stopWorker();
  const paymentId = await bill(target);
  expect((await pay(payer, paymentId)).status).toBe(200);
  await flows.startWorkerAgain();
  const flow = flows.temporal.workflow.getHandle(paymentId);
  await waitFor('the flow to start', () => flow.describe().catch(() => null));
  expect(await flow.result()).toEqual({ status: 'settled' });
});

test('an unpaid virtual-wallet payment expires and can then not be paid', async () => {
  const [payer, target] = [await flows.createWallet(flows.test, { balance: 400 }), await flows.createWallet()];
  await flows.stopWorker();
  const paymentId = await bill(target);
  const expiresAt = new Date(Date.now() + 500);
  await flows.sql`UPDATE payments SET expires_at = ${expiresAt} WHERE id = ${requireUuid('payment', paymentId)}`;
  await flows.sql`
    UPDATE outbox
    SET available_at = ${expiresAt}, message = jsonb_set(message, '{input,expiresAt}', ${JSON.stringify(expiresAt)}::text::jsonb)
    WHERE message ->> 'id' = ${paymentId}`;
  await flows.startWorkerAgain();
  await flows.untilStatus(`/payments/${paymentId}`, 'expired');
  expect((await flows.eventsOf(paymentId)).map(({ type }) => type)).toEqual(['payment.expired']);
  expect((await pay(payer, paymentId)).error.code).toBe('PAYMENT_NOT_PAYABLE');
  const flow = flows.temporal.workflow.getHandle(paymentId);
  expect(await flow.result()).toEqual({ status: 'expired' });
  // In its only task, so that thousands that expire together do not delay credits.
  const events = (await flow.fetchHistory()).events ?? [];
  expect(events.filter((event) => event.workflowTaskStartedEventAttributes)).toHaveLength(1);
  expect(events.filter((event) => event.activityTaskScheduledEventAttributes)).toEqual([]);
  expect(await flows.balanceOf(payer)).toBe(400);
});
