// Limits by tier: a policy that operators set with the command line, tiers by KYC, what GET /wallets/:id/limits shows,
// and refusals that say what is left.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { readKyc } from '../../src/resources/wallets/kyc.ts';
import { DAY_MS, dayOf, dayStart, monthAfter, monthOf } from '../../src/times.ts';
import { runCli } from '../cli/run.ts';
import type { Client, TestOrganisation } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const TIER1 = { transaction: 5_000_000, balance: 30_000_000 };

/** Runs `limits …` for an organisation, or for the ceiling. */
const limits = (words: string[], of: TestOrganisation | 'ceiling', environment = 'test') =>
  runCli(
    [
      'limits',
      ...words,
      '--environment',
      environment,
      ...(of === 'ceiling' ? ['--ceiling'] : ['--organisation', publicId('organisation', of.organisationId)]),
    ],
    { databaseUrl: flows.databaseUrl, home: tmpdir() },
  );

async function setLimits(policy: unknown, of: TestOrganisation | 'ceiling', environment?: string) {
  const file = join(tmpdir(), `limits-${newUuid()}.json`);
  writeFileSync(file, JSON.stringify(policy));
  return await limits(['set', file, '--reason', 'agreed', '--json'], of, environment);
}

/** An organisation with this policy, and a wallet of it. */
async function limited(policy: object, balance = 1_000_000) {
  const organisation = await flows.createOrganisation();
  expect((await setLimits(policy, organisation)).errors).toBe('');
  const client = organisation.test;
  const walletId = await flows.createWallet(client, { balance });
  const shop = await flows.createWallet(client, {});
  const send = (amount: number, more: object = {}) =>
    client.money(`/wallets/${walletId}/transfer`, { destinationWalletId: shop, amount, ...more });
  const left = async () => {
    const { data } = await client.get(`/wallets/${walletId}/limits`);
    const shown = data.limits as { limit: string; remaining: number }[];
    return Object.fromEntries(shown.map(({ limit, remaining }) => [limit, remaining]));
  };
  return { organisation, client, walletId, send, left };
}

const endOfDay = () => new Date(dayStart(dayOf(new Date())).getTime() + DAY_MS).toISOString();
const endOfMonth = () => dayStart(`${monthAfter(monthOf(new Date()))}-01`).toISOString();

const until = (client: Client, path: string, status: string) =>
  waitFor(`${path} to be ${status}`, async () => (await client.get(path)).data.status === status);

