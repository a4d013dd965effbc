// Fee schedules: operators set them with the command line; what GET /fees/quote says by any of them is what is charged,
// and what was charged stays.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid, publicId } from '../../src/ids.ts';
import { setFees } from '../../src/ledger/feeSchedules.ts';
import { CHARGED_MOVEMENTS, type FeeSchedule } from '../../src/ledger/fees.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { runCli } from '../cli/run.ts';
import { type Client, startTestApi, type TestOrganisation } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';
import { waitFor } from '../support/waitFor.ts';
import '../ledger/seed.ts';

const api = await startTestApi();

afterAll(async () => {
  expect((await verifyBooks(api.sql)).findings).toEqual([]);
  await api.close();
});

const flat = (fee: number) => ({ basisPoints: 0, min: 0, max: 0, flat: fee });
const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** Runs `fees …` for an organisation, or for all. */
const fees = (words: string[], of: TestOrganisation | 'all') =>
  runCli(
    [
      'fees',
      ...words,
      '--environment',
      'test',
      ...(of === 'all' ? ['--all-organisations'] : ['--organisation', publicId('organisation', of.organisationId)]),
    ],
    { databaseUrl: api.databaseUrl, home: tmpdir() },
  );

async function set(schedule: unknown, of: TestOrganisation | 'all') {
  const file = join(tmpdir(), `fees-${newUuid()}.json`);
  writeFileSync(file, JSON.stringify(schedule));
  return await fees(['set', file, '--reason', 'agreed', '--json'], of);
}

const bookOf = ({ organisationId }: TestOrganisation) => ({ organisationId, environment: 'test' }) as const;

/** An organisation with this schedule from its first request on. */
async function charged(schedule: FeeSchedule) {
  const organisation = await api.createOrganisation();
  const effect = { effectiveFrom: null, proof: OWNER_PROOF, reason: 'agreed' };
  await setFees(api.sql, bookOf(organisation), schedule, effect);
  return organisation;
}

const quoteOf = async ({ test: client }: TestOrganisation, query: string) =>
  (await client.get(`/fees/quote?${query}`)).data;

