// A wallet never goes below zero, whatever is asked of it at the same time and through whichever route.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bankTransferFee } from '../../src/ledger/fees.ts';
import { type Answer, startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let second: TestApi;

beforeAll(async () => {
  api = await startTestApi();
  second = await startTestApi({ databaseUrl: api.databaseUrl });
});

afterAll(async () => {
  await second.close();
  await api.close();
});

test('of 200 requests for the whole balance, by transfer, pay, withdraw and payout, one gets it and no other an error of ours', async () => {
  const amount = 10_000;
  const fee = bankTransferFee(amount);
  const balance = amount + fee;
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
  const source = await api.createWallet(api.test, { balance });
  const destination = await api.createWallet();
  const bills = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const bill = { method: 'virtual_wallet', baseAmount: balance, targetWalletId: destination };
      return (await api.test.money('/payments', bill)).data.id;
    }),
  );
  const clients = [api.test, second.client(api.test.key)];
  const answers = await Promise.all(
    bills.flatMap((paymentId, turn): Promise<Answer>[] => {
      const client = clients[turn % 2] ?? api.test;
      return [
        client.money(`/wallets/${source}/transfer`, { destinationWalletId: destination, amount: balance }),
        client.money(`/wallets/${source}/pay`, { paymentId }),
        client.money(`/wallets/${source}/withdraw`, { amount, ...bankAccount }),
        client.money('/payouts', { sourceWalletId: source, items: [{ amount, bankAccount }] }),
      ];
    }),
  );
  const codes = answers.map(({ status, error }) => (status < 300 ? 'moved' : `${status} ${error.code}`));
  expect(codes.filter((code) => code === 'moved')).toHaveLength(1);
  expect(codes.filter((code) => code === '422 WALLET_INSUFFICIENT_FUNDS')).toHaveLength(199);
  expect(await api.balanceOf(source)).toBe(0);
});
