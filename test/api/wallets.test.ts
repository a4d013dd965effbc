// Wallets: contract section 4.4, and the rulings for it.

import { afterAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { requireUuid } from '../../src/ids.ts';
import { RailRefusedError, RailUnavailableError } from '../../src/rail/errors.ts';
import { type Answer, type Client, startTestApi, type TestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { tablesThatHold } from '../support/databaseText.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

const api = await startTestApi();

afterAll(() => api.close());

const wallet = (options: Parameters<TestApi['createWallet']>[1] = {}, client: Client = api.test) =>
  api.createWallet(client, options);
const submitKyc = (walletId: string, more = {}, client: Client = api.test): Promise<Answer> =>
  client.post(`/wallets/${walletId}/kyc`, { ...KYC, ...more });

/** The UTC calendar date this many years and days ago. */
function yearsAgo(years: number, days = 0): string {
  const day = new Date();
  day.setUTCFullYear(day.getUTCFullYear() - years, day.getUTCMonth(), day.getUTCDate() - days);
  return day.toISOString().slice(0, 10);
}

describe('POST /wallets', () => {
  test('POST /wallets is 201 with the wallet', async () => {
    const body = {
      email: 'ada@test.example',
      fullName: 'Ada Obi',
      phone: '+2348012345678',
      externalReference: 'customer 7 / a',
    };
    const answer = await api.test.post('/wallets', body);
    expect(answer.status).toBe(201);
    expect(answer.data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-hjkmnp-tv-z]{26}_wlt$/),
      kind: 'end_user',
      ...body,
      kycStatus: 'none',
      status: 'active',
      heldBalance: 0,
      amountOwed: 0,
      metadata: {},
      currency: 'NGN',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect((await api.test.get(`/wallets/${answer.data.id}`)).data).toEqual(answer.data);
  });

  test('a duplicate externalReference is 409 EXTERNAL_REFERENCE_TAKEN with the id of the existing wallet', async () => {
    const body = { email: 'a@test.example', externalReference: 'taken' };
    const { data } = await api.test.post('/wallets', body);
    const again = await api.test.post('/wallets', { ...body, email: 'b@test.example' });
    expectError(again, 409, 'EXTERNAL_REFERENCE_TAKEN', { externalReference: 'taken', walletId: data.id });
  });

  test('of concurrent requests with one externalReference exactly one creates a wallet', async () => {
    const body = { email: 'a@test.example', externalReference: 'raced' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.test.post('/wallets', body)));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409);
    expect([made.length, refused.length]).toEqual([1, 19]);
    for (const { error } of refused) expect(error.details.walletId).toBe(made[0]?.data.id);
  });

  test('an externalReference is unique per organisation and environment', async () => {
    const other = await api.createOrganisation();
    const body = { email: 'a@test.example', externalReference: 'mine' };
    const answers = await Promise.all([api.test, api.live, other.test].map((client) => client.post('/wallets', body)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  });
});

describe('settlement wallets', () => {
  test('an organisation has a settlement wallet in each environment, readable without KYC', async () => {
    const { settlementWalletId, liveSettlementWalletId } = api.organisation;
    const settlement = { kind: 'settlement', status: 'active', externalReference: null };
    expect((await api.test.get(`/wallets/${settlementWalletId}`)).data).toMatchObject(settlement);
    expect((await api.live.get(`/wallets/${liveSettlementWalletId}`)).data).toMatchObject(settlement);
    expect((await api.test.get(`/wallets/${settlementWalletId}/balance`)).status).toBe(200);
  });
});

describe('POST /wallets/:id/kyc', () => {
  test('submitting KYC details is 200 with the wallet, now tier1', async () => {
    const walletId = await wallet({ tier1: false });
    const before = await api.test.get(`/wallets/${walletId}`);
    const answer = await submitKyc(walletId, {
      addressLine2: 'Flat 2',
      country: 'GH',
      postalCode: '100001',
    });
    expect([answer.status, answer.data]).toEqual([200, { ...before.data, kycStatus: 'tier1' }]);
    expect((await api.test.get(`/wallets/${walletId}`)).data).toEqual(answer.data);
  });

  test.each([
    [
      'bvn',
      ['', '2221234567', '222123456789', '2221234567x', ' 22212345678', '22212345678\n', '٢٢٢١٢٣٤٥٦٧٨', 22212345678],
    ],
    ['bvn', ['00000000000', '11111111111', '22222222222', '99999999999']],
    ['dateOfBirth', ['0001-01-01', '1899-12-31', yearsAgo(120, 1), yearsAgo(0, -2)]],
    [
      'phone',
      [
        'x',
        '+',
        '+0123456789',
        '+234',
        '8012345678',
        '080123456789',
        '00234801234567',
        '0801 234 5678',
        '+2348012345678901',
      ],
    ],
    [
      'dateOfBirth',
      [
        '',
        '1990-02-30',
        '1990-13-01',
        '1990-00-10',
        '1990-2-3',
        '90-02-03',
        '1990/02/03',
        '1900-02-29',
        'soon',
        19900203,
      ],
    ],
    [
      'dateOfBirth',
      ['1990-02-28T00:00:00Z', new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10), '9999-12-31'],
    ],
    ['gender', ['', 'Female', 'f', null]],
    ['country', ['ng', 'NGA', '', 'N1', 'ZZ', 'XX', 'UK', 'EU']],
    ['phone', ['', null]],
  ])('an invalid %s is 400 and leaves the wallet without KYC', async (field, values) => {
    const walletId = await wallet({ tier1: false });
    for (const value of values) {
      const { status, error } = await submitKyc(walletId, { [field]: value });
      expect([value, status, error.code]).toEqual([value, 400, 'VALIDATION_FAILED']);
      expect(error.details.fields).toEqual(expect.arrayContaining([expect.objectContaining({ field })]));
    }
    expect((await api.test.get(`/wallets/${walletId}`)).data.kycStatus).toBe('none');
  });

  test.each(['+2348012345678', '08012345678', '09112345678', '+14155552671', '+442071838750'])(
    '%s is accepted as a phone number',
    async (phone) => {
      expect((await submitKyc(await wallet({ tier1: false }), { phone })).status).toBe(200);
    },
  );

  test.each(['NG', 'GH', 'SS', 'CW'])('%s is accepted as a country', async (country) => {
    expect((await submitKyc(await wallet({ tier1: false }), { country })).status).toBe(200);
  });

  test.each(['2000-02-29', yearsAgo(120), yearsAgo(5), yearsAgo(0)])(
    '%s is accepted as a date of birth',
    async (dateOfBirth) => {
      expect((await submitKyc(await wallet({ tier1: false }), { dateOfBirth })).status).toBe(200);
    },
  );

  test('KYC details are in plain text in no table, no log line and no response', async () => {
    const secrets = {
      bvn: '31415926535',
      dateOfBirth: '1971-03-14',
      phone: '+2348099887766',
      addressLine1: '27 Hidden Close',
      city: 'Nowhereville',
    };
    const walletId = await wallet({ tier1: false });
    const answers = [await submitKyc(walletId, secrets), await submitKyc(walletId, { ...secrets, gender: 'nobody' })];
    for (const secret of Object.values(secrets)) {
      expect([secret, await tablesThatHold(api.sql, secret)]).toEqual([secret, []]);
      expect(api.logged.filter((line) => line.includes(secret))).toEqual([]);
      expect(answers.filter(({ text }) => text.includes(secret))).toEqual([]);
    }
  });

  test('KYC details can be decrypted for their own wallet only, and a new submission overwrites them', async () => {
    const { keyring } = api.dependencies;
    const walletId = await wallet({ tier1: false });
    const uuid = requireUuid('wallet', walletId);
    const stored = async () => {
      const rows = await api.sql<{ sealed: string }[]>`SELECT sealed FROM wallet_kyc WHERE wallet_id = ${uuid}`;
      expect(rows).toHaveLength(1);
      return rows[0]?.sealed ?? '';
    };
    await submitKyc(walletId);
    const first = await stored();
    expect(JSON.parse(keyring.open('kyc', uuid, first))).toEqual({ ...KYC, country: 'NG' });
    const otherWallet = requireUuid('wallet', api.organisation.settlementWalletId);
    expect(() => keyring.open('kyc', otherWallet, first)).toThrow('unable to authenticate data');
    expect((await submitKyc(walletId, { city: 'Abuja' })).data.kycStatus).toBe('tier1');
    expect(JSON.parse(keyring.open('kyc', uuid, await stored()))).toMatchObject({ city: 'Abuja' });
  });

  test('a second KYC submission changes neither balance nor account number', async () => {
    const walletId = await wallet({ balance: 70 });
    const account = (await api.test.get(`/wallets/${walletId}/deposit-account`)).data;
    await submitKyc(walletId);
    expect((await api.test.get(`/wallets/${walletId}/deposit-account`)).data).toEqual(account);
    expect(await api.balanceOf(walletId)).toBe(70);
  });

  test('KYC details for a settlement wallet are 422 WALLET_KYC_NOT_APPLICABLE, and it stays without limits', async () => {
    const { organisation } = api;
    const walletId = organisation.settlementWalletId;
    expectError(await submitKyc(walletId), 422, 'WALLET_KYC_NOT_APPLICABLE', { walletId });
    expect((await api.test.get(`/wallets/${walletId}`)).data.kycStatus).toBe('none');
    expect(await api.sql`SELECT FROM wallet_kyc WHERE wallet_id = ${requireUuid('wallet', walletId)}`).toHaveLength(0);
    await api.fund(organisation.organisationId, organisation.settlementWalletId, 40_000_000);
    const bill = { method: 'virtual_wallet', baseAmount: 10_000_000, targetWalletId: organisation.settlementWalletId };
    expect((await api.test.money('/payments', bill)).status).toBe(201);
  });
});