describe('a policy', () => {
  test('sets the limits of the wallets that exist and of later ones; removing it restores those of the contract', async () => {
    const organisation = await flows.createOrganisation();
    const before = await flows.createWallet(organisation.test, { balance: 1_000 });
    const shown = async (id: string) => (await organisation.test.get(`/wallets/${id}/limits`)).data.limits as object[];
    const contract = [
      { limit: 'transaction', maximum: 5_000_000, used: null, remaining: 5_000_000, resetsAt: null },
      { limit: 'balance', maximum: 30_000_000, used: null, remaining: 29_999_000, resetsAt: null },
    ];
    expect(await shown(before)).toEqual(contract);
    const policy = { tier1: { ...TIER1, transaction: 400, daily_amount: 700, monthly_count: 2 } };
    const set = await setLimits(policy, organisation);
    expect([set.exitCode, JSON.parse(set.output)]).toEqual([0, policy]);
    const after = await flows.createWallet(organisation.test, { balance: 1_000 });
    for (const [from, to] of [
      [before, after],
      [after, before],
    ] as const) {
      const send = (amount: number) =>
        organisation.test.money(`/wallets/${from}/transfer`, { destinationWalletId: to, amount });
      expectError(await send(401), 422, 'WALLET_TIER1_LIMIT_EXCEEDED', {
        walletId: from,
        limit: 'transaction',
        limitAmount: 400,
        attemptedAmount: 401,
        availableAmount: 400,
      });
      expect((await send(400)).status).toBe(201);
      expectError(await send(301), 422, 'WALLET_LIMIT_EXCEEDED', {
        walletId: from,
        limit: 'daily_amount',
        maximum: 700,
        attempted: 301,
        remaining: 300,
        resetsAt: endOfDay(),
      });
      expect((await send(300)).status).toBe(201);
      expectError(await send(1), 422, 'WALLET_LIMIT_EXCEEDED', {
        walletId: from,
        limit: 'monthly_count',
        maximum: 2,
        attempted: 1,
        remaining: 0,
        resetsAt: endOfMonth(),
      });
    }
    expect((await shown(before)).slice(2)).toEqual([
      { limit: 'daily_amount', maximum: 700, used: 700, remaining: 0, resetsAt: endOfDay() },
      { limit: 'monthly_count', maximum: 2, used: 2, remaining: 0, resetsAt: endOfMonth() },
    ]);
    expect((await limits(['show'], organisation)).output).toMatch(/tier1\W+monthly_count\W+2/);
    expect(JSON.parse((await limits(['show', '--json'], organisation, 'live')).output)).toEqual([
      { tier: 'tier1', limit: 'transaction', maximum: 5_000_000 },
      { tier: 'tier1', limit: 'balance', maximum: 30_000_000 },
    ]);
    await setLimits({}, organisation);
    expect(await shown(before)).toEqual(contract);
    const audit = await flows.sql`
      SELECT action, operator, reason FROM audit_log
      WHERE organisation_id = ${organisation.organisationId} AND action = 'limits.set'`;
    expect(audit).toEqual(Array(2).fill({ action: 'limits.set', operator: 'ada', reason: 'agreed' }));
  });

  test('whose ceiling leaves it out or is lower is refused, and so is one beyond it', async () => {
    const organisation = await flows.createOrganisation();
    const ceiling = { tier1: { ...TIER1, daily_amount: 9_000_000 } };
    expect((await setLimits(ceiling, 'ceiling', 'live')).exitCode).toBe(0);
    const attempt = async (policy: object) => (await setLimits(policy, organisation, 'live')).errors;
    expect(await attempt({})).toContain('tier1.daily_amount must be at most the ceiling, 9000000 (above_ceiling)');
    expect(await attempt({ tier1: ceiling.tier1, tier2: {} })).toContain(
      'tier2 must be a tier of the ceiling (not_in_ceiling)',
    );
    expect(await attempt({ tier1: { ...TIER1, daily_amount: 9_000_001 } })).toContain('above_ceiling');
    expect(await attempt(ceiling)).toBe('');
  });
});

test('the limit of a transaction binds each item of a payout, and not their fees', async () => {
  const { client, walletId } = await limited({ tier1: { ...TIER1, transaction: 4_000 } });
  const payOut = async (...amounts: number[]) => {
    const items = amounts.map((amount) => ({ amount, bankAccount: { accountNumber: '4000000003', bankCode: '058' } }));
    return await client.money('/payouts', { sourceWalletId: walletId, items });
  };
  const { status, data } = await payOut(4_000, 3_000, 3_000);
  expect([status, Number(data.totalFee) > 4_000]).toEqual([202, true]);
  expect((await payOut(4_001)).error).toMatchObject({ details: { limit: 'transaction', attemptedAmount: 4_001 } });
});

