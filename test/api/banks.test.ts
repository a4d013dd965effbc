// GET /banks and GET /bank-accounts/resolve: the rail's own answers, and what is said when the rail does not give any.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SCOPES } from '../../src/api/route.ts';
import { type BankRail, RailUnavailableError } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

/** As pino writes it. */
const WARN = 40;

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(async () => {
  await api.close();
});

const RESOLVE = '/bank-accounts/resolve';
const ask = (accountNumber: string, bankCode: string) =>
  api.test.get(`${RESOLVE}?accountNumber=${accountNumber}&bankCode=${bankCode}`);

describe('200', () => {
  test('banks: all of them on one page, each with its code and name', async () => {
    const { status, items, pagination } = await api.test.get('/banks');
    expect(status).toBe(200);
    expect(items).toContainEqual({ code: '058', name: 'Guaranty Trust Bank' });
    for (const bank of items) expect(Object.keys(bank).toSorted()).toEqual(['code', 'name']);
    expect(pagination).toEqual({ limit: items.length, hasMore: false, nextCursor: null });
  });

  test('resolve: the holder of the account, and the same one when asked again', async () => {
    const { status, data } = await ask('0123456789', '058');
    expect(status).toBe(200);
    expect(data).toEqual({
      accountNumber: '0123456789',
      accountName: 'DANJUMA CHIDI',
      bankCode: '058',
      bankName: 'Guaranty Trust Bank',
    });
    expect((await ask('0123456789', '058')).data).toEqual(data);
  });

  test("resolve: a wallet's deposit account, at the sandbox bank, is found under its holder's name", async () => {
    const walletId = await api.createWallet();
    const { data } = await api.test.get(`/wallets/${walletId}/deposit-account`);
    const { items } = await api.test.get('/banks');
    const bank = items.find(({ name }) => name === data.bankName);
    expect((await ask(String(data.accountNumber), String(bank?.code))).data).toMatchObject({ accountName: 'Ada Obi' });
  });
});

describe('400 VALIDATION_FAILED', () => {
  test.each([
    ['no account number', '?bankCode=058', 'accountNumber'],
    ['nine digits', '?accountNumber=123456789&bankCode=058', 'accountNumber'],
    ['letters', '?accountNumber=01234abcde&bankCode=058', 'accountNumber'],
    ['two account numbers', '?accountNumber=0123456789&accountNumber=0123456780&bankCode=058', 'accountNumber'],
    ['no bank code', '?accountNumber=0123456789', 'bankCode'],
    ['a bank code that is none', '?accountNumber=0123456789&bankCode=GTB', 'bankCode'],
  ])('%s', async (_name, query, field) => {
    const { status, error } = await api.test.get(`${RESOLVE}${query}`);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ field })]);
  });
});

test.each(SCOPES)('a key of the scope %s alone may ask: it need not be one that withdraws', async (scope) => {
  const { key } = await api.createKey(api.organisation.organisationId, { scopes: [scope] });
  expect((await api.client(key).get('/banks')).status).toBe(200);
  expect((await api.client(key).get(`${RESOLVE}?accountNumber=0123456789&bankCode=058`)).status).toBe(200);
});

test.each(['limit=5', 'cursor=x'])('the banks are one page, so %s is 400', async (query) => {
  const { status, error } = await api.test.get(`/banks?${query}`);
  expect([status, error.details.fields]).toEqual([400, [expect.objectContaining({ code: 'unrecognized_keys' })]]);
});

describe('422', () => {
  test('BANK_CODE_UNKNOWN names the code', async () => {
    const { status, error } = await ask('0123456789', '998');
    expect([status, error.code, error.details]).toEqual([422, 'BANK_CODE_UNKNOWN', { bankCode: '998' }]);
  });

  test('BANK_ACCOUNT_NOT_RESOLVED names the account', async () => {
    const { status, error } = await ask('9999999006', '058');
    expect([status, error.code]).toEqual([422, 'BANK_ACCOUNT_NOT_RESOLVED']);
    expect(error.details).toEqual({ accountNumber: '9999999006', bankCode: '058' });
  });
});

describe('when the rail does not help', () => {
  const withRail = async (change: Partial<BankRail>, check: (broken: TestApi) => Promise<void>): Promise<void> => {
    const broken = await startTestApi({
      rails: (rails) => new Rails({ test: { ...(rails.of('test') as BankRail), ...change } }),
    });
    try {
      await check(broken);
    } finally {
      await broken.close();
    }
  };

  test.each([
    [502, 'BANK_RAIL_ERROR', false],
    [504, 'BANK_RAIL_TIMEOUT', true],
  ])('%i %s, and the caller may try again', async (wanted, code, timedOut) => {
    const fail = () => Promise.reject(new RailUnavailableError('away', { timedOut }));
    const details = { retryable: true, service: 'bank_rail' };
    await withRail({ resolveAccount: fail }, async (broken) => {
      const { status, error } = await broken.test.get(`${RESOLVE}?accountNumber=0123456789&bankCode=058`);
      expect([status, error.code, error.details]).toEqual([wanted, code, details]);
    });
    await withRail({ banks: fail }, async (broken) => {
      const { status, error } = await broken.test.get('/banks');
      expect([status, error.code, error.details]).toEqual([wanted, code, details]);
    });
  });

  test.each(['/banks', `${RESOLVE}?accountNumber=0123456789&bankCode=058`])(
    '503 SERVICE_UNAVAILABLE in live, where no rail is configured: %s',
    async (path) => {
      const { status, error, requestId } = await api.live.get(path);
      expect([status, error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(error.details).toEqual({ retryable: false, service: 'bank_rail' });
      // Nobody is called for what is missing on purpose.
      const lines = api.logged.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId);
      expect(lines.map(({ level, msg }) => [level, msg])).toContainEqual([WARN, 'SERVICE_UNAVAILABLE']);
    },
  );
});
