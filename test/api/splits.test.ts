// Splits in the request of a payment: what is refused, with its field, and what is stored.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { publicId, requireUuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { type Answer, startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

const api = await startTestApi();

afterAll(() => api.close());

const [seller, platform, courier] = (await Promise.all([1, 2, 3].map(() => api.createWallet()))) as [
  string,
  string,
  string,
];

const create = (splits: unknown, more = {}): Promise<Answer> =>
  api.test.money('/payments', {
    method: 'virtual_wallet',
    baseAmount: 10_000,
    targetWalletId: seller,
    splits,
    ...more,
  });

/** Expects VALIDATION_FAILED for this field alone, with this code. */
const expectField = (answer: Answer, field: string, code: string, more = {}) =>
  expectError(answer, 400, 'VALIDATION_FAILED', {
    fields: [{ field, code, message: expect.any(String), ...more }],
  });

test.each([
  ['over the base amount by amounts', [{ amount: 6_000 }, { amount: 4_001 }]],
  ['over 100 %', [{ basisPoints: 6_000 }, { basisPoints: 4_001 }]],
  ['over the base amount together', [{ amount: 1 }, { basisPoints: 10_000 }]],
])('splits %s are refused', async (_what, parts) => {
  const splits = parts.map((part, position) => ({ walletId: [platform, courier][position], ...part }));
  expectField(await create(splits), 'splits', 'too_big', { constraint: { maximum: 10_000 } });
});

test('a wallet is named once, and is not the target', async () => {
  const twice = [
    { walletId: platform, amount: 1 },
    { walletId: platform, amount: 2 },
  ];
  const constraint = { sameAs: 'splits.0.walletId' };
  expectField(await create(twice), 'splits.1.walletId', 'duplicate', { constraint });
  const target = [{ walletId: seller, amount: 1 }];
  expectField(await create(target), 'splits.0.walletId', 'duplicate', { constraint: { sameAs: 'targetWalletId' } });
});

test.each([
  ['an amount and basis points', { amount: 1, basisPoints: 1 }, 'splits.0', 'custom'],
  ['neither', {}, 'splits.0', 'custom'],
  ['half a basis point', { basisPoints: 0.5 }, 'splits.0.basisPoints', 'invalid_type'],
  ['more than 100 %', { basisPoints: 10_001 }, 'splits.0.basisPoints', 'too_big'],
  ['an amount of zero', { amount: 0 }, 'splits.0.amount', 'too_small'],
  ['an unknown field', { amount: 1, share: 2 }, 'splits.0.share', 'unrecognized_keys'],
])('a split with %s is refused', async (_what, part, field, code) => {
  const { status, error } = await create([{ walletId: platform, ...part }]);
  expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(error.details.fields).toContainEqual(expect.objectContaining({ field, code }));
});

test.each([
  ['a split that bears the fee of a payer', {}, { amount: 1_000, bearsFee: true }, 'feeBearer', 'custom'],
  ['splits that bear nothing', { feeBearer: 'split' }, { amount: 1_000 }, 'feeBearer', 'custom'],
  [
    'a split that would be left nothing',
    { feeBearer: 'split', method: 'bank_transfer' },
    { amount: 500, bearsFee: true },
    'splits',
    'too_small',
  ],
])('%s is refused', async (_what, more, part, field, code) => {
  const { status, error } = await create([{ walletId: platform, ...part }], more);
  expect([status, error.details.fields]).toEqual([400, [expect.objectContaining({ field, code })]]);
});

test('there are at most 20', async () => {
  const splits = Array.from({ length: 21 }, () => ({ walletId: publicId('wallet', randomUUID()), amount: 1 }));
  expectField(await create(splits), 'splits', 'too_big', { constraint: { maximum: 20 } });
});

test('a wallet of another organisation is not found', async () => {
  const other = await api.createOrganisation();
  const walletId = await api.createWallet(other.test);
  expectError(await create([{ walletId, amount: 1 }]), 404, 'WALLET_NOT_FOUND', { resource: 'wallet', id: walletId });
});

test('a wallet that cannot receive its part is refused as a target would be', async () => {
  const frozen = await api.createWallet(api.test, { status: 'frozen' });
  expectError(await create([{ walletId: frozen, amount: 1 }]), 422, 'WALLET_FROZEN', { walletId: frozen });
  const full = await api.createWallet(api.test, { balance: 30_000_000 });
  const { status, error } = await create([{ walletId: full, amount: 1 }]);
  expect([status, error]).toEqual([
    422,
    expect.objectContaining({
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      details: expect.objectContaining({ walletId: full, limit: 'balance', availableAmount: 0 }),
    }),
  ]);
});

