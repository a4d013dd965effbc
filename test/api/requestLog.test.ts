// The request id identifies the log line of a request. The line of a failed request has the error code, organisation,
// key and resource. Log lines have no personal data.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { newApiKey } from '../../src/resources/keys.ts';
import { type Answer, startTestApi, type TestApi } from '../support/api.ts';
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

/** The log line of a request; it is written after the response has been sent. */
const lineOf = ({ requestId }: Answer): Promise<Record<string, unknown>> =>
  waitFor('the line of the request', () =>
    api.logged.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId && line.msg === 'request'),
  );

const unknownWalletId = publicId('wallet', newUuid());

const FAILURES: [string, () => Promise<Answer>, Record<string, unknown>][] = [
  [
    'a refused request',
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
    'a request without the required scope',
    async () =>
      api
        .client((await api.createKey(api.organisation.organisationId, { scopes: [] })).key)
        .get(`/wallets/${walletId}`),
    { status: 403, code: 'API_KEY_SCOPE_FORBIDDEN', mine: true },
  ],
  ['a request without a configured rail', () => api.live.get('/banks'), { status: 503, code: 'SERVICE_UNAVAILABLE' }],
];

describe('log lines of failed requests', () => {
  test.each(FAILURES)(
    'the log line of %s has its code, organisation, key and resource',
    async (_what, send, { mine, ...expected }) => {
      const line = await lineOf(await send());
      expect(line).toMatchObject({
        ...expected,
        organisationId,
        keyId: expect.stringMatching(/^svc_[0-9a-z]{26}_key$/),
      });
      expect(line.resource).toBe(mine === true ? walletId : undefined);
    },
  );

  test('the log line has the id of the key that was used', async () => {
    expect((await lineOf(await api.test.get(`/wallets/${unknownWalletId}`))).keyId).toBe(keyId);
  });

  test('the log line has a well-formed resource id even if it is unknown', async () => {
    expect(await lineOf(await api.test.get(`/wallets/${unknownWalletId}`))).toMatchObject({
      status: 404,
      code: 'WALLET_NOT_FOUND',
      resource: unknownWalletId,
      organisationId,
    });
  });

  test('the log line of a rate-limited request has its code, organisation and key', async () => {
    await api.withAnother({ settings: { RATE_LIMIT_PER_MINUTE: '1' } }, async (limited) => {
      const { id, key } = await api.createKey(api.organisation.organisationId);
      const answers = [];
      for (let count = 0; count < 3; count += 1) answers.push(await limited.client(key).get('/wallets'));
      // A new window may begin between the requests.
      const refused = answers.find(({ status }) => status === 429);
      const line = limited.logged.map((text) => JSON.parse(text)).find((one) => one.requestId === refused?.requestId);
      expect(line).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', organisationId, keyId: publicId('apiKey', id) });
    });
  });
});

describe('log lines of unauthenticated requests', () => {
  test.each<[string, () => Promise<Answer>, string]>([
    ['no key', () => api.client(null).get(`/wallets/${unknownWalletId}`), 'API_KEY_MISSING'],
    ['an unknown key', () => api.client(newApiKey('test')).get(`/wallets/${unknownWalletId}`), 'API_KEY_INVALID'],
    ['an unknown route', () => api.test.get('/nope'), 'ROUTE_NOT_FOUND'],
  ])('the log line of a request with %s has the code and neither organisation nor key', async (_what, send, code) => {
    const line = await lineOf(await send());
    expect(line.code).toBe(code);
    expect([line.organisationId, line.keyId]).toEqual([undefined, undefined]);
  });
});

test('the log line of a successful request has no code', async () => {
  const line = await lineOf(await api.test.get(`/wallets/${walletId}`));
  expect(line).toMatchObject({ status: 200, resource: walletId });
  expect(line).not.toHaveProperty('code');
});

test('neither path segments that are no ids nor anything else sent by a caller is logged', async () => {
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