describe('WALLETS_PER_BVN_MAX', () => {
  const OLDER = `k1:${Buffer.alloc(32, 1).toString('base64url')}`;
  const NEWER = `k2:${Buffer.alloc(32, 2).toString('base64url')}`;
  const settings = { WALLETS_PER_BVN_MAX: '2', MANILLA_KEYS: OLDER };
  /** A client of another API with these settings. */
  const withLimit = (more: object, work: (client: Client) => Promise<void>) =>
    api.withAnother({ settings: { ...settings, ...more } }, (other) => work(other.client(api.test.key)));
  const statuses = async (client: Client, bvn: string, count: number): Promise<number[]> => {
    const ids = await Promise.all(Array.from({ length: count }, () => wallet({ tier1: false })));
    const answers = await Promise.all(ids.map((id) => submitKyc(id, { bvn }, client)));
    return answers.map(({ status }) => status).toSorted((a, b) => a - b);
  };

  test('of concurrent wallets with one BVN only so many get KYC; a wallet may submit it again', async () => {
    await withLimit({}, async (client) => {
      const bvn = '22345678901';
      expect(await statuses(client, bvn, 5)).toEqual([200, 200, 422, 422, 422]);
      const walletId = await wallet({ tier1: false });
      expectError(await submitKyc(walletId, { bvn }, client), 422, 'WALLET_BVN_LIMIT_REACHED', { walletId, limit: 2 });
      expect((await api.test.get(`/wallets/${walletId}`)).data.kycStatus).toBe('none');
      expect((await submitKyc(walletId, { bvn: '22345678902' }, client)).status).toBe(200);
      expect((await submitKyc(walletId, { bvn: '22345678902' }, client)).status).toBe(200);
    });
  });

  test('a closed wallet does not count, nor one of another organisation', async () => {
    await withLimit({}, async (client) => {
      const bvn = '22345678903';
      expect(await statuses(client, bvn, 2)).toEqual([200, 200]);
      const [walletId, last] = [await wallet({ tier1: false }), await wallet({ tier1: false })];
      expect((await submitKyc(walletId, { bvn }, client)).status).toBe(422);
      const [closing] = await api.sql<{ id: string }[]>`
        SELECT ledger.public_id(wallet_id, 'wlt') AS id FROM wallet_kyc ORDER BY wallet_id DESC LIMIT 1`;
      await api.setWalletStatus(String(closing?.id), 'closed');
      expect((await submitKyc(walletId, { bvn }, client)).status).toBe(200);
      expect((await submitKyc(last, { bvn }, client)).status).toBe(422);
    });
    const stranger = await api.createOrganisation();
    await api.withAnother({ settings }, async (other) => {
      const client = other.client(stranger.test.key);
      const walletId = await wallet({ tier1: false }, stranger.test);
      expect((await submitKyc(walletId, { bvn: '22345678903' }, client)).status).toBe(200);
    });
  });

  test('wallets whose BVN was indexed with an older key of the keyring count', async () => {
    const bvn = '22345678904';
    await withLimit({}, async (client) => expect(await statuses(client, bvn, 1)).toEqual([200]));
    await withLimit({ MANILLA_KEYS: `${NEWER},${OLDER}` }, async (client) =>
      expect(await statuses(client, bvn, 2)).toEqual([200, 422]),
    );
  });
});

