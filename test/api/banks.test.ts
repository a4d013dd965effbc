// GET /banks and GET /bank-accounts/resolve: what the rail returns, and the errors when the rail is unavailable.

import { afterAll, describe, expect, test } from '@jest/globals';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

/** The pino level of a warning. */
const WARN = 40;

const api = await startTestApi();

afterAll(() => api.close());

const RESOLVE = '/bank-accounts/resolve';
const resolve = (accountNumber: string, bankCode: string) =>
  api.test.get(`${RESOLVE}?accountNumber=${accountNumber}&bankCode=${bankCode}`);

describe('200 responses', () => {
  test('GET /banks returns every bank in one page, each with a code and a name', async () => {
    const { status, items, pagination } = await api.test.get('/banks');
    expect(status).toBe(200);
    expect(items).toContainEqual({ code: '058', name: 'Guaranty Trust Bank' });
    for (const bank of items) expect(Object.keys(bank).toSorted()).toEqual(['code', 'name']);
    expect(pagination).toEqual({ limit: items.length, hasMore: false, nextCursor: null });
  });

  test('resolve returns the account holder, and the same one on a second request', async () => {
    const { status, data } = await resolve('0123456789', '058');
    expect(status).toBe(200);
    expect(data).toEqual({
      accountNumber: '0123456789',
      accountName: 'DANJUMA CHIDI',
      bankCode: '058',
      bankName: 'Guaranty Trust Bank',
    });
    expect((await resolve('0123456789', '058')).data).toEqual(data);
  });

  test("resolve finds a wallet's deposit account at the sandbox bank under its holder's name", async () => {
    const walletId = await api.createWallet();
    const { data } = await api.test.get(`/wallets/${walletId}/deposit-account`);
    const { items } = await api.test.get('/banks');
    const bank = items.find(({ name }) => name === data.bankName);
    expect((await resolve(String(data.accountNumber), String(bank?.code))).data).toMatchObject({
      accountName: 'Ada Obi',
    });
  });
});

describe('400 VALIDATION_FAILED responses', () => {
  test.each([
    ['no account number', '?bankCode=058', 'accountNumber'],
    ['an account number of nine digits', '?accountNumber=123456789&bankCode=058', 'accountNumber'],
    ['letters in the account number', '?accountNumber=01234abcde&bankCode=058', 'accountNumber'],
    ['two account numbers', '?accountNumber=0123456789&accountNumber=0123456780&bankCode=058', 'accountNumber'],
    ['no bank code', '?accountNumber=0123456789', 'bankCode'],
    ['letters as the bank code', '?accountNumber=0123456789&bankCode=GTB', 'bankCode'],
  ])('resolve with %s is 400 VALIDATION_FAILED', async (_name, query, field) => {
    expectInvalid(await api.test.get(`${RESOLVE}${query}`), field);
  });
});

test.each(['limit=5', 'cursor=x'])('GET /banks is not paginated, so %s is 400', async (query) => {
  const { status, error } = await api.test.get(`/banks?${query}`);
  expect([status, error.details.fields]).toEqual([400, [expect.objectContaining({ code: 'unrecognized_keys' })]]);
});

describe('422 responses', () => {
  test('BANK_CODE_UNKNOWN returns the bank code', async () => {
    expectError(await resolve('0123456789', '998'), 422, 'BANK_CODE_UNKNOWN', { bankCode: '998' });
  });

  test('BANK_ACCOUNT_NOT_RESOLVED returns the account number and bank code', async () => {
    const answer = await resolve('9999999006', '058');
    expectError(answer, 422, 'BANK_ACCOUNT_NOT_RESOLVED', { accountNumber: '9999999006', bankCode: '058' });
  });
});

describe('responses while the rail is unavailable', () => {
  const withRail = async (change: Partial<BankRail>, check: (railless: TestApi) => Promise<void>): Promise<void> => {
    const railless = await startTestApi({ rails: changedRail(() => change) });
    try {
      await check(railless);
    } finally {
      await railless.close();
    }
  };

  test.each([
    [502, 'BANK_RAIL_ERROR', false],
    [504, 'BANK_RAIL_TIMEOUT', true],
  ])('a rail outage is %i %s, marked retryable', async (statusExpected, code, timedOut) => {
    const fail = () => Promise.reject(new RailUnavailableError('away', { timedOut }));
    const details = { retryable: true, service: 'bank_rail' };
    await withRail({ resolveAccount: fail }, async (railless) => {
      const answer = await railless.test.get(`${RESOLVE}?accountNumber=0123456789&bankCode=058`);
      expectError(answer, statusExpected, code, details);
    });
    await withRail({ banks: fail }, async (railless) => {
      expectError(await railless.test.get('/banks'), statusExpected, code, details);
    });
  });

  test.each(['/banks', `${RESOLVE}?accountNumber=0123456789&bankCode=058`])(
    'without a configured rail, as in live, the response is 503 SERVICE_UNAVAILABLE, not retryable: %s',
    async (path) => {
      const { status, error, requestId } = await api.live.get(path);
      expect([status, error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(error.details).toEqual({ retryable: false, service: 'bank_rail' });
      // Logged as a warning, which raises no alert: a missing rail is a configuration choice.
      const lines = api.logged.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId);
      expect(lines.map(({ level, msg }) => [level, msg])).toContainEqual([WARN, 'SERVICE_UNAVAILABLE']);
    },
  );
});
