// The settlement wallet over HTTP: it spends no more than what customers are not owed, and the refusal says how much.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { move, RAIL } from '../ledger/books.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

test('own money is refused by withdrawal, transfer, payout and payment beyond what is over, and customers are paid', async () => {
  const organisation = await api.createOrganisation();
  const { organisationId, settlementWalletId: own } = organisation;
  const customer = await api.createWallet(organisation.test, { balance: 5_000_000 });
  const other = await api.createWallet(organisation.test);
  const book = { organisationId, environment: 'test' } as const;
  const post = (debit: string, credit: string, amount: number) =>
    api.dependencies.journal.post(move(book, debit, credit, amount));
  await post(RAIL, `wallet:${own}`, 2_000_000);
  await post('expense:rail', RAIL, 1_500_000);
  const refused = (attemptedAmount: number) => ({
    status: 422,
    error: {
      code: 'WALLET_INSUFFICIENT_FUNDS',
      details: { walletId: own, attemptedAmount, reason: 'safeguarding', availableAmount: 500_000 },
    },
  });
  const send = async (path: string, body: object) => {
    const { status, text } = await organisation.test.money(path, body);
    return { status, error: JSON.parse(text).error };
  };
  expect(await send(`/wallets/${own}/withdraw`, { amount: 500_000, ...BANK_ACCOUNT })).toMatchObject(refused(507_000));
  const transfer = { destinationWalletId: other, amount: 500_001 };
  expect(await send(`/wallets/${own}/transfer`, transfer)).toMatchObject(refused(500_001));
  const items = [{ amount: 600_000, bankAccount: BANK_ACCOUNT }];
  expect(await send('/payouts', { sourceWalletId: own, items })).toMatchObject(refused(608_000));
  const { data: validated } = await organisation.test.post('/payouts/validate', { items });
  expect(validated).toMatchObject({ isValid: false, totalAmount: 600_000, missingAmount: 108_000 });
  const bill = { method: 'virtual_wallet', baseAmount: 700_000, targetWalletId: other };
  const payment = await organisation.test.money('/payments', bill);
  expect(await send(`/wallets/${own}/pay`, { paymentId: payment.data.id })).toMatchObject(refused(700_000));
  expect((await send(`/wallets/${own}/transfer`, { ...transfer, amount: 500_000 })).status).toBe(201);
  expect((await send(`/wallets/${customer}/withdraw`, { amount: 4_000_000, ...BANK_ACCOUNT })).status).toBe(201);
});
