// The flows over Nomba, while every activity fails, runs twenty times at once, loses its result and runs twice again,
// and sends go wrong in every way: each ends as without these faults, and each reference is paid once. At the end
// Nomba's statement has no break, and it holds what our books say.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { KYC } from '../../dev/chaos/requests.ts';
import type { Fault } from '../../dev/monnify/faults.ts';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { createReconciliationActivities } from '../../src/activities/reconciliation.ts';
import { publicId } from '../../src/ids.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { FAILS_AND_REPEATS, startFaultInjectingWorker } from '../support/activities.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { violationsOf } from '../support/violations.ts';
import { waitFor } from '../support/waitFor.ts';

const LIMIT_MS = 300_000;
const SEND = 'POST /v2/transfers/bank';
const AMOUNT = 100_000;
const HELD = 103_000;
/** What Nomba holds at the start, in kobo. */
const OPENING = 1_000_000_000n;

let fake: NombaFake;
let rail: ClosableRail;
let flows: TestFlows;
let worker: { stop: () => Promise<void> };
let callbackUrl: string;
const startedAt = new Date();

beforeAll(async () => {
  fake = await new NombaFake(() => new Date(), OPENING).start();
  rail = createNombaRail(fake.credentials);
  const settings = { ...SCENARIO_SETTINGS, probeMs: 1_000 };
  const rails = () => new Rails({ test: guardedRail(rail) });
  flows = await startTestFlows({ settings, worker: false, rails });
  const contract = publicId('organisation', flows.organisation.organisationId);
  callbackUrl = `${flows.urls.test}/rails/nomba/callbacks/${contract}`;
  fake.callbackUrl = callbackUrl;
  worker = await startFaultInjectingWorker(flows.dependencies, () => FAILS_AND_REPEATS);
}, LIMIT_MS);

afterAll(async () => {
  await worker.stop();
  const findings = await violationsOf(flows.sql);
  const secrets = [fake.credentials.clientSecret, fake.credentials.signatureKey, 'eyJhbG'];
  await replayEverything(flows, secrets);
  const log = flows.logged.join('');
  expect([...secrets, KYC.bvn].filter((secret) => log.includes(secret))).toEqual([]);
  await flows.close();
  await rail.close();
  await fake.close();
  const paidTwice = fake.rows.filter((row) => row.timesPaid > 1);
  expect([findings, fake.complaints, paidTwice]).toEqual([[], [], []]);
});

let lastAccount = 1_600_000_000;
const newAccount = (): string => {
  lastAccount += 1;
  return String(lastAccount);
};

function pay(accountNumber: string, amount: number): void {
  if (fake.pay(accountNumber, BigInt(amount)) === null) throw new Error('the payment was sent back');
}

const timesPaid = (reference: string): number => fake.transferOf(reference)?.timesPaid ?? 0;

const accepted = (reference: string) =>
  waitFor(`${reference} to be accepted by the rail`, () => fake.transferOf(reference) !== undefined);

const withdraw = () => flows.withdraw(newAccount());

test(
  'a payment is settled once, refunded once, and the refund that comes back is credited once',
  async () => {
    const walletId = await flows.createWallet();
    const payment = await flows.createPayment(walletId, AMOUNT);
    pay(payment.virtualAccount.accountNumber, payment.payableAmount);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
    const body = { bankAccount: { accountNumber: newAccount(), bankCode: '058' } };
    const { data: refund } = await flows.test.money(`/payments/${payment.id}/refund`, body);
    await accepted(refund.id);
    fake.end(refund.id, 'SUCCESS');
    await flows.untilStatus(`/refunds/${refund.id}`, 'completed');
    expect([timesPaid(refund.id), await flows.balanceOf(walletId)]).toEqual([1, 0]);
    fake.end(refund.id, 'REFUND');
    await flows.untilStatus(`/refunds/${refund.id}`, 'failed');
    expect([timesPaid(refund.id), await flows.balanceOf(walletId)]).toEqual([1, AMOUNT]);
  },
  LIMIT_MS,
);

test(
  'a payment is paid in two parts, and its surplus is in the wallet',
  async () => {
    const walletId = await flows.createWallet();
    const payment = await flows.createPayment(walletId, 200_037);
    pay(payment.virtualAccount.accountNumber, 50_000);
    await flows.untilStatus(`/payments/${payment.id}`, 'partial');
    pay(payment.virtualAccount.accountNumber, payment.payableAmount - 50_000 + 700);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    expect(await flows.balanceOf(walletId)).toBe(200_737);
  },
  LIMIT_MS,
);