describe('what is charged', () => {
  /** What is charged for a movement from or to a wallet, by the answer to its request. */
  const charges: Record<string, (client: Client, walletId: string, other: string, amount: number) => Promise<unknown>> =
    {
      withdrawal: async (client, walletId, _other, amount) =>
        (await client.money(`/wallets/${walletId}/withdraw`, { amount, ...BANK_ACCOUNT })).data.fee,
      transfer: async (client, walletId, other, amount) =>
        (await client.money(`/wallets/${walletId}/transfer`, { amount, destinationWalletId: other })).data.fee,
      payout_item: async (client, sourceWalletId, _other, amount) => {
        const body = { sourceWalletId, items: [{ amount, bankAccount: BANK_ACCOUNT }] };
        const { data } = await client.money('/payouts', body);
        const validated = (await client.post('/payouts/validate', body)).data;
        expect(validated.totalFee).toBe(data.totalFee);
        return data.totalFee;
      },
      bank_transfer_payment: (...of) => pay('bank_transfer', ...of),
      virtual_wallet_payment: (...of) => pay('virtual_wallet', ...of),
    };

  async function pay(method: string, client: Client, targetWalletId: string, other: string, baseAmount: number) {
    const { data, error } = await client.money('/payments', { method, baseAmount, targetWalletId });
    if (data === undefined) return error.details;
    const { fee, payableAmount, feeBearer } = data;
    expect(payableAmount).toBe(feeBearer === 'payer' ? baseAmount + Number(fee) : baseAmount);
    if (method === 'virtual_wallet')
      expect((await client.money(`/wallets/${other}/pay`, { paymentId: data.id })).status).toBe(200);
    return fee;
  }

  const terms = fc
    .record({
      basisPoints: fc.integer({ min: 0, max: 10_000 }),
      min: fc.integer({ min: 0, max: 5_000 }),
      above: fc.integer({ min: 0, max: 50_000 }),
      flat: fc.integer({ min: 0, max: 3_000 }),
    })
    .map(({ above, ...rest }) => ({ ...rest, max: rest.min + above }));
  const rule = fc.record({
    movement: fc.constantFrom(...CHARGED_MOVEMENTS),
    isOfWallet: fc.boolean(),
    isTiered: fc.boolean(),
    terms: fc.tuple(terms, terms, terms),
  });
  const schedule = fc.record({
    feeBearer: fc.constantFrom(undefined, 'payer' as const, 'merchant' as const),
    rules: fc.uniqueArray(rule, {
      maxLength: 10,
      selector: ({ movement, isOfWallet }) => `${movement} ${isOfWallet}`,
    }),
    volume: fc.integer({ min: 0, max: 300 }),
    amounts: fc.record(
      Object.fromEntries(CHARGED_MOVEMENTS.map((movement) => [movement, fc.integer({ min: 1, max: 200_000 })])),
    ),
  });

  test('the quote for any request, by any schedule, is what is charged', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async ({ feeBearer, rules, volume, amounts }) => {
        const organisation = await api.createOrganisation();
        const client = organisation.test;
        const wallet = () => api.createWallet(client, { balance: 20_000_000 });
        const [walletId, plain, other] = [await wallet(), await wallet(), await wallet()];
        const sorted = rules.toSorted((one, next) => Number(next.isOfWallet) - Number(one.isOfWallet));
        const set = {
          ...(feeBearer && { feeBearer }),
          rules: sorted.map(({ movement, isOfWallet, isTiered, terms: [first, second, third] }) => ({
            movement,
            ...(isOfWallet && { walletId }),
            ...first,
            ...(isTiered && {
              tiers: [
                { volume: 100, ...second },
                { volume: 200, ...third },
              ],
            }),
          })),
        };
        await addVolumes(organisation, Object.fromEntries(CHARGED_MOVEMENTS.map((movement) => [movement, volume])));
        await setFees(api.sql, bookOf(organisation), set, { effectiveFrom: null, proof: OWNER_PROOF, reason: 'x' });
        for (const movement of CHARGED_MOVEMENTS) {
          const amount = Number(amounts[movement]);
          for (const [of, named] of [
            [walletId, `&walletId=${walletId}`],
            [plain, ''],
          ] as const) {
            const quoted = await quoteOf(organisation, `type=${movement}&amount=${amount}${named}`);
            expect(quoted.feeBearer).toBe(movement.endsWith('_payment') ? (feeBearer ?? 'payer') : 'payer');
            const asked = await charges[movement]?.(client, of, other, amount);
            // A payment that its fee uses up is refused, and says so.
            const isUsedUp = quoted.feeBearer === 'merchant' && Number(quoted.fee) >= amount;
            const refusal = expect.objectContaining({
              fields: [expect.objectContaining({ field: 'baseAmount', code: 'too_small' })],
            });
            expect(asked).toEqual(isUsedUp ? refusal : quoted.fee);
          }
        }
      }),
      { numRuns: 10 },
    );
  });

  test('a fee of zero is no posting', async () => {
    const free = await charged({ rules: CHARGED_MOVEMENTS.map((movement) => ({ movement, ...flat(0) })) });
    const walletId = await api.createWallet(free.test, { balance: 20_000 });
    const to = { amount: 10_000, ...BANK_ACCOUNT };
    const { status, data } = await free.test.money(`/wallets/${walletId}/withdraw`, to);
    expect([status, data.fee, data.totalAmount]).toEqual([201, 0, 10_000]);
    const items = [{ amount: 10_000, bankAccount: BANK_ACCOUNT }];
    const payout = await free.test.money('/payouts', { sourceWalletId: walletId, items });
    expect([payout.status, payout.data.totalFee]).toEqual([202, 0]);
    expect((await free.test.get(`/wallets/${walletId}/balance`)).data.balance).toBe(0);
  });

  test('a payment that says nothing has the bearer of its organisation, and keeps its fee when a later version begins', async () => {
    const organisation = await charged({
      feeBearer: 'merchant',
      rules: [{ movement: 'bank_transfer_payment', ...flat(70) }],
    });
    const [targetWalletId, client] = [await api.createWallet(organisation.test), organisation.test];
    const create = async (more: object) =>
      (await client.money('/payments', { method: 'bank_transfer', baseAmount: 1_000, targetWalletId, ...more })).data;
    const payment = await create({});
    expect(payment).toMatchObject({ feeBearer: 'merchant', fee: 70, payableAmount: 1_000 });
    expect(await create({ feeBearer: 'payer' })).toMatchObject({ feeBearer: 'payer', payableAmount: 1_070 });
    const later = { feeBearer: 'payer', effectiveFrom: new Date(Date.now() + 3_000).toISOString() };
    expect((await set(later, organisation)).errors).toBe('');
    const quoted = () => quoteOf(organisation, 'type=bank_transfer_payment&amount=1000');
    expect(await quoted()).toMatchObject({ feeBearer: 'merchant', fee: 70, totalAmount: 1_000 });
    await waitFor('the later version', async () => (await quoted()).fee === 500);
    expect(await quoted()).toMatchObject({ feeBearer: 'payer', totalAmount: 1_500 });
    expect((await client.get(`/payments/${payment.id}`)).data).toMatchObject({ feeBearer: 'merchant', fee: 70 });
  });

  test('the fee of a transfer leaves the source, has an entry of its own, and is kept when what it holds is cancelled', async () => {
    const organisation = await charged({ rules: [{ movement: 'transfer', ...flat(30) }] });
    const client = organisation.test;
    const [source, destinationWalletId] = [
      await api.createWallet(client, { balance: 1_059 }),
      await api.createWallet(client),
    ];
    const send = (amount: number) =>
      client.money(`/wallets/${source}/transfer`, { amount, destinationWalletId, hold: { release: 'manual' } });
    const { data } = await send(500);
    expectError(await send(500), 422, 'WALLET_INSUFFICIENT_FUNDS', { walletId: source, attemptedAmount: 530 });
    await client.money(`/holds/${String(data.holdId)}/cancel`, {});
    const { items } = await client.get(`/wallets/${source}/transactions?limit=3`);
    expect(items.map(({ kind, component, amount }) => [kind, component, amount])).toEqual([
      ['hold_cancellation', 'principal', 500],
      ['transfer', 'fee', 30],
      ['transfer', 'principal', 500],
    ]);
    expect((await client.get(`/transfers?sourceWalletId=${source}`)).items).toHaveLength(1);
  });

  test('a quote for a wallet of another organisation, or none, is refused', async () => {
    const { settlementWalletId } = await api.createOrganisation();
    const quote = (walletId: string) => api.test.get(`/fees/quote?type=transfer&amount=1&walletId=${walletId}`);
    expectError(await quote(settlementWalletId), 404, 'WALLET_NOT_FOUND', {
      resource: 'wallet',
      id: settlementWalletId,
    });
    expectError(await quote('x'), 404, 'WALLET_NOT_FOUND', { resource: 'wallet', id: 'x' });
    expectInvalid(await quote(''), 'walletId');
  });
});

