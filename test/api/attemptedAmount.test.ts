// WALLET_INSUFFICIENT_FUNDS returns the whole debit attempted, fees included, on every route that debits a wallet, so
// that a caller can compare it with the balance and see why the request was refused.
import { afterAll, test } from '@jest/globals';
import { type Answer, startTestApi } from '../support/api.ts';
import { contractFee } from '../support/contractFee.ts';
import { expectError } from '../support/refusals.ts';

const api = await startTestApi();

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };
const BALANCE = 1_000_000;
const FEE = contractFee('withdrawal', BALANCE);

/** Requests for more than the balance, one per route, and the debit each would have made. */
const CASES: [string, number, (walletId: string) => Promise<Answer>][] = [
  [
    'a withdrawal of the whole balance, which leaves nothing for the fee',
    BALANCE + FEE,
    (walletId) => api.test.money(`/wallets/${walletId}/withdraw`, { amount: BALANCE, ...BANK_ACCOUNT }),
  ],
  [
    'a withdrawal of more than the balance',
    BALANCE + 1 + contractFee('withdrawal', BALANCE + 1),
    (walletId) => api.test.money(`/wallets/${walletId}/withdraw`, { amount: BALANCE + 1, ...BANK_ACCOUNT }),
  ],
  [
    'a payout of several items',
    2 * (BALANCE + FEE),
    (walletId) =>
      api.test.money('/payouts', {
        sourceWalletId: walletId,
        items: [
          { amount: BALANCE, bankAccount: BANK_ACCOUNT },
          { amount: BALANCE, bankAccount: BANK_ACCOUNT },
        ],
      }),
  ],
  [
    'a transfer',
    BALANCE + 1,
    async (walletId) => {
      const destinationWalletId = await api.createWallet();
      return await api.test.money(`/wallets/${walletId}/transfer`, { amount: BALANCE + 1, destinationWalletId });
    },
  ],
  [
    'a payment from a wallet',
    BALANCE + 1,
    async (walletId) => {
      const bill = { method: 'virtual_wallet', baseAmount: BALANCE + 1, targetWalletId: await api.createWallet() };
      const { data } = await api.test.money('/payments', bill);
      return await api.test.money(`/wallets/${walletId}/pay`, { paymentId: data.id });
    },
  ],
  [
    'a refund out of a wallet that has spent what it was paid',
    600,
    async (walletId) => {
      const payerId = await api.createWallet(api.test, { balance: 600 });
      const bill = { method: 'virtual_wallet', baseAmount: 600, targetWalletId: walletId };
      const { data } = await api.test.money('/payments', bill);
      await api.test.money(`/wallets/${payerId}/pay`, { paymentId: data.id });
      await api.test.money(`/wallets/${walletId}/transfer`, { amount: BALANCE + 100, destinationWalletId: payerId });
      return await api.test.money(`/payments/${data.id}/refund`, {});
    },
  ],
];

test.each(CASES)(
  'the WALLET_INSUFFICIENT_FUNDS error of %s has attemptedAmount %i',
  async (_what, attemptedAmount, send) => {
    const walletId = await api.createWallet(api.test, { balance: BALANCE });
    expectError(await send(walletId), 422, 'WALLET_INSUFFICIENT_FUNDS', { walletId, attemptedAmount });
  },
);