describe('what comes back is not used', () => {
  const policy = {
    tier1: { ...TIER1, transaction: 200_000, daily_amount: 300_000, monthly_amount: 300_000, daily_count: 9 },
  };
  const FREE = { daily_amount: 300_000, monthly_amount: 300_000, daily_count: 9 };

  test.each([
    ['fails', '9999999001', 'failed'],
    ['is returned', '9999999002', 'returned'],
  ])('a withdrawal that %s, with its fee', async (_, accountNumber, status) => {
    const { client, walletId, left } = await limited(policy);
    const body = { amount: 100_000, accountNumber, bankCode: '058' };
    const { id } = (await client.money(`/wallets/${walletId}/withdraw`, body)).data;
    await until(client, `/withdrawals/${id}`, status);
    expect(await left()).toMatchObject(FREE);
  });

  test('a payout item that fails, with its fee; the others are used', async () => {
    const { client, walletId, left } = await limited(policy);
    const items = ['9999999001', '4000000003'].map((accountNumber) => ({
      amount: 50_000,
      bankAccount: { accountNumber, bankCode: '058' },
    }));
    const { id } = (await client.money('/payouts', { sourceWalletId: walletId, items })).data;
    await until(client, `/payouts/${id}`, 'partially_completed');
    expect(await left()).toMatchObject({
      daily_amount: 300_000 - 52_500,
      monthly_amount: 300_000 - 52_500,
      daily_count: 8,
    });
  });

  test('a hold that is cancelled; what was released of one is used', async () => {
    const { client, send, left } = await limited(policy);
    const hold = async () => String((await send(1_000, { hold: { release: 'manual' } })).data.holdId);
    const [whole, part] = [await hold(), await hold()];
    expect(await left()).toMatchObject({ daily_amount: 298_000, daily_count: 7 });
    await client.money(`/holds/${whole}/cancel`, {});
    await client.money(`/holds/${part}/release`, { amount: 300 });
    await client.money(`/holds/${part}/cancel`, {});
    expect(await left()).toMatchObject({ daily_amount: 299_700, daily_count: 8 });
  });

  test('not a refund of a payment that was paid from the wallet', async () => {
    const { client, walletId, left } = await limited(policy);
    const target = await flows.createWallet(client, {});
    const { id } = (
      await client.money('/payments', { method: 'virtual_wallet', baseAmount: 1_000, targetWalletId: target })
    ).data;
    expect((await client.money(`/wallets/${walletId}/pay`, { paymentId: id })).status).toBe(200);
    expect((await client.money(`/payments/${id}/refund`, {})).status).toBe(201);
    expect(await left()).toMatchObject({ daily_amount: 299_000, daily_count: 8 });
  });
});