/** Closes a day of this month with these volumes. */
const addVolumes = ({ organisationId }: TestOrganisation, volumes: object, daysBefore = 0) =>
  api.sql`
    INSERT INTO ledger.closed_days (organisation_id, environment, day, ends_at, completed_at, volumes)
    SELECT ${organisationId}, 'test', day, ledger.day_end(day - 1), now(), ${api.sql.json({ ...volumes })}
    FROM (SELECT date_trunc('month', ledger.accounting_day(now()))::date - ${daysBefore}::integer AS day) d`;

describe('volumes', () => {
  test('are of the organisation and this month: those of the month before do not count', async () => {
    const tiers = [{ volume: 1_000, ...flat(5) }];
    const feeWith = async (...days: [object, number][]) => {
      const organisation = await api.createOrganisation();
      for (const [volumes, daysBefore] of days) await addVolumes(organisation, volumes, daysBefore);
      const schedule = { rules: [{ movement: 'transfer' as const, ...flat(9), tiers }] };
      await setFees(api.sql, bookOf(organisation), schedule, { effectiveFrom: null, proof: OWNER_PROOF, reason: 'x' });
      return (await quoteOf(organisation, 'type=transfer&amount=1')).fee;
    };
    expect(await feeWith()).toBe(9);
    expect(await feeWith([{ transfer: 1_000, withdrawal: 7 }, 0])).toBe(5);
    expect(await feeWith([{ transfer: 999, withdrawal: 7 }, 0], [{ transfer: 1 }, 1])).toBe(9);
  });
});

