// The whole service with Monnify as its rail: API, flows and ledger over the adapter and its fake. Whatever becomes
// of a request, a response or a callback, each reference is paid at most once, and the books hold.
import { afterAll, describe, expect, test } from '@jest/globals';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { publicId } from '../../src/ids.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createMonnifyRail } from '../../src/rail/monnify/rail.ts';
import { Rails } from '../../src/rail/rails.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const SEND = 'POST /api/v2/disbursements/single';
const FUNDS = 1_000_000;
const HELD = 103_000;

const fake = await new MonnifyFake({ stepMs: 50 }).start();
const adapter = createMonnifyRail(fake.credentials);
// As if a quarter of an hour passed in the least time that the service waits for (src/rail/guarded.ts).
const transfers = { ...adapter.capabilities.transfers, notVisibleForMs: 1 };
const rail = { ...adapter, capabilities: { ...adapter.capabilities, transfers } };
const flows = await startTestFlows({
  settings: { probeMs: 1_000 },
  rails: () => new Rails({ test: guardedRail(rail) }),
});
const contract = publicId('organisation', flows.organisation.organisationId);
fake.callbackUrl = `${flows.urls.test}/rails/monnify/callbacks/${contract}`;

afterAll(async () => {
  const findings = await endFlows(flows);
  await rail.close();
  await fake.close();
  expect(findings).toEqual([]);
  expect(fake.complaints).toEqual([]);
  const twice = [...fake.book.transfers.values()].filter(({ timesPaid }) => timesPaid > 1);
  expect(twice).toEqual([]);
});

let lastAccount = 1_400_000_000;
const newAccount = (): string => {
  lastAccount += 1;
  return String(lastAccount);
};

const withdraw = (accountNumber = newAccount()) => flows.withdraw(accountNumber, FUNDS);

test('a payment is opened as an invoice, paid exactly, and settled after its callback', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 200_037);
  const invoice = fake.book.invoices.get(payment.id);
  expect(invoice?.amount).toBe(BigInt(payment.payableAmount));
  await fake.pay(payment.virtualAccount.accountNumber, BigInt(payment.payableAmount));
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(200_037);
});

test('a refund to the payer goes to the account under the name that the bank has for it', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 100_000);
  // The payer calls himself otherwise: a transfer to that name fails at the bank.
  await fake.pay(payment.virtualAccount.accountNumber, BigInt(payment.payableAmount));
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  const { data: refund } = await flows.test.money(`/payments/${payment.id}/refund`, {});
  await flows.untilStatus(`/refunds/${refund.id}`, 'completed');
  expect(fake.transfer(refund.id).accountName).toBe('ADA 2190 OBI');
});

test('a payment whose callback is lost is settled by the polling of credits, once', async () => {
  const walletId = await flows.createWallet();
  const lost = await flows.createPayment(walletId, 100_000);
  const { callbackUrl } = fake;
  fake.callbackUrl = null;
  const paid = await fake.pay(lost.virtualAccount.accountNumber, BigInt(lost.payableAmount));
  fake.callbackUrl = callbackUrl;
  // As if it had come a minute ago: a younger callback may still be on its way.
  if (typeof paid !== 'string') paid.paidAt = new Date(Date.now() - 60_000);
  expect(await flows.balanceOf(walletId)).toBe(0);
  expect(await flows.runMaintenance('creditPolling')).toEqual({ books: 1, failed: 0, recovered: 1 });
  await flows.untilStatus(`/payments/${lost.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(100_000);

  // The callback comes after all, and the next poll lists the credit again.
  const event = fake.events.at(-1);
  if (event !== undefined) await fake.send(event);
  expect(await flows.runMaintenance('creditPolling')).toEqual({ books: 1, failed: 0, recovered: 0 });
  expect(await flows.balanceOf(walletId)).toBe(100_000);
});

test('a credit that is reported 26 times is one', async () => {
  const walletId = await flows.createWallet();
  const repeated = await flows.createPayment(walletId, 50_000);
  await fake.pay(repeated.virtualAccount.accountNumber, BigInt(repeated.payableAmount));
  const event = fake.events.at(-1);
  if (event !== undefined) await Promise.all(Array.from({ length: 25 }, () => fake.send(event)));
  await flows.untilStatus(`/payments/${repeated.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(50_000);
});

test('another amount is rejected by the rail, and the payment stays pending', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 100_000);
  expect(await fake.pay(payment.virtualAccount.accountNumber, BigInt(payment.payableAmount - 1))).toBe('rejected');
  expect((await flows.test.get(`/payments/${payment.id}`)).data.status).toBe('pending');
  expect(await flows.balanceOf(walletId)).toBe(0);
});

