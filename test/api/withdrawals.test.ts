// POST /wallets/:id/withdraw and GET /withdrawals/:id, by status. No worker runs here: test/e2e/withdrawals.test.ts has
// what happens after a withdrawal is accepted.
import { afterAll, describe, expect, test } from '@jest/globals';
import { startTestApi } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

const AMOUNT = 100_000;
const FEE = 3_000;
const FUNDS = 1_000_000;
const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

const api = await startTestApi({ callersRetry: true });

afterAll(() => api.close());

async function withdraw(more: object = {}) {
  const walletId = await api.createWallet(undefined, { balance: FUNDS });
  const answer = await api.test.money(`/wallets/${walletId}/withdraw`, { amount: AMOUNT, ...BANK_ACCOUNT, ...more });
  return { walletId, answer };
}

describe('200 and 201', () => {
  test('a withdrawal is accepted as processing, and its amount and fee are held', async () => {
    const { walletId, answer } = await withdraw();
    expect([answer.status, answer.data.status, answer.data.fee]).toEqual([201, 'processing', FEE]);
    expect(await api.balanceOf(walletId)).toBe(FUNDS - AMOUNT - FEE);
    expect((await api.test.get(`/withdrawals/${answer.data.id}`)).data).toEqual(answer.data);
  });

  test('the resolved account name is accepted, with a title and in any case', async () => {
    const account = { accountNumber: '9999999007', accountName: 'Ada Obi' };
    const { walletId, answer } = await withdraw(account);
    const { resolvedName } = answer.error.details as { resolvedName: string };
    const body = { amount: AMOUNT, ...BANK_ACCOUNT, ...account, accountName: `Mr ${resolvedName.toLowerCase()}` };
    expect((await api.test.money(`/wallets/${walletId}/withdraw`, body)).status).toBe(201);
  });
});

describe('400', () => {
  test.each([
    [{ accountNumber: '012345678' }, 'accountNumber'],
    [{ amount: 0 }, 'amount'],
    [{ fee: 0 }, 'fee'],
  ])('a withdrawal with %o is VALIDATION_FAILED with the field %s, and nothing is held', async (more, field) => {
    const { walletId, answer } = await withdraw(more);
    expectInvalid(answer, field);
    expect(await api.balanceOf(walletId)).toBe(FUNDS);
  });
});

describe('422', () => {
  test.each([
    [{ accountNumber: '9999999006' }, 'BANK_ACCOUNT_NOT_RESOLVED'],
    [{ bankCode: '998' }, 'BANK_CODE_UNKNOWN'],
    [{ accountName: 'Somebody Else' }, 'WITHDRAWAL_NAME_VERIFICATION_FAILED'],
    [{ amount: FUNDS }, 'WALLET_INSUFFICIENT_FUNDS'],
    [{ amount: 5_000_001 }, 'WALLET_TIER1_LIMIT_EXCEEDED'],
  ])('a withdrawal with %o is %s, and nothing is held', async (more, code) => {
    const { walletId, answer } = await withdraw(more);
    expectError(answer, 422, code);
    expect(await api.balanceOf(walletId)).toBe(FUNDS);
  });

  test('a name mismatch returns both names', async () => {
    const { answer } = await withdraw({ accountNumber: '9999999007', accountName: 'Ada Obi' });
    expect(answer.error.details).toMatchObject({ providedName: 'Ada Obi', resolvedName: expect.any(String) });
  });

  test('a withdrawal from a wallet below tier1 is WALLET_KYC_REQUIRED', async () => {
    const walletId = await api.createWallet(undefined, { tier1: false });
    const answer = await api.test.money(`/wallets/${walletId}/withdraw`, { amount: AMOUNT, ...BANK_ACCOUNT });
    expectError(answer, 422, 'WALLET_KYC_REQUIRED');
  });
});

describe('503', () => {
  test('a withdrawal in live without a rail is SERVICE_UNAVAILABLE', async () => {
    const path = `/wallets/${api.organisation.liveSettlementWalletId}/withdraw`;
    const { status, error } = await api.live.money(path, { amount: AMOUNT, ...BANK_ACCOUNT });
    expect([status, error.code, error.details.service]).toEqual([503, 'SERVICE_UNAVAILABLE', 'bank_rail']);
  });
});