test('the limit of the target is that of what it gets', async () => {
  const { settlementWalletId } = api.organisation;
  const order = { baseAmount: 6_000_000 };
  expect((await create([{ walletId: settlementWalletId, basisPoints: 1_666 }], order)).error).toMatchObject({
    code: 'WALLET_TIER1_LIMIT_EXCEEDED',
    details: { walletId: seller, attemptedAmount: 5_000_400 },
  });
  const { status, data } = await create([{ walletId: settlementWalletId, basisPoints: 1_667 }], order);
  expect([status, data.splits]).toEqual([201, [expect.objectContaining({ amount: 1_000_200, amountCredited: 0 })]]);
});

test.each([
  ['the target, where the merchant bears the fee', { feeBearer: 'merchant' }, []],
  [
    'a split that bears the fee',
    { feeBearer: 'split', baseAmount: 5_015_000 },
    [{ amount: 5_010_000, bearsFee: true }],
  ],
])('the limit of %s is that of what it gets', async (_who, more, parts) => {
  const splits = parts.map((part) => ({ walletId: platform, ...part }));
  const order = { method: 'bank_transfer', baseAmount: 5_010_000, ...more };
  expect(await create(splits, order)).toMatchObject({ status: 201, data: { fee: expect.any(Number) } });
  const over = { ...order, baseAmount: order.baseAmount + 100_000 };
  const larger = splits.map((split, index) => ({ ...split, amount: (parts[index]?.amount ?? 0) + 100_000 }));
  expect((await create(larger, over)).error).toMatchObject({
    code: 'WALLET_TIER1_LIMIT_EXCEEDED',
    details: { limit: 'transaction', limitAmount: 5_000_000, availableAmount: 5_000_000 },
  });
});

test('a payment without splits has none in its view', async () => {
  for (const splits of [undefined, null, []]) expect((await create(splits)).data).not.toHaveProperty('splits');
});

/** A settled payment of 10,000, of which the platform got a tenth. */
async function paid() {
  const payer = await api.createWallet(api.test, { balance: 10_000 });
  const { data } = await create([{ walletId: platform, basisPoints: 1_000 }]);
  await api.test.money(`/wallets/${payer}/pay`, { paymentId: data.id });
  return { payer, path: `/payments/${data.id}/refund` };
}

test('a refund that is funded by another wallet needs the scope wallet', async () => {
  const { path } = await paid();
  const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['payment'] });
  const fundedBy = await api.createWallet(api.test, { balance: 10_000 });
  const { status, error } = await api.client(key).money(path, { fundedBy });
  expect([status, error.code]).toEqual([403, 'API_KEY_SCOPE_FORBIDDEN']);
  expect(await api.balanceOf(fundedBy)).toBe(10_000);
});

test.each([
  [
    'a wallet that the payment did not credit',
    { from: [{ walletId: courier, amount: 1 }] },
    'from.0.walletId',
    'custom',
  ],
  [
    'a wallet twice',
    { from: [platform, platform].map((walletId) => ({ walletId, amount: 1 })) },
    'from.1.walletId',
    'duplicate',
  ],
  ['another amount than their sum', { amount: 3, from: [{ walletId: seller, amount: 2 }] }, 'amount', 'custom'],
  ['recover, but no wallet that funds it', { recover: true }, 'recover', 'custom'],
  ['recover for a wallet of a customer', { recover: true, fundedBy: courier }, 'fundedBy', 'custom'],
])('a refund from %s is refused', async (_what, body, field, code) => {
  const { path } = await paid();
  const { status, error } = await api.test.money(path, body);
  expect([status, error.code, error.details.fields]).toEqual([
    400,
    'VALIDATION_FAILED',
    [expect.objectContaining({ field, code })],
  ]);
});

test('the wallet that paid does not fund its own refund, and one of another organisation funds none', async () => {
  const { path, payer } = await paid();
  expectError(await api.test.money(path, { fundedBy: payer }), 422, 'SAME_WALLET', { walletId: payer });
  const other = await api.createOrganisation();
  const id = await api.createWallet(other.test, { balance: 10_000 });
  expectError(await api.test.money(path, { fundedBy: id }), 404, 'WALLET_NOT_FOUND', { resource: 'wallet', id });
});

