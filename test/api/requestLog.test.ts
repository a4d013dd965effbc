// The id of a request finds its line in the log, and the line of a failed one says why it failed, whose it was and what it
// was about. Nothing personal stands in it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newApiKey } from '../../src/api/admission/apiKeys.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { type Answer, KYC, startTestApi, type TestApi } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;
let walletId: string;
let organisationId: string;
let keyId: string;

beforeAll(async () => {
  api = await startTestApi();
  walletId = await api.createWallet();
  organisationId = publicId('organisation', api.organisation.organisationId);
  const [row] = await api.sql<{ id: string }[]>`
    SELECT id FROM api_keys WHERE organisation_id = ${api.organisation.organisationId} AND environment = 'test'`;
  keyId = publicId('apiKey', row?.id ?? '');
});

afterAll(() => api.close());

/** The one line about a request; it is written when the answer has gone out. */
const lineOf = ({ requestId }: Answer): Promise<Record<string, unknown>> =>
  waitFor('the line of the request', () =>
    api.logged.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId && line.msg === 'request'),
  );

const nobody = publicId('wallet', newUuid());

const FAILURES: [string, () => Promise<Answer>, Record<string, unknown>][] = [
  [
    'a refusal',
    async () =>
      api.test.money(`/wallets/${walletId}/transfer`, { amount: 5, destinationWalletId: await api.createWallet() }),
    { status: 422, code: 'WALLET_INSUFFICIENT_FUNDS', route: 'POST /wallets/:id/transfer', mine: true },
  ],
  [
    'a bad request',
    () => api.test.post(`/wallets/${walletId}/kyc`, {}),
    { status: 400, code: 'VALIDATION_FAILED', mine: true },
  ],
  [
    'a scope that is missing',
    async () =>
      api
        .client((await api.createKey(api.organisation.organisationId, { scopes: [] })).key)
        .get(`/wallets/${walletId}`),
    { status: 403, code: 'API_KEY_SCOPE_FORBIDDEN', mine: true },
  ],
  ['a rail that is missing', () => api.live.get('/banks'), { status: 503, code: 'SERVICE_UNAVAILABLE' }],
];

describe('the line of a failed request has its code, organisation, key and resource:', () => {
  test.each(FAILURES)('%s', async (_what, send, { mine, ...wanted }) => {
    const line = await lineOf(await send());
    expect(line).toMatchObject({ ...wanted, organisationId, keyId: expect.stringMatching(/^svc_[0-9a-z]{26}_key$/) });
    expect(line.resource).toBe(mine === true ? walletId : undefined);
  });

  test('the key is the one that was used', async () => {
    expect((await lineOf(await api.test.get(`/wallets/${nobody}`))).keyId).toBe(keyId);
  });

  test('an id that nobody has is logged, since it has the form of one', async () => {
    expect(await lineOf(await api.test.get(`/wallets/${nobody}`))).toMatchObject({
      status: 404,
      code: 'WALLET_NOT_FOUND',
      resource: nobody,
      organisationId,
    });
  });

  test('a rate that is exceeded', async () => {
    const slow = await startTestApi({ databaseUrl: api.databaseUrl, settings: { RATE_LIMIT_PER_MINUTE: '1' } });
    try {
      const { id, key } = await api.createKey(api.organisation.organisationId);
      const answers = [];
      for (let count = 0; count < 3; count += 1) answers.push(await slow.client(key).get('/wallets'));
      const refused = answers.find(({ status }) => status === 429); // a minute may begin in between
      const line = slow.logged.map((text) => JSON.parse(text)).find((one) => one.requestId === refused?.requestId);
      expect(line).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', organisationId, keyId: publicId('apiKey', id) });
    } finally {
      await slow.close();
    }
  });
});

describe('where nothing is known of the caller, the line has the code alone:', () => {
  test.each<[string, () => Promise<Answer>, string]>([
    ['no key', () => api.client(null).get(`/wallets/${nobody}`), 'API_KEY_MISSING'],
    ['an unknown key', () => api.client(newApiKey('test')).get(`/wallets/${nobody}`), 'API_KEY_INVALID'],
    ['no route', () => api.test.get('/nope'), 'ROUTE_NOT_FOUND'],
  ])('%s', async (_what, send, code) => {
    const line = await lineOf(await send());
    expect(line.code).toBe(code);
    expect([line.organisationId, line.keyId]).toEqual([undefined, undefined]);
  });
});

test('the line of a request that went well has no code', async () => {
  const line = await lineOf(await api.test.get(`/wallets/${walletId}`));
  expect(line).toMatchObject({ status: 200, resource: walletId });
  expect(line).not.toHaveProperty('code');
});

test('what stands in a path and is no id of ours is not logged, and neither is what a caller sent', async () => {
  const secrets = ['Ngozi.Okafor@test.example', '0698765432', 'hidden-query', 'Secret Close', KYC.bvn];
  const [name = '', account = '', query = '', street = ''] = secrets;
  const answers = [
    await api.test.get(`/wallets/${name}`),
    await api.test.get(`/wallets/${name}/balance?at=${query}`),
    await api.test.call('PUT', `/simulations/bank-accounts/${account}`, { body: { behaviour: 'nothing' } }),
    await api.test.get(`/simulations/bank-transfers/${account}`),
    await api.test.get(`/${name}`),
    await api.test.post(`/wallets/${walletId}/kyc`, { ...KYC, addressLine1: street, gender: 'unknown' }),
    await api.test.money(`/wallets/${walletId}/withdraw`, { amount: 5, accountNumber: account, bankCode: '998' }),
  ];
  for (const answer of answers) expect((await lineOf(answer)).status).toBeGreaterThanOrEqual(400);
  for (const secret of secrets) expect(api.logged.filter((line) => line.includes(secret))).toEqual([]);
});
