// Request validation: accepted values, and errors with dotted paths, codes and bounds (contract, section 7).
import { afterAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { type Answer, startTestApi } from '../support/api.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';
import { pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** The reported problems. Fails unless it is a 400 VALIDATION_FAILED whose fields have the contract's shape. */
function problemsOf({ status, error }: Answer): Record<string, unknown>[] {
  expect([status, error.type, error.code]).toEqual([400, 'validation_error', 'VALIDATION_FAILED']);
  expect(Object.keys(error.details)).toEqual(['fields']);
  const fields = error.details.fields as Record<string, unknown>[];
  expect(fields.length).toBeGreaterThan(0);
  for (const field of fields) {
    expect(Object.keys(field).filter((name) => name !== 'constraint')).toEqual(['field', 'code', 'message']);
    expect(field.message).toEqual(expect.any(String));
  }
  return fields.map(({ field, code, constraint }) => ({
    field,
    code,
    ...(constraint !== undefined && { constraint }),
  }));
}

const AMOUNT_MAX = 1_000_000_000_000;

/** The amount field of each money route. The function puts JSON text there. */
const AMOUNTS: [string, string, (body: Record<string, unknown>, value: string) => string][] = [
  ['POST /wallets/:id/transfer', 'amount', (body, value) => put(body, 'amount', value)],
  ['POST /wallets/:id/withdraw', 'amount', (body, value) => put(body, 'amount', value)],
  ['POST /payments', 'baseAmount', (body, value) => put(body, 'baseAmount', value)],
  ['POST /payments/:id/refund', 'amount', (body, value) => put(body, 'amount', value)],
  [
    'POST /payouts',
    'items.0.amount',
    (body, value) =>
      put(body, 'items', `[${put((body.items as Record<string, unknown>[])[0] ?? {}, 'amount', value)}]`),
  ],
];

/** The body as JSON, with this JSON text as the value of a field. */
function put(body: Record<string, unknown>, field: string, value: string): string {
  return JSON.stringify({ ...body, [field]: '@@' }).replace('"@@"', value);
}

describe.each(AMOUNTS)('the amount of %s', (name, field, withAmount) => {
  const send = async (value: string): Promise<Answer> => {
    const { path, body } = (await moneyRoutes(api)[name]?.good()) ?? { path: '', body: {} };
    return await api.test.money(path, withAmount(body, value));
  };
  const wrongType = { field, code: 'invalid_type', constraint: { expected: 'number' } };
  const fraction = { field, code: 'invalid_type', constraint: { expected: 'int' } };
  const tooSmall = { field, code: 'too_small', constraint: { minimum: 1 } };
  const tooBig = { field, code: 'too_big', constraint: { maximum: AMOUNT_MAX } };

  // The amount of a refund is optional, and null means absent.
  const required: [string, object][] = name === 'POST /payments/:id/refund' ? [] : [['null', wrongType]];

  test.each<[string, object]>([
    ...required,
    ['"5"', wrongType],
    ['"1e3"', wrongType],
    ['true', wrongType],
    ['[5]', wrongType],
    ['{}', wrongType],
    ['1e400', wrongType],
    ['1.5', fraction],
    ['0.1', fraction],
    ['1e-7', fraction],
    ['999999999999.5', fraction],
    ['0', tooSmall],
    ['-0', tooSmall],
    ['-5', tooSmall],
    ['1000000000001', tooBig],
    ['9007199254740993', tooBig],
    ['123456789012345678901234567890', tooBig],
  ])('the amount %s is rejected and never rounded', async (value, problem) => {
    expect(problemsOf(await send(value))).toContainEqual(problem);
  });

  // JSON has one kind of number: these are integers in other notations.
  test.each(['1e3', '1000.0', '10.00e2', '1000000000000'])('the amount %s is accepted as an integer', async (value) => {
    expect((await send(value)).status).not.toBe(400);
  });
});

describe('text fields', () => {
  const texts: [string, string, string, number][] = [
    ['/wallets', 'fullName', '{"email":"a@test.example","fullName":@@}', 200],
    ['/wallets', 'phone', '{"email":"a@test.example","phone":@@}', 32],
    ['/wallets', 'externalReference', '{"email":"a@test.example","externalReference":@@}', 255],
    [
      '/payments',
      'description',
      '{"method":"virtual_wallet","baseAmount":1,"targetWalletId":"x","description":@@}',
      500,
    ],
    ['/wallets/x/transfer', 'description', '{"amount":1,"destinationWalletId":"x","description":@@}', 500],
    ['/wallets/x/transfer', 'destinationWalletId', '{"amount":1,"destinationWalletId":@@}', 64],
    ['/wallets/x/pay', 'paymentId', '{"paymentId":@@}', 64],
  ];

  test.each(texts)('POST %s validates the length and characters of %s', async (path, field, template, max) => {
    const send = (value: string) => api.test.money(path, template.replace('@@', value));
    const refused: [string, object][] = [
      ['""', { field, code: 'too_small', constraint: { minimum: 1 } }],
      [`"${'x'.repeat(max + 1)}"`, { field, code: 'too_big', constraint: { maximum: max } }],
      ['"a\\u0000b"', { field, code: 'invalid_string', constraint: { format: 'regex', pattern: '^[^\\0]*$' } }],
      ['"a\\ud800b"', { field, code: 'custom' }],
      ['"\\udc00\\ud800"', { field, code: 'custom' }],
      ['5', { field, code: 'invalid_type', constraint: { expected: 'string' } }],
      ['["x"]', { field, code: 'invalid_type', constraint: { expected: 'string' } }],
    ];
    for (const [value, problem] of refused) {
      expect([value, problemsOf(await send(value))]).toEqual([value, expect.arrayContaining([problem])]);
    }
    for (const value of [
      `"${'x'.repeat(max)}"`,
      '"\\ud83d\\ude00"',
      '"\\u00e9\\n\\t\\u202e"',
      '"0"',
      '"null"',
      '"\'; DROP TABLE wallets"',
    ]) {
      expect((await send(value)).status).not.toBe(400);
    }
  });

  test('a text is returned exactly as it was sent', async () => {
    const fullName = 'Ọlá\t"Ada" \\ \u{1F600} \u202E <script>&amp; %00 $1 \'';
    const { data } = await api.test.post('/wallets', { email: 'a@test.example', fullName });
    expect((await api.test.get(`/wallets/${data.id}`)).data.fullName).toBe(fullName);
  });
});

describe('unknown fields', () => {
  test.each([
    ['id', '"svc_00000000000000000000000000_wlt"'],
    ['kind', '"settlement"'],
    ['status', '"active"'],
    ['kycStatus', '"tier1"'],
    ['balance', '1000000'],
    ['organisationId', '"x"'],
    ['constructor', '{}'],
    ['toString', '1'],
    ['__proto__', '{"kycStatus":"tier1"}'],
    ['', '1'],
  ])('POST /wallets with the unknown field "%s" is rejected by name', async (name, value) => {
    const answer = await api.test.post('/wallets', `{"email":"a@test.example",${JSON.stringify(name)}:${value}}`);
    expect(problemsOf(answer)).toEqual([{ field: name, code: 'unrecognized_keys' }]);
  });

  test.each(routeCases(({ body }) => body !== undefined))(
    '$name rejects an unknown field by name',
    async ({ method, route }) => {
      const options = { body: { 'not a field': 1 }, idempotencyKey: 'loose' };
      const problems = problemsOf(await api.test.call(method, pathOf(route), options));
      expect(problems).toContainEqual({ field: 'not a field', code: 'unrecognized_keys' });
    },
  );

  test('an unknown field in a nested object is rejected by its path', async () => {
    const bankAccount = { accountNumber: '0123456789', bankCode: '058', iban: 'x' };
    const items = [
      { amount: 1, bankAccount: { ...bankAccount, iban: undefined } },
      { amount: 1, bankAccount, fee: 0 },
    ];
    expect(problemsOf(await api.test.money('/payouts', { items, total: 2 }))).toEqual([
      { field: 'items.1.bankAccount.iban', code: 'unrecognized_keys' },
      { field: 'items.1.fee', code: 'unrecognized_keys' },
      { field: 'total', code: 'unrecognized_keys' },
    ]);
  });
});

describe('complete validation errors', () => {
  test('the path of a problem includes the array index', async () => {
    const good = { amount: 1, bankAccount: { accountNumber: '0123456789', bankCode: '058' } };
    const items = Array.from({ length: 20 }, (_, place): object => (place === 17 ? { ...good, amount: 0 } : good));
    expect(problemsOf(await api.test.money('/payouts', { items }))).toEqual([
      { field: 'items.17.amount', code: 'too_small', constraint: { minimum: 1 } },
    ]);
  });

  test('all problems of KYC details are reported in one response', async () => {
    const walletId = await api.createWallet(api.test, { tier1: false });
    expect(
      problemsOf(await api.test.post(`/wallets/${walletId}/kyc`, { gender: 'x', bvn: '123', country: 'ng' })),
    ).toEqual([
      { field: 'bvn', code: 'invalid_string', constraint: { format: 'regex', pattern: '^[0-9]{11}$' } },
      { field: 'dateOfBirth', code: 'invalid_type', constraint: { expected: 'string' } },
      { field: 'gender', code: 'invalid_value', constraint: { values: ['male', 'female', 'other'] } },
      { field: 'phone', code: 'invalid_type', constraint: { expected: 'string' } },
      { field: 'addressLine1', code: 'invalid_type', constraint: { expected: 'string' } },
      { field: 'city', code: 'invalid_type', constraint: { expected: 'string' } },
      { field: 'state', code: 'invalid_type', constraint: { expected: 'string' } },
      { field: 'country', code: 'invalid_string', constraint: { format: 'iso3166-1-alpha-2' } },
    ]);
  });

  test('a validation error never repeats the submitted values', async () => {
    const walletId = await api.createWallet(api.test, { tier1: false });
    const { text } = await api.test.post(`/wallets/${walletId}/kyc`, {
      ...KYC,
      bvn: '3333333333x',
      dateOfBirth: 'soon',
    });
    expect(text).not.toContain('3333333333');
    expect(text).not.toContain('soon');
  });
});

describe('email addresses', () => {
  test.each([
    ['no characters', ''],
    ['only a local part', 'ada'],
    ['no domain', 'ada@'],
    ['no local part', '@test.example'],
    ['a space', 'a b@test.example'],
    ['a domain without a dot', 'ada@test'],
    ['more than 254 characters', `${'a'.repeat(250)}@x.io`],
    ['a NUL', 'a\0@test.example'],
  ])('an email with %s is rejected', async (_what, email) => {
    expect(problemsOf(await api.test.post('/wallets', { email })).map(({ field }) => field)).toContain('email');
  });
});