describe('GET /wallets/:id/balance', () => {
  test('GET /wallets/:id/balance is 200 with the current balance', async () => {
    const walletId = await wallet({ balance: 12_345 });
    const answer = await api.test.get(`/wallets/${walletId}/balance`);
    expect([answer.status, answer.data]).toEqual([200, { walletId, balance: 12_345, currency: 'NGN' }]);
  });

  test.each(['balance', 'deposit-account', 'transactions'])(
    'GET /wallets/:id/%s is 422 WALLET_KYC_REQUIRED below tier1',
    async (what) => {
      const walletId = await wallet({ tier1: false });
      expectError(await api.test.get(`/wallets/${walletId}/${what}`), 422, 'WALLET_KYC_REQUIRED', { walletId });
      await submitKyc(walletId);
      expect((await api.test.get(`/wallets/${walletId}/${what}`)).status).toBe(200);
    },
  );

  test.each(['frozen', 'closed'] as const)('a wallet that is %s can be read', async (status) => {
    const walletId = await wallet({ status });
    for (const what of ['', '/balance', '/transactions', '/deposit-account']) {
      expect((await api.test.get(`/wallets/${walletId}${what}`)).status).toBe(200);
    }
    expect((await api.test.get(`/wallets/${walletId}`)).data.status).toBe(status);
  });

  test("a balance read after a transfer's response includes that transfer", async () => {
    const [source, destination] = [await wallet({ balance: 100 }), await wallet()];
    for (let sent = 1; sent <= 20; sent += 1) {
      await api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: destination, amount: 1 });
      const { data } = await api.test.get(`/wallets/${destination}/balance`);
      expect(data.balance).toBe(sent);
    }
  });

  test('the balance at a time is the one after the last entry up to that time', async () => {
    const [walletId, other] = [await wallet(), await wallet({ balance: 1_000 })];
    const created = String((await api.test.get(`/wallets/${walletId}`)).data.createdAt);
    for (const amount of [500, 40, 3]) {
      await api.test.money(`/wallets/${other}/transfer`, { destinationWalletId: walletId, amount });
    }
    await api.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId: other, amount: 100 });
    const { items } = await api.test.get(`/wallets/${walletId}/transactions`);
    expect(items.map(({ balanceAfter }) => balanceAfter)).toEqual([443, 543, 540, 500]);
    const balanceAt = async (at: string) =>
      (await api.test.get(`/wallets/${walletId}/balance?at=${encodeURIComponent(at)}`)).data.balance;
    for (const { createdAt } of items) {
      const last = items.find((line) => String(line.createdAt) <= String(createdAt));
      expect(await balanceAt(String(createdAt))).toBe(last?.balanceAfter);
    }
    expect(await balanceAt(new Date(Date.parse(created) - 60_000).toISOString())).toBe(0);
    expect(await balanceAt('2101-01-01T00:00:00Z')).toBe(443);
  });

  test.each(['yesterday', '2026-01-01', '2026-02-30T00:00:00Z', ''])(
    'GET /wallets/:id/balance?at=%s is 400',
    async (at) => {
      expectInvalid(await api.test.get(`/wallets/${api.organisation.settlementWalletId}/balance?at=${at}`), 'at');
    },
  );
});

