// The order in which waiting tasks reach a worker: by the class of their flow, and within a class in turns between the
// organisations.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publicId } from '../../src/ids.ts';
import type { Environment } from '../../src/money.ts';
import * as workflows from '../../src/workflows/index.ts';
import { type FlowType, priorityOf } from '../../src/workflows/priority.ts';
import type { Resource, TestOrganisation } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';
import { type PayoutFlows, startPayoutFlows } from './payoutBank.ts';

const HELD = '1000000002';
/** All items of a payout of this size run at once. */
const ITEMS = 20;
const PAYOUTS = 4;

let flows: PayoutFlows;
let openBank = () => {};

beforeAll(async () => {
  flows = await startPayoutFlows({ WORKER_FLOWS_ACTIVITIES_MAX: '20' });
  flows.bank.manners.set(HELD, 'hold');
});

afterAll(async () => {
  openBank(); // otherwise the open queries of a failed test would keep the worker from stopping
  await flows.close();
});

/** Starts a payout. Returns its id and those of its items. */
async function pay(owner: TestOrganisation, count: number): Promise<[string, string[]]> {
  const sourceWalletId = await flows.createWallet(owner.test, { balance: 10_000_000 });
  const bankAccount = { accountNumber: HELD, bankCode: '058' };
  const items = Array.from({ length: count }, () => ({ amount: 1_000, bankAccount }));
  const { data: payout } = await owner.test.money('/payouts', { sourceWalletId, items });
  return [payout.id, (payout.items as Resource[]).map(({ id }) => id)];
}

const handle = (id: string) => flows.temporal.workflow.getHandle(id);

const untilBusy = (id: string) =>
  waitFor(`${id} to have scheduled an activity`, async () => {
    try {
      return ((await handle(id).describe()).raw.pendingActivities ?? []).length > 0;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  });

const signal = { name: 'any', payload: null };
const keyOf = (workflow: FlowType, environment: Environment): number =>
  priorityOf({ workflow, signal }, { organisationId: '', environment }).priorityKey ?? Number.NaN;

test('every workflow has a class: urgent ones before batches, batches before the rest', () => {
  const types = Object.keys(workflows).filter((name) => name !== 'payoutPage') as FlowType[];
  for (const type of types) {
    for (const environment of ['test', 'live'] as const) {
      expect([1, 2, 3, 4, 5]).toContain(keyOf(type, environment));
    }
    // Every sandbox flow goes after every live one.
    for (const other of types) expect(keyOf(type, 'test')).toBeGreaterThan(keyOf(other, 'live'));
  }
  for (const first of ['payment', 'inboundCredit', 'withdrawal', 'refund'] as const) {
    expect(keyOf(first, 'live')).toBe(1);
    expect(keyOf(first, 'test')).toBeLessThan(keyOf('payout', 'test'));
  }
  expect(keyOf('payoutItem', 'live')).toBe(keyOf('payout', 'live'));
  expect(keyOf('payout', 'live')).toBeLessThan(keyOf('sweep', 'live'));
  // A payment that starts without a credit expires.
  expect(priorityOf({ workflow: 'payment' }).priorityKey).toBe(keyOf('sweep', 'live'));
  // One that is started again may have a part of its money, and a payer waits.
  expect(priorityOf({ workflow: 'payment', allowRestart: true }).priorityKey).toBe(keyOf('payment', 'live'));
  expect(priorityOf({ workflow: 'retention' }).priorityKey).toBe(keyOf('sweep', 'live'));
});

test('a one-item payout ends while most items of the large payouts of another organisation wait', async () => {
  const small = await flows.createOrganisation();
  const batches = await Promise.all(Array.from({ length: PAYOUTS }, () => pay(flows.organisation, ITEMS)));
  const waiting = batches.flatMap(([, itemIds]) => itemIds);
  const [payoutId, [itemId = '']] = await pay(small, 1);
  const all = [...waiting, itemId];
  await waitFor('the bank to have all items', () => flows.bank.taken.size === all.length);

  // Every item is to be queried, and the bank does not respond: the first fill the worker, all others wait in Temporal.
  flows.bank.statusGate = new Promise((resolve) => {
    openBank = resolve;
  });
  for (const id of all) flows.bank.end(id, 'completed');
  await Promise.all(waiting.map((id) => flows.wakeItem(id)));
  await Promise.all(waiting.map(untilBusy));
  await flows.wakeItem(itemId, small);
  await untilBusy(itemId);

  openBank();
  await Promise.all([payoutId, ...batches.map(([id]) => id)].map((id) => handle(id).result()));
  const order = [...flows.bank.reported];
  expect(order).toHaveLength(all.length);
  expect(order.indexOf(itemId)).toBeLessThan(waiting.length / 2);
  const { raw } = await handle(itemId).describe();
  expect(raw.workflowExecutionInfo?.priority).toMatchObject(
    priorityOf(
      { workflow: 'payoutItem' },
      { organisationId: publicId('organisation', small.organisationId), environment: 'test' },
    ),
  );
}, 300_000);
