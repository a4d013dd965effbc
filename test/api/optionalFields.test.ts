// `null` for an optional body field means that the field is absent, on every route: clients that serialise every field
// of a model need not remove any.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { KYC } from '../../dev/chaos/requests.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';
import { expectInvalid } from '../support/refusals.ts';
import { routeCases } from '../support/routes.ts';

/** Nullable fields of a PATCH: null clears the value, whereas an absent field leaves it unchanged. */
const CLEARED_BY_NULL = [
  'PATCH /webhook-endpoints/:id description',
  'PATCH /webhook-endpoints/:id eventTypes',
  'PATCH /wallets/:id fullName',
  'PATCH /wallets/:id phone',
];

interface Definition {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  element?: z.ZodType;
}

interface Field {
  title: string;
  path: string;
  schema: z.ZodType;
}

/** Every optional field of a schema, including those in objects and arrays, by its dotted path. */
function optionalFields(schema: z.ZodType, path: string[] = []): { path: string; schema: z.ZodType }[] {
  const definition = schema.def as unknown as Definition;
  const inner = definition.innerType ?? definition.in ?? definition.element;
  if (definition.type === 'object') {
    const { shape } = schema as unknown as { shape: Record<string, z.ZodType> };
    return Object.entries(shape).flatMap(([name, field]) => [
      ...(field.safeParse(undefined).success ? [{ path: [...path, name].join('.'), schema: field }] : []),
      ...optionalFields(field, [...path, name]),
    ]);
  }
  return inner === undefined ? [] : optionalFields(inner, definition.type === 'array' ? [...path, '0'] : path);
}

const FIELDS: Field[] = routeCases(({ body }) => body !== undefined).flatMap(({ name, route }) =>
  optionalFields(route.body as z.ZodType).map(({ path, schema }) => ({ title: `${name} ${path}`, path, schema })),
);

test('the table lists the optional fields of all routes, including nested ones', () => {
  const titles = FIELDS.map(({ title }) => title);
  expect(titles).toEqual(
    expect.arrayContaining([
      'POST /wallets fullName',
      'POST /wallets/:id/kyc addressLine2',
      'POST /wallets/:id/kyc country',
      'POST /wallets/:id/withdraw narration',
      'POST /payments expiresIn',
      'POST /payments/:id/refund bankAccount.accountName',
      'POST /payouts items.0.bankAccount',
      'POST /payouts items.0.bankAccount.accountName',
      'POST /events/:id/redeliver endpointId',
      'POST /simulations/inbound-credits sessionId',
    ]),
  );
  expect(titles).toEqual(expect.arrayContaining(CLEARED_BY_NULL));
});

test.each(FIELDS)('$title accepts null', ({ title, schema }) => {
  expect(schema.safeParse(null)).toMatchObject({ success: true });
  if (CLEARED_BY_NULL.includes(title)) return;
  expect(schema.parse(null) ?? null).toEqual(schema.parse(undefined) ?? null);
});

describe('requests with null for every optional field', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi();
  });

  afterAll(() => api.close());

  /** The body with null for each optional top-level field that is absent. */
  const withNulls = (name: string, body: Record<string, unknown>) => ({
    ...Object.fromEntries(
      FIELDS.filter(({ title, path }) => title.startsWith(`${name} `) && !path.includes('.')).map(({ path }) => [
        path,
        null,
      ]),
    ),
    ...body,
  });

  const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

  test.each(routeCases(({ idempotencyKey }) => idempotencyKey === 'required'))(
    '$name with nulls has the usual status',
    async ({ name }) => {
      const { good, status } = moneyRoutes(api)[name] ?? { good: undefined, status: 0 };
      if (good === undefined) throw new Error(`add the requests of ${name} to test/support/moneyRequests.ts`);
      const { path, body } = await good();
      expect((await api.test.money(path, withNulls(name, body))).status).toBe(status);
    },
  );

  test('a payout item and its bank account accept null for their optional fields', async () => {
    const sourceWalletId = await api.createWallet(api.test, { balance: 10_000 });
    const items = [
      { amount: 10, reference: null, destinationWalletId: null, bankAccount: { ...BANK_ACCOUNT, accountName: null } },
    ];
    expect((await api.test.money('/payouts', { sourceWalletId, items })).status).toBe(202);
  });

  test('a payout item with null for both destinations is rejected as having none', async () => {
    const items = [{ amount: 10, destinationWalletId: null, bankAccount: null }];
    expectInvalid(await api.test.money('/payouts', { items }), 'items.0');
  });

  test('null as the country of KYC details defaults to Nigeria', async () => {
    const walletId = await api.createWallet(api.test, { tier1: false });
    const answer = await api.test.post(`/wallets/${walletId}/kyc`, withNulls('POST /wallets/:id/kyc', KYC));
    expect([answer.status, answer.data.kycStatus]).toEqual([200, 'tier1']);
  });

  test('null as expiresIn of a payment defaults to 30 minutes', async () => {
    const body = {
      method: 'bank_transfer',
      baseAmount: 1_000,
      targetWalletId: await api.createWallet(),
      expiresIn: null,
    };
    const { data } = await api.test.money('/payments', body);
    expect(Date.parse(String(data.expiresAt)) - Date.parse(String(data.createdAt))).toBe(1_800_000);
  });

  test('a webhook endpoint created with nulls is enabled, and a PATCH with nulls changes nothing', async () => {
    const body = { url: 'https://example.com/hook', description: null, eventTypes: null, status: null };
    const { status, data } = await api.test.post('/webhook-endpoints', body);
    expect([status, data.status]).toEqual([201, 'enabled']);
    const changed = await api.test.call('PATCH', `/webhook-endpoints/${data.id}`, {
      body: { url: null, status: null },
    });
    expect([changed.status, changed.data.url, changed.data.status]).toEqual([200, body.url, 'enabled']);
  });

  test('a simulated credit with nulls has the default sender', async () => {
    const body = withNulls('POST /simulations/inbound-credits', { accountNumber: '0000000000', amount: 10 });
    const { status, data } = await api.test.post('/simulations/inbound-credits', body);
    expect([status, data.senderName]).toEqual([201, 'Sandbox Payer']);
  });
});