describe('higher tiers', () => {
  const policy = {
    tier1: { ...TIER1, daily_amount: 6_000_000 },
    tier2: { transaction: 8_000_000, balance: 40_000_000, daily_amount: 9_000_000 },
    business: { balance: 900_000_000 },
  };
  const BUSINESS = { businessName: 'Acme Ltd', registrationNumber: 'RC 123456' };

  test('POST /wallets/:id/kyc with a tier of the policy and its details gives the wallet that tier and its limits', async () => {
    const { client, walletId, organisation } = await limited(policy);
    const submit = (more: object) => client.post(`/wallets/${walletId}/kyc`, { ...KYC, ...more });
    const shown = async () => {
      const { data } = await client.get(`/wallets/${walletId}/limits`);
      return [data.tier, (data.limits as { maximum: number }[]).map(({ maximum }) => maximum)];
    };
    expect(await shown()).toEqual(['tier1', [5_000_000, 30_000_000, 6_000_000]]);
    expectInvalid(await submit({ tier: 'tier2' }), 'nin');
    expectInvalid(await submit({ tier: 'business' }), 'businessName', 'registrationNumber');
    expectInvalid(await submit({ tier: 'tier2', nin: '1' }), 'nin');
    expectError(
      await submit({ tier: 'tier3', nin: '12345678901', proofOfAddress: 'bill 1' }),
      422,
      'WALLET_TIER_UNAVAILABLE',
      { walletId, tier: 'tier3', tiers: ['tier1', 'tier2', 'business'] },
    );
    expect((await submit({ tier: 'tier2', nin: '12345678901' })).data.kycStatus).toBe('tier2');
    expect(await shown()).toEqual(['tier2', [8_000_000, 40_000_000, 9_000_000]]);
    expect((await client.get(`/wallets?kycStatus=tier2`)).items.map(({ id }) => id)).toEqual([walletId]);
    // Details that are submitted again keep the tier.
    expect((await submit({ city: 'Ibadan' })).data.kycStatus).toBe('tier2');
    const book = { organisationId: organisation.organisationId, environment: 'test' } as const;
    expect(await readKyc(flows.dependencies, book, requireUuid('wallet', walletId))).toMatchObject({
      city: 'Ibadan',
      nin: '12345678901',
    });
    expect((await submit({ tier: 'business', ...BUSINESS })).data.kycStatus).toBe('business');
    expect(await shown()).toEqual(['business', [900_000_000]]);
    expect((await submit({ tier: 'tier1' })).data.kycStatus).toBe('tier1');
    expect(await shown()).toEqual(['tier1', [5_000_000, 30_000_000, 6_000_000]]);
  });

  test('limits tier gives a wallet with KYC details a tier by the decision of an operator, with its evidence', async () => {
    const { client, walletId, organisation, left } = await limited(policy);
    const ofOrganisation = ['--organisation', publicId('organisation', organisation.organisationId)];
    const grounds = ['--reason', 'visited', '--evidence', 'report 12'];
    const decide = (id: string, tier: string) =>
      runCli(['limits', 'tier', id, tier, ...grounds, ...ofOrganisation], {
        databaseUrl: flows.databaseUrl,
        home: tmpdir(),
      });
    expect((await decide(walletId, 'tier3')).errors).toContain('no tier3. Choose from business, tier1, tier2.');
    const none = await flows.createWallet(client, { tier1: false });
    expect((await decide(none, 'tier2')).errors).toContain('no KYC details yet');
    const details = await flows.sql`SELECT * FROM wallet_kyc WHERE organisation_id = ${organisation.organisationId}`;
    expect((await decide(walletId, 'business')).output).toBe(`The wallet ${walletId} is business.\n`);
    expect((await client.get(`/wallets/${walletId}`)).data.kycStatus).toBe('business');
    expect(await left()).toEqual({ balance: 899_000_000 });
    expect(await flows.sql`SELECT * FROM wallet_kyc WHERE organisation_id = ${organisation.organisationId}`).toEqual(
      details,
    );
    expect(
      await flows.sql`
        SELECT operator, action, reason FROM audit_log WHERE subject = ${requireUuid('wallet', walletId)} AND operator = 'ada'`,
    ).toEqual([{ operator: 'ada', action: 'wallet.verify', reason: 'visited (evidence: report 12)' }]);
  });

  test('without a policy there is tier1 alone', async () => {
    const walletId = await flows.createWallet();
    const answer = await flows.test.post(`/wallets/${walletId}/kyc`, { ...KYC, tier: 'business', ...BUSINESS });
    expectError(answer, 422, 'WALLET_TIER_UNAVAILABLE', { walletId, tier: 'business', tiers: ['tier1'] });
  });

  test('a wallet whose tier leaves the policy keeps its limits, until its details are submitted again', async () => {
    const { client, walletId, organisation, left } = await limited(policy);
    await client.post(`/wallets/${walletId}/kyc`, { ...KYC, tier: 'business', ...BUSINESS });
    await setLimits({}, organisation);
    expect(await left()).toEqual({ balance: 899_000_000 });
    expect((await client.post(`/wallets/${walletId}/kyc`, KYC)).data.kycStatus).toBe('tier1');
    expect(await left()).toEqual({ transaction: 5_000_000, balance: 29_000_000 });
  });
});

test('GET /wallets/:id/limits: none of a settlement wallet, 422 below tier1, 404 of another organisation', async () => {
  const { settlementWalletId } = flows.organisation;
  const { data } = await flows.test.get(`/wallets/${settlementWalletId}/limits`);
  expect(data).toEqual({ walletId: settlementWalletId, tier: null, limits: [] });
  const none = await flows.createWallet(flows.test, { tier1: false });
  expectError(await flows.test.get(`/wallets/${none}/limits`), 422, 'WALLET_KYC_REQUIRED', { walletId: none });
  const stranger = await flows.createOrganisation();
  expect((await stranger.test.get(`/wallets/${settlementWalletId}/limits`)).error.code).toBe('WALLET_NOT_FOUND');
});