test(
  'money for a payment that has expired or is settled goes to suspense, and opens a review case',
  async () => {
    const targetWalletId = await flows.createWallet();
    const request = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId, windowMs: 0 } as const;
    const expired = await createShortPayment(flows, flows.organisation, request);
    await flows.untilStatus(`/payments/${expired.id}`, 'expired');
    const settled = await flows.createPayment(targetWalletId, AMOUNT);
    pay(settled.virtualAccount.accountNumber, settled.payableAmount);
    await flows.untilStatus(`/payments/${settled.id}`, 'settled');
    pay(expired.virtualAccount.accountNumber, 70_000);
    pay(settled.virtualAccount.accountNumber, 30_000);
    const cases = await waitFor('the review cases', async () => {
      const found = await flows.reviewCases();
      return found.length >= 2 && found;
    });
    expect(cases.map(({ reason, amount, status }) => `${reason} ${amount} ${status}`).toSorted()).toEqual([
      'credit_after_settlement 30000 open',
      'late_credit 70000 open',
    ]);
    expect(await flows.balanceOf(targetWalletId)).toBe(AMOUNT);
  },
  LIMIT_MS,
);

test(
  'a deposit to the account number of a wallet is posted once',
  async () => {
    const walletId = await flows.createWallet();
    pay(await flows.depositAccount(walletId), AMOUNT);
    await waitFor('the deposit', async () => (await flows.balanceOf(walletId)) === AMOUNT);
  },
  LIMIT_MS,
);

test(
  'a withdrawal that is refused gives the money back once',
  async () => {
    const { walletId, id, path } = await withdraw();
    await accepted(id);
    fake.end(id, 'REFUND');
    await flows.untilStatus(path, 'failed', 'returned'); // Nomba has one word for both
    expect([timesPaid(id), await flows.balanceOf(walletId)]).toEqual([0, HELD]);
  },
  LIMIT_MS,
);

test(
  'a withdrawal that comes back after its completion gives the money back once',
  async () => {
    const { walletId, id, path } = await withdraw();
    await accepted(id);
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    fake.end(id, 'REFUND');
    await flows.untilStatus(path, 'returned');
    expect([timesPaid(id), await flows.balanceOf(walletId)]).toEqual([1, HELD]);
  },
  LIMIT_MS,
);

test.each<[Fault, boolean]>([
  ['reset', true],
  ['reset', false],
  ['html_502', true],
  ['null_body', true],
  ['rate_limited', false],
])(
  'a withdrawal whose first send ends in %s is paid once; accepted all the same: %s',
  async (fault, acts) => {
    fake.break(SEND, fault, acts);
    const { walletId, id, path } = await withdraw();
    await accepted(id);
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    expect([timesPaid(id), await flows.balanceOf(walletId)]).toEqual([1, 0]);
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
    fake.end(first.id, 'SUCCESS');
    fake.end(second.id, 'SUCCESS');
    fake.end(third.id, 'REFUND');
    await flows.untilStatus(`/payouts/${data.id}`, 'partially_completed');
    expect([first, second, third].map(({ id }) => timesPaid(id))).toEqual([1, 1, 0]);
    expect(await flows.balanceOf(sourceWalletId)).toBe(HELD);
    fake.end(first.id, 'REFUND');
    await waitFor('the item to be returned', async () => (await flows.balanceOf(sourceWalletId)) === 2 * HELD);
  },
  LIMIT_MS,
);

test(
  'what no callback reports is found, the statement has no break, and Nomba holds what our books say',
  async () => {
    fake.callbackUrl = null;
    const { id, path } = await withdraw();
    await accepted(id);
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    const paidTo = await flows.createWallet();
    const payment = await flows.createPayment(paidTo, AMOUNT);
    pay(payment.virtualAccount.accountNumber, payment.payableAmount);
    fake.callbackUrl = callbackUrl;
    const period = { from: startedAt.toISOString(), to: new Date(Date.now() + 1_000).toISOString() };
    const { reconcileBooks } = createReconciliationActivities(flows.dependencies);
    const reconcile = () => new MockActivityEnvironment().run(reconcileBooks, period);
    await reconcile();
    await waitFor('the credit', async () => (await flows.balanceOf(paidTo)) === AMOUNT);
    expect(await reconcile()).toMatchObject({ failed: 0, breaks: 0 });
    expect(-(await flows.accountBalance('clearing:nomba'))).toBe(Number(fake.balance - OPENING));
  },
  LIMIT_MS,
);
