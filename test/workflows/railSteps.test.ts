// The flows over live rails, while every activity fails, runs twenty times at once, loses its result and runs twice
// again, and sends go wrong in every way: each ends as without these faults, and each reference is paid once.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { publicId } from '../../src/ids.ts';
import { Rails } from '../../src/rail/rails.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { FAILS_AND_REPEATS, startFaultInjectingWorker } from '../support/activities.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { RAIL_WORLDS, type RailWorld, type SendFault } from '../support/railWorlds.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';

const LIMIT_MS = 300_000;
const AMOUNT = 100_000;
const HELD = 103_000;

let lastAccount = 1_600_000_000;
const newAccount = (): string => {
  lastAccount += 1;
  return String(lastAccount);
};

describe.each(RAIL_WORLDS)('over %s', (name, startWorld) => {
  let world: RailWorld;
  let flows: TestFlows;
  let worker: { stop: () => Promise<void> };

  beforeAll(async () => {
    world = await startWorld();
    const settings = { ...SCENARIO_SETTINGS, ATTENTION_PROBE_SECONDS: '1' };
    flows = await startTestFlows({ settings, worker: false, rails: () => new Rails({ test: world.rail }) });
    const contract = publicId('organisation', flows.organisation.organisationId);
    world.callBackAt(`${flows.urls.test}/rails/${name}/callbacks/${contract}`);
    worker = await startFaultInjectingWorker(flows.dependencies, () => FAILS_AND_REPEATS);
  }, LIMIT_MS);

  afterAll(async () => {
    await worker.stop();
    const { findings } = await verifyBooks(flows.sql);
    await replayEverything(flows, world.secrets);
    const log = flows.logged.join('');
    expect([...world.secrets, KYC.bvn].filter((secret) => log.includes(secret))).toEqual([]);
    await flows.close();
    const complaints = await world.close();
    expect([findings, complaints, world.paidTwice()]).toEqual([[], [], []]);
  });

  const accepted = (reference: string) =>
    waitFor(`${reference} to be accepted by the rail`, () => world.references().includes(reference));

  async function withdraw(): Promise<{ walletId: string; id: string; path: string }> {
    const walletId = await flows.createWallet(undefined, { balance: HELD });
    const body = { amount: AMOUNT, accountNumber: newAccount(), bankCode: '058' };
    const { data, status } = await flows.test.money(`/wallets/${walletId}/withdraw`, body);
    expect(status).toBe(201);
    return { walletId, id: data.id, path: `/withdrawals/${data.id}` };
  }

  test(
    'a payment is settled once, refunded once, and the refund that comes back is credited once',
    async () => {
      const walletId = await flows.createWallet();
      const payment = await flows.createPayment(walletId, AMOUNT);
      await world.pay(payment.virtualAccount.accountNumber, payment.payableAmount);
      await flows.untilStatus(`/payments/${payment.id}`, 'settled');
      expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
      const body = { bankAccount: { accountNumber: newAccount(), bankCode: '058' } };
      const { data: refund } = await flows.test.money(`/payments/${payment.id}/refund`, body);
      await accepted(refund.id);
      await world.end(refund.id, 'complete');
      await flows.untilStatus(`/refunds/${refund.id}`, 'completed');
      expect([world.timesPaid(refund.id), await flows.balanceOf(walletId)]).toEqual([1, 0]);
      await world.end(refund.id, 'return');
      await flows.untilStatus(`/refunds/${refund.id}`, 'failed');
      expect([world.timesPaid(refund.id), await flows.balanceOf(walletId)]).toEqual([1, AMOUNT]);
    },
    LIMIT_MS,
  );

  test(
    'a deposit to the account number of a wallet is posted once',
    async () => {
      const walletId = await flows.createWallet();
      const { data } = await flows.test.get(`/wallets/${walletId}/deposit-account`);
      await world.pay(String(data.accountNumber), AMOUNT);
      await waitFor('the deposit', async () => (await flows.balanceOf(walletId)) === AMOUNT);
    },
    LIMIT_MS,
  );

  test(
    'a withdrawal that is refused gives the money back once',
    async () => {
      const { walletId, id, path } = await withdraw();
      await accepted(id);
      await world.end(id, 'fail');
      await flows.untilStatus(path, 'failed', 'returned'); // Nomba has one word for both
      expect([world.timesPaid(id), await flows.balanceOf(walletId)]).toEqual([0, HELD]);
    },
    LIMIT_MS,
  );

  test(
    'a withdrawal that comes back after its completion gives the money back once',
    async () => {
      const { walletId, id, path } = await withdraw();
      await accepted(id);
      await world.end(id, 'complete');
      await flows.untilStatus(path, 'completed');
      await world.end(id, 'return');
      await flows.untilStatus(path, 'returned');
      expect([world.timesPaid(id), await flows.balanceOf(walletId)]).toEqual([1, HELD]);
    },
    LIMIT_MS,
  );

  test.each<[SendFault, boolean]>([
    ['reset', true],
    ['reset', false],
    ['html_502', true],
    ['null_body', true],
    ['rate_limited', false],
  ])(
    'a withdrawal whose first send ends in %s is paid once; accepted all the same: %s',
    async (fault, acts) => {
      world.breakSend(fault, acts);
      const { walletId, id, path } = await withdraw();
      await accepted(id);
      await world.end(id, 'complete');
      await flows.untilStatus(path, 'completed');
      expect([world.timesPaid(id), await flows.balanceOf(walletId)]).toEqual([1, 0]);
    },
    LIMIT_MS,
  );

  test(
    'a payout pays each item once, and gives back once what is refused or comes back later',
    async () => {
      const sourceWalletId = await flows.createWallet(undefined, { balance: 3 * HELD });
      const items = ['one', 'two', 'three'].map((reference) => ({
        amount: AMOUNT,
        reference,
        bankAccount: { accountNumber: newAccount(), bankCode: '058' },
      }));
      const { data, status } = await flows.test.money('/payouts', { sourceWalletId, items });
      expect(status).toBe(202);
      const [first, second, third] = data.items as [Resource, Resource, Resource];
      for (const { id } of [first, second, third]) await accepted(id);
      await world.end(first.id, 'complete');
      await world.end(second.id, 'complete');
      await world.end(third.id, 'fail');
      await flows.untilStatus(`/payouts/${data.id}`, 'partially_completed');
      expect([first, second, third].map(({ id }) => world.timesPaid(id))).toEqual([1, 1, 0]);
      expect(await flows.balanceOf(sourceWalletId)).toBe(HELD);
      await world.end(first.id, 'return');
      await waitFor('the item to be returned', async () => (await flows.balanceOf(sourceWalletId)) === 2 * HELD);
    },
    LIMIT_MS,
  );
});
