// Request validation: accepted values, and errors with dotted paths, codes and bounds (contract, section 7).
import { afterAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { KYC } from '../../dev/chaos/requests.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
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
      ['"a\\u0000b"', expect.objectContaining({ field, code: 'invalid_string' })],
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
      '"\\u00e9"',
      '"0"',
      '"null"',
      '"\'; DROP TABLE wallets"',
    ]) {
      expect((await send(value)).status).not.toBe(400);
    }
  });

  test('a text that is far too long has one error, and a shorter form of it counts', async () => {
    const send = (fullName: string) => api.test.post('/wallets', { email: 'a@test.example', fullName });
    const tooBig = [{ field: 'fullName', code: 'too_big', constraint: { maximum: 200 } }];
    expect(problemsOf(await send('x'.repeat(1_601)))).toEqual(tooBig);
    expect(problemsOf(await send('x'.repeat(1_600)))).toEqual(tooBig);
    expect((await send('\u1f82'.normalize('NFD').repeat(200))).data.fullName).toBe('\u1f82'.repeat(200));
  });

  test('a text has at most thirty marks on a character, which are put in order', async () => {
    const send = (marks: string) =>
      api.test.post('/wallets', { email: 'a@test.example', fullName: `a${marks}b`.normalize('NFD') });
    const [thirty, oneMore] = ['\u0316'.repeat(15) + '\u0301'.repeat(15), '\u0316'.repeat(31)];
    expect((await send(thirty)).data.fullName).toBe(`a${thirty}b`.normalize('NFC'));
    expect(problemsOf(await send(oneMore))).toEqual([{ field: 'fullName', code: 'invalid_string' }]);
  });

  test('a text is returned exactly as it was sent', async () => {
    const fullName = 'Ọlá "Ada" \\ \u{1F600} <script>&amp; %00 $1 \''.normalize('NFC');
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

describe('texts that people read', () => {
  const create = (fullName: string) => api.test.post('/wallets', { email: 'a@test.example', fullName });

  test('are stored without the spaces around them, and with one form of each letter', async () => {
    expect((await create('  Adé Obi \t')).data.fullName).toBe('Adé Obi');
    expect((await create('Ade\u0301 Obi')).data.fullName).toBe('Ad\u00e9 Obi');
    expect(problemsOf(await create('   '))).toEqual([
      { field: 'fullName', code: 'too_small', constraint: { minimum: 1 } },
    ]);
  });

  test.each(['\u202e', '\u2066', '\u200f', '\u001b', '\u0085', '\u007f'])(
    'have no character that is not seen, such as %j',
    async (character) => {
      for (const answer of [
        await create(`Ada${character} Obi`),
        await api.test.money('/wallets/x/transfer', {
          amount: 1,
          destinationWalletId: 'x',
          description: `${character}x`,
        }),
      ]) {
        expect(problemsOf(answer)).toEqual([expect.objectContaining({ code: 'invalid_string' })]);
      }
    },
  );

  test('have line breaks where they may be long, and not in names', async () => {
    expect(problemsOf(await create('Ada\nObi'))).toEqual([expect.objectContaining({ field: 'fullName' })]);
    const body = { amount: 1, destinationWalletId: 'x', description: 'two\nlines' };
    expect((await api.test.money('/wallets/x/transfer', body)).status).toBe(404);
  });

  test('are all texts of requests but ids, addresses and metadata', () => {
    const anyCharacter = '^[^\\0]*$';
    const found = new Set<string>();
    const visit = (schema: JsonSchema, name: string): void => {
      if ([schema.pattern, ...(schema.allOf ?? []).map(({ pattern }) => pattern)].includes(anyCharacter))
        found.add(name);
      for (const [field, property] of Object.entries(schema.properties ?? {})) visit(property, field);
      for (const part of [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) visit(part, name);
      for (const part of [schema.items, schema.additionalProperties, schema.propertyNames]) {
        if (typeof part === 'object') visit(part, name);
      }
    };
    for (const { body } of ROUTES) {
      if (body !== undefined) visit(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }) as JsonSchema, '');
    }
    expect([...found].toSorted()).toEqual([
      'destinationWalletId',
      'endpointId',
      'fundedBy',
      'metadata',
      'paymentId',
      'returnUrl',
      'sourceWalletId',
      'splitTemplateId',
      'targetWalletId',
      'url',
      'walletId',
    ]);
  });
});

interface JsonSchema {
  pattern?: string;
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  propertyNames?: JsonSchema;
}

describe('a body', () => {
  const send = (body: string | Buffer, headers: Record<string, string> = {}) =>
    api.test.call('POST', '/wallets', { body, headers: { 'content-type': 'application/json', ...headers } });

  test.each([
    ['{"email":"a@test.example","email":"b@test.example"}', 'email'],
    ['{"email":"a@test.example","\\u0065mail":"b@test.example"}', 'email'],
    ['{"email":"a@test.example" , "x":{"y":"a:","z":[{"y":1}],"y":2}}', 'y'],
    ['{"email":"a@test.example" , "x":{},"y":{ \n},"email":1}', 'email'],
  ])('with a field given twice is refused: %s', async (body, field) => {
    expect(problemsOf(await send(body))).toEqual([{ field, code: 'duplicate' }]);
  });

  test.each([
    ['alone', '1000.00000000000000000001'],
    ['negative, behind an exponent', '[1e5,-7.00000000000000000001]'],
    ['in a long body', `["${'x'.repeat(5_000)}",5.00000000000000000001]`],
  ])('with a fraction that a number cannot hold is refused: %s', async (_where, value) => {
    const problem = { field: 'x', code: 'invalid_type', constraint: { expected: 'int' } };
    expect(problemsOf(await send(`{"email":"a@test.example","x":${value}}`))).toEqual([problem]);
  });

  test('may have the same field in two objects, and in texts', async () => {
    const { status } = await api.test.money('/payouts', {
      items: [1, 2].map((amount) => ({
        amount,
        reference: `"amount":${amount}\\":`,
        bankAccount: { accountNumber: '0123456789', bankCode: '058' },
      })),
    });
    expect(status).toBe(422);
  });

  test.each<Record<string, string>>([
    { 'content-type': 'application/json; charset=iso-8859-1' },
    { 'content-encoding': 'gzip' },
  ])('that is not plain UTF-8 is refused: %j', async (headers) => {
    const { status, error } = await send('{"email":"a@test.example"}', headers);
    expect([status, error.code]).toEqual([400, 'UNSUPPORTED_CONTENT_TYPE']);
  });

  test.each(['utf-8', 'UTF-8', '"utf-8"', 'utf8'])('may say that it is %s', async (charset) => {
    const type = { 'content-type': `application/json; charset=${charset}` };
    expect((await send('{"email":"a@test.example"}', type)).status).toBe(201);
  });
});

describe('the words of an error', () => {
  const messageOf = async (body: object): Promise<unknown> => {
    const { error } = await api.test.money('/payments', { method: 'bank_transfer', targetWalletId: 'x', ...body });
    return (error.details.fields as { message: string }[])[0]?.message;
  };

  test.each<[object, string]>([
    [{ baseAmount: 10.5 }, 'must be a whole number of kobo'],
    [{ baseAmount: '10' }, 'must be a whole number of kobo'],
    [{}, 'must be a whole number of kobo'],
    [{ baseAmount: 0 }, 'must be at least 1'],
    [{ baseAmount: 1, method: 'cash' }, 'must be one of bank_transfer, virtual_wallet'],
    [{ baseAmount: 1, targetWalletId: undefined }, 'is required'],
    [{ baseAmount: 1, targetWalletId: 5 }, 'must be of the type string'],
    [{ baseAmount: 1, expiresIn: 60.5 }, 'must be a whole number'],
    [{ baseAmount: 1, description: 'x'.repeat(501) }, 'must have at most 500 characters'],
  ])('%j', async (body, message) => {
    expect(await messageOf(body)).toBe(message);
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