describe('the command line', () => {
  test('sets a schedule with its audit entry, and shows its versions', async () => {
    const organisation = await api.createOrganisation();
    const walletId = await api.createWallet(organisation.test);
    const first = { feeBearer: 'merchant', rules: [{ movement: 'withdrawal', walletId, ...flat(70) }] };
    const answer = await set(first, organisation);
    expect([answer.exitCode, JSON.parse(answer.output)]).toEqual([0, { ...first, effectiveFrom: expect.any(String) }]);
    const tiers = [{ volume: 9_000, ...flat(3) }];
    const effectiveFrom = new Date(Date.now() + 86_400_000).toISOString();
    for (const fee of [1, 2])
      await set({ rules: [{ movement: 'transfer', ...flat(fee), tiers }], effectiveFrom }, organisation);
    expect(await quoteOf(organisation, `type=withdrawal&amount=1&walletId=${walletId}`)).toMatchObject({ fee: 70 });
    expect(JSON.parse((await fees(['show', '--json'], organisation)).output)).toEqual([
      { ...first, effectiveFrom: expect.any(String) },
      { rules: [{ movement: 'transfer', ...flat(2), tiers }], effectiveFrom },
    ]);
    const table = (await fees(['show'], organisation)).output;
    for (const row of [/merchant/, /withdrawal\W+svc_\w+_wlt\W+0\W+0\W+0\W+70/, /transfer[\W]+9000\W+0\W+0\W+0\W+3/])
      expect(table).toMatch(row);
    const audit = await api.sql`
      SELECT operator, reason FROM audit_log
      WHERE organisation_id = ${organisation.organisationId} AND action = 'fees.set'`;
    expect(audit).toEqual(Array(3).fill({ operator: 'ada', reason: 'agreed' }));
  });

  test('refuses what contradicts itself, is past, or names a wallet that the organisation has not, with the field', async () => {
    const organisation = await api.createOrganisation();
    const walletId = await api.createWallet();
    const refusals = await Promise.all(
      [
        { rules: [{ movement: 'transfer', ...flat(1), min: 1 }] },
        { effectiveFrom: '2026-01-01T00:00:00Z' },
        {
          rules: [
            { movement: 'transfer', ...flat(1) },
            { movement: 'transfer', walletId, ...flat(1) },
          ],
        },
        { rules: [{ movement: 'transfer', walletId, ...flat(1) }] },
      ].map((schedule) => set(schedule, organisation)),
    );
    expect(refusals.map(({ exitCode, errors }) => [exitCode, errors])).toEqual(
      [
        'rules.0.min must not be greater than max',
        'effectiveFrom must be in the future',
        'rules.1 must come before rules.0',
        'rules.0.walletId must be a wallet of the organisation',
      ].map((problem) => [2, expect.stringContaining(problem)]),
    );
    expect((await fees(['show'], organisation)).output).toBe('No schedule.\n');
  });

  test('sets the rules of all organisations, also by rail, which their own come before', async () => {
    const rules = [
      { movement: 'withdrawal', rail: 'another', ...flat(1) },
      { movement: 'withdrawal', rail: 'sandbox', ...flat(2) },
      { movement: 'withdrawal', ...flat(3) },
      { movement: 'payout_item', ...flat(4) },
    ];
    const walletId = await api.createWallet();
    const withWallet = { rules: [{ movement: 'withdrawal', walletId, ...flat(0) }] };
    expect((await set(withWallet, 'all')).errors).toContain('rules.0.walletId');
    expect((await set({ rules }, 'all')).errors).toBe('');
    const [without, own] = [await api.createOrganisation(), await api.createOrganisation()];
    await set({ rules: [{ movement: 'payout_item', ...flat(5) }] }, own);
    const shown = (organisation: TestOrganisation) =>
      Promise.all(
        ['withdrawal', 'payout_item'].map(async (type) => (await quoteOf(organisation, `type=${type}&amount=1`)).fee),
      );
    expect([await shown(without), await shown(own)]).toEqual([
      [2, 4],
      [2, 5],
    ]);
  });
});