test('a customer funds a refund of many wallets within the limit of a transaction', async () => {
  const { settlementWalletId } = api.organisation;
  const payer = await api.createWallet();
  const fundedBy = await api.createWallet(api.test, { balance: 9_000_000 });
  const bill = await create([{ walletId: seller, amount: 4_000_000 }], {
    baseAmount: 8_000_000,
    targetWalletId: settlementWalletId,
  });
  await api.fund(api.organisation.organisationId, payer, 9_000_000);
  await api.sql`UPDATE ledger.accounts SET posting_max = NULL WHERE code = ${walletAccount(requireUuid('wallet', payer))}`;
  expect((await api.test.money(`/wallets/${payer}/pay`, { paymentId: bill.data.id })).status).toBe(200);
  const refund = await api.test.money(`/payments/${bill.data.id}/refund`, { fundedBy });
  expectError(refund, 422, 'WALLET_TIER1_LIMIT_EXCEEDED', {
    walletId: fundedBy,
    limit: 'transaction',
    limitAmount: 5_000_000,
    attemptedAmount: 8_000_000,
    availableAmount: 5_000_000,
  });
  expect(await api.balanceOf(fundedBy)).toBe(9_000_000);
});

describe('saved splits', () => {
  const save = (splits: object[]) => api.test.post('/split-templates', { name: 'Commission', splits });

  test('a payment is made with the splits of a template, of its base amount', async () => {
    const { status, data } = await save([
      { walletId: platform, basisPoints: 1_000 },
      { walletId: courier, amount: 500 },
    ]);
    expect([status, data]).toEqual([
      201,
      expect.objectContaining({
        name: 'Commission',
        splits: [
          { walletId: platform, basisPoints: 1_000, amount: null, reference: null, description: null },
          { walletId: courier, basisPoints: null, amount: 500, reference: null, description: null },
        ],
      }),
    ]);
    expect((await api.test.get(`/split-templates/${data.id}`)).data).toEqual(data);
    expect((await api.test.get('/split-templates')).items).toContainEqual(data);
    const made = await create([], { splitTemplateId: data.id });
    expect(made.data.splits).toMatchObject([
      { walletId: platform, amount: 1_000, basisPoints: 1_000 },
      { walletId: courier, amount: 500, basisPoints: null },
    ]);
    const field = 'splitTemplateId';
    expectField(await create([], { splitTemplateId: data.id, baseAmount: 400 }), field, 'too_big', {
      constraint: { maximum: 400 },
    });
    expectField(await create([], { splitTemplateId: data.id, targetWalletId: platform }), field, 'duplicate', {
      constraint: { sameAs: 'targetWalletId' },
    });
    expectField(await create([{ walletId: courier, amount: 1 }], { splitTemplateId: data.id }), field, 'custom');
  });

  test('a template whose time has passed is refused by its own field', async () => {
    const releaseAt = new Date(Date.now() + 60_000).toISOString();
    const { data } = await save([{ walletId: platform, amount: 1, hold: { releaseAt } }]);
    const past = { releaseAt: '2020-01-01T00:00:00.000Z' };
    await api.sql`
      UPDATE split_templates SET splits = jsonb_set(splits, '{0,hold}', ${JSON.stringify(past)}::text::jsonb)
      WHERE id = ${requireUuid('splitTemplate', String(data.id))}`;
    const constraint = { minimum: expect.any(String) };
    expectField(await create([], { splitTemplateId: data.id }), 'splitTemplateId', 'too_small', { constraint });
  });

  test('an unknown template is not found', async () => {
    const id = publicId('splitTemplate', randomUUID());
    const details = { resource: 'split_template', id };
    expectError(await create([], { splitTemplateId: id }), 404, 'SPLIT_TEMPLATE_NOT_FOUND', details);
  });

  test('a template that no payment could use is refused', async () => {
    expectField(
      await save([
        { walletId: platform, basisPoints: 5_000 },
        { walletId: courier, basisPoints: 5_001 },
      ]),
      'splits',
      'too_big',
      {
        constraint: { maximum: 10_000 },
      },
    );
    const twice = await save([
      { walletId: platform, amount: 1 },
      { walletId: platform, amount: 2 },
    ]);
    expectField(twice, 'splits.1.walletId', 'duplicate', { constraint: { sameAs: 'splits.0.walletId' } });
    const id = publicId('wallet', randomUUID());
    expectError(await save([{ walletId: id, amount: 1 }]), 404, 'WALLET_NOT_FOUND', { resource: 'wallet', id });
  });
});