describe('GET /wallets/:id/deposit-account', () => {
  test('a deposit account exists from tier1 on, for a settlement wallet always, and never changes', async () => {
    const numbers = new Set<unknown>();
    const nameless = (await api.test.post('/wallets', { email: 'private@test.example' })).data.id;
    await api.test.post(`/wallets/${nameless}/kyc`, KYC);
    const owners: [string, string][] = [
      [await wallet(), 'Ada Obi'],
      // Never the email: the name is shown to payers.
      [nameless, `Wallet ${nameless.slice(-12, -4)}`],
      [api.organisation.settlementWalletId, 'Test Ltd'],
    ];
    for (const [walletId, accountName] of owners) {
      const { data } = await api.test.get(`/wallets/${walletId}/deposit-account`);
      expect(data).toEqual({
        accountNumber: expect.stringMatching(/^\d{10}$/),
        bankName: 'Sandbox Bank',
        accountName,
        expiresAt: null,
      });
      expect((await api.test.get(`/wallets/${walletId}/deposit-account`)).data).toEqual(data);
      numbers.add(data.accountNumber);
    }
    expect(numbers.size).toBe(3);
  });

  test('concurrent first reads of a deposit account return the same one', async () => {
    const { test: client, settlementWalletId } = await api.createOrganisation();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.get(`/wallets/${settlementWalletId}/deposit-account`)),
    );
    expect(new Set(answers.map(({ data }) => data.accountNumber)).size).toBe(1);
  });

  test('in live without a rail, the deposit account is 503 and KYC submission succeeds', async () => {
    const walletId = await wallet({}, api.live);
    const answer = await api.live.get(`/wallets/${walletId}/deposit-account`);
    expectError(answer, 503, 'SERVICE_UNAVAILABLE', { retryable: false, service: 'bank_rail' });
  });

  test.each([
    ['times out', new RailUnavailableError('late', { timedOut: true }), 504, 'BANK_RAIL_TIMEOUT'],
    ['is unavailable', new RailUnavailableError('away'), 502, 'BANK_RAIL_ERROR'],
    ['is not called', new RailUnavailableError('open', { isNotSent: true }), 503, 'SERVICE_UNAVAILABLE'],
    ['refuses', new RailRefusedError('no'), 502, 'BANK_RAIL_ERROR'],
  ])(
    'when the rail %s, KYC submission succeeds and a later read opens the deposit account',
    async (_how, fault, status, code) => {
      let isFaulty = true;
      await api.withAnother(
        {
          rails: changedRail((bank) => ({
            openVirtualAccount: (request) => (isFaulty ? Promise.reject(fault) : bank.openVirtualAccount(request)),
          })),
        },
        async (faulty) => {
          const client = faulty.client(api.test.key);
          const walletId = await wallet({ tier1: false });
          expect((await submitKyc(walletId, {}, client)).data.kycStatus).toBe('tier1');
          const answer = await client.get(`/wallets/${walletId}/deposit-account`);
          const wait = status === 503 && { retryAfterSeconds: 1 };
          expectError(answer, status, code, { retryable: true, service: 'bank_rail', ...wait });
          isFaulty = false;
          expect((await client.get(`/wallets/${walletId}/deposit-account`)).status).toBe(200);
        },
      );
    },
  );
});
