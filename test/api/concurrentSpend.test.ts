// A wallet balance never becomes negative under concurrent requests, whichever routes they use.
import { afterAll, expect, test } from '@jest/globals';
import { type Answer, startTestApi } from '../support/api.ts';
import { contractFee } from '../support/contractFee.ts';

const api = await startTestApi({ callersRetry: true });
const second = await startTestApi({ databaseUrl: api.databaseUrl, callersRetry: true });

afterAll(async () => {
  await second.close();
  await api.close();
});

test('of 200 concurrent requests for the whole balance by transfer, pay, withdraw and payout, one succeeds and 199 are WALLET_INSUFFICIENT_FUNDS', async () => {
  const amount = 10_000;
  const fee = contractFee('withdrawal', amount);
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
    bills.flatMap((paymentId, index): Promise<Answer>[] => {
      const client = clients[index % 2] ?? api.test;
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