test.each([
  ['OVERPAID', 5_000, 'settled'],
  ['PARTIALLY_PAID', -5_000, 'partial'],
] as const)('money that Monnify calls %s is a credit of what came', async (status, more, expected) => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 100_000);
  await fake.collect({
    transactionReference: fake.book.newReference('MNFY'),
    productType: 'INVOICE',
    productReference: payment.id,
    accountNumber: payment.virtualAccount.accountNumber,
    amount: BigInt(payment.payableAmount + more),
    payer: { name: 'CHIDI EZE', accountNumber: '0065432190', bankCode: '000014' },
    createdAt: new Date(),
    status,
  });
  const { amountReceived } = await flows.untilStatus(`/payments/${payment.id}`, expected);
  expect(amountReceived).toBe(payment.payableAmount + more);
});

describe('a withdrawal', () => {
  test('that comes back without a callback is returned by the statement, with its charge', async () => {
    const { walletId, id, path } = await withdraw();
    await flows.untilStatus(path, 'completed');
    const { callbackUrl } = fake;
    fake.callbackUrl = null;
    fake.book.returnsFees = true;
    await fake.end(id, 'REVERSED', 'Reversed by the receiving bank');
    fake.callbackUrl = callbackUrl;
    fake.book.returnsFees = false;
    const now = Date.now();
    const period = { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 60_000).toISOString() };
    const breaks = async () => {
      expect(await flows.runMaintenance('reconciliation', period)).toMatchObject({ failed: 0 });
      return (await flows.sql`SELECT FROM reconciliation_breaks WHERE reference LIKE ${`%${id}%`}`).length;
    };
    expect(await breaks()).toBe(0);
    await flows.untilStatus(path, 'returned');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
    expect(await breaks()).toBe(0);
    const [entry] = await flows.sql<{ kind: string; amount: number }[]>`
      SELECT kind, amount FROM statement_entries WHERE reference = ${`returned:${id}`}`;
    expect(entry).toEqual({ kind: 'charge_returned', amount: 1_000 });
  });

  test('is paid once', async () => {
    const { walletId, id, path } = await withdraw();
    await flows.untilStatus(path, 'completed');
    expect(fake.transfer(id).timesPaid).toBe(1);
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
  });

  const LOST = ['reset', 'reset_in_body', 'html_502', 'code_99', 'null_body', 'too_large', 'not_utf8'] as const;
  // The callback of the end comes while the send still waits for its response.
  const SLOW = ['hang', 'trickle'] as const;

  test.each([...LOST, ...SLOW])('whose response is lost to %s is paid once', async (fault) => {
    fake.break(SEND, fault, { acts: true });
    const { walletId, id, path } = await withdraw();
    await flows.untilStatus(path, 'completed');
    expect(fake.transfer(id).timesPaid).toBe(1);
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
  });

  test('whose reference Monnify has and does not show is parked, not sent for ever, and not paid back', async () => {
    fake.hiddenFor = Number.POSITIVE_INFINITY;
    fake.break(SEND, 'reset', { acts: true });
    const { walletId, id, path } = await withdraw();
    await waitFor('the first send', () => fake.book.transfers.has(id));
    fake.hiddenFor = 0;
    await flows.untilAttention(id, 'outcome_unknown');
    // The first send was lost, and the second one was refused because the reference exists (D05).
    expect(fake.transfer(id)).toMatchObject({ timesSent: 2, timesPaid: 1 });
    expect((await flows.test.get(path)).data.status).toBe('processing');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
    fake.transfer(id).hiddenFor = 0;
    await flows.untilStatus(path, 'completed');
    expect(fake.transfer(id)).toMatchObject({ timesSent: 2, timesPaid: 1 });
  });

  test('that comes back is returned, and the money is in the wallet', async () => {
    const { walletId, path } = await withdraw('8000000003');
    await flows.untilStatus(path, 'returned');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
  });

  test('equal to another one meets the duplicate guard, keeps its reference, and does not fail', async () => {
    const accountNumber = newAccount();
    const first = await withdraw(accountNumber);
    await flows.untilStatus(first.path, 'completed');
    const sends = (): number => fake.requests.filter((route) => route === SEND).length;
    const before = sends();
    const second = await withdraw(accountNumber);
    await waitFor('the second send', () => sends() > before);
    const status = await waitFor('the flow to wait', async () => {
      const details = await flows.detailsOf(second.id).catch(() => null); // not started yet
      return details && (await flows.test.get(second.path)).data.status;
    });
    expect(status).toBe('processing');
    const references = [...fake.book.transfers.values()].filter((one) => one.accountNumber === accountNumber);
    expect(references.map(({ reference }) => reference)).toEqual([first.id]);
  });
});
