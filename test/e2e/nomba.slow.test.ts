// The whole service with Nomba as its rail, whose account numbers take any amount: payments in parts and with surplus
// work as in the sandbox, and a transfer is paid once although its response is lost.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { publicId } from '../../src/ids.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { createShortPayment } from '../support/shortPayments.ts';
import { waitFor } from '../support/waitFor.ts';

const FUNDS = 1_000_000;
const AMOUNT = 100_000;
const HELD = 103_000;

let fake: NombaFake;
let rail: ClosableRail;
let flows: TestFlows;

beforeAll(async () => {
  fake = await new NombaFake().start();
  rail = createNombaRail(fake.credentials);
  flows = await startTestFlows({
    settings: { probeMs: 1_000 },
    rails: () => new Rails({ test: guardedRail(rail) }),
  });
  const contract = publicId('organisation', flows.organisation.organisationId);
  fake.callbackUrl = `${flows.urls.test}/rails/nomba/callbacks/${contract}`;
});

afterAll(async () => {
  const findings = await endFlows(flows);
  await rail.close();
  await fake.close();
  expect(findings).toEqual([]);
  expect(fake.complaints).toEqual([]);
  expect(fake.rows.filter(({ timesPaid }) => timesPaid > 1)).toEqual([]);
});

async function withdraw(accountNumber: string) {
  const walletId = await flows.createWallet(undefined, { balance: FUNDS });
  const body = { amount: AMOUNT, accountNumber, bankCode: '058' };
  const { status, data } = await flows.test.money(`/wallets/${walletId}/withdraw`, body);
  expect(status).toBe(201);
  await waitFor('the transfer to be accepted', () => fake.transferOf(data.id));
  return { walletId, id: data.id, path: `/withdrawals/${data.id}` };
}

test('a payment is paid in two parts, and its surplus is in the wallet', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 200_037);
  const { accountNumber } = payment.virtualAccount;
  fake.pay(accountNumber, 50_000n);
  await flows.untilStatus(`/payments/${payment.id}`, 'partial');
  fake.pay(accountNumber, BigInt(payment.payableAmount - 50_000 + 700));
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(200_737);
});

test('money for a payment that has expired or is settled goes to suspense, and opens a review case', async () => {
  const walletId = await flows.createWallet();
  const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: walletId } as const;
  const expired = await createShortPayment(flows, flows.organisation, {
    ...body,
    windowMs: 0,
    startsWithCredit: false,
  });
  await flows.untilStatus(`/payments/${expired.id}`, 'expired');
  const settled = await flows.createPayment(walletId, 100_000);
  expect(fake.pay(settled.virtualAccount.accountNumber, BigInt(settled.payableAmount))).not.toBeNull();
  await flows.untilStatus(`/payments/${settled.id}`, 'settled');
  expect(fake.pay(expired.virtualAccount.accountNumber, 70_000n)).not.toBeNull();
  expect(fake.pay(settled.virtualAccount.accountNumber, 30_000n)).not.toBeNull();
  const cases = await waitFor('the review cases', async () => {
    const found = await flows.reviewCases();
    return found.length >= 2 && found;
  });
  expect(cases.map(({ reason, amount, status }) => `${reason} ${amount} ${status}`).toSorted()).toEqual([
    'credit_after_settlement 30000 open',
    'late_credit 70000 open',
  ]);
  expect((await flows.test.get(`/payments/${expired.id}`)).data.status).toBe('expired');
  expect(await flows.balanceOf(walletId)).toBe(100_000);
});

test('a withdrawal whose response is lost is paid once', async () => {
  fake.break('POST /v2/transfers/bank', 'reset', true);
  const { walletId, id, path } = await withdraw('1500000001');
  fake.end(id, 'SUCCESS');
  await flows.untilStatus(path, 'completed');
  expect(fake.transferOf(id)?.timesPaid).toBe(1);
  expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
});

test('a withdrawal that the receiving bank refuses is returned, and the money is in the wallet', async () => {
  const { walletId, id, path } = await withdraw('1500000002');
  fake.end(id, 'REFUND');
  await flows.untilStatus(path, 'returned');
  expect(await flows.balanceOf(walletId)).toBe(FUNDS);
});
