// `wallets freeze | unfreeze | close | show`: status changes take effect immediately, are audited, and refusals state
// the reason.
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { type Ended, runCli, runCliProcess } from './run.ts';

let api: TestApi;
let organisation: string;

beforeAll(async () => {
  api = await startTestApi();
  organisation = publicId('organisation', api.organisation.organisationId);
});

afterAll(() => api.close());

const wallets = (...words: string[]): Promise<Ended> =>
  runCli(['wallets', ...words, '--organisation', organisation], { databaseUrl: api.databaseUrl, home: tmpdir() });

const audit = (walletId: string) => api.sql`
  SELECT environment, operator, action, reason FROM audit_log
  WHERE subject = ${requireUuid('wallet', walletId)} AND operator_id IS NOT NULL ORDER BY id`;

const statusOf = async (walletId: string) => (await api.test.get(`/wallets/${walletId}`)).data.status;

describe('wallets freeze and unfreeze', () => {
  test('wallets freeze stops transfers and unfreeze allows them again, with the reason in the audit log', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 90 }), await api.createWallet()];
    const transfer = () =>
      api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: destination, amount: 30 });

    const frozen = await wallets('freeze', source, '--reason', ' reported stolen ', '--json');
    expect([frozen.exitCode, JSON.parse(frozen.output)]).toEqual([0, { id: source, status: 'frozen', changed: true }]);
    expect(await statusOf(source)).toBe('frozen');
    expect((await transfer()).error.code).toBe('WALLET_FROZEN');
    expect((await api.test.get(`/wallets/${source}/balance`)).data.balance).toBe(90);

    const again = await wallets('freeze', source, '--reason', 'twice');
    expect([again.exitCode, again.output]).toEqual([0, `The wallet ${source} was already frozen.\n`]);

    const active = await wallets('unfreeze', source, '--reason', 'owner confirmed');
    expect([active.exitCode, active.output]).toEqual([0, `The wallet ${source} is active.\n`]);
    expect((await transfer()).status).toBe(201);
    expect([...(await audit(source))]).toEqual([
      { environment: 'test', operator: 'ada', action: 'wallet.freeze', reason: 'reported stolen' },
      { environment: 'test', operator: 'ada', action: 'wallet.unfreeze', reason: 'owner confirmed' },
    ]);
  });

  test('no transfer succeeds after wallets freeze has exited', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 1_000_000 }), await api.createWallet()];
    const body = { destinationWalletId: destination, amount: 1 };
    let stop = false;
    const transfers = Array.from({ length: 4 }, async () => {
      const codes: string[] = [];
      while (!stop) {
        const { status, error } = await api.test.money(`/wallets/${source}/transfer`, body);
        codes.push(status === 201 ? 'moved' : error.code);
      }
      return codes;
    });
    const freeze = ['wallets', 'freeze', source, '--reason', 'race', '--organisation', organisation];
    const { exitCode } = await runCliProcess(freeze, { databaseUrl: api.databaseUrl, home: tmpdir() });
    const balance = await api.balanceOf(source);
    await Promise.all(Array.from({ length: 20 }, () => api.test.money(`/wallets/${source}/transfer`, body)));
    stop = true;
    const codes = (await Promise.all(transfers)).flat();
    expect([exitCode, await api.balanceOf(source)]).toEqual([0, balance]);
    // Transfers were succeeding when the freeze took effect.
    expect(new Set(codes)).toEqual(new Set(['moved', 'WALLET_FROZEN']));
  });
});

describe('wallets close', () => {
  const close = (walletId: string) => wallets('close', walletId, '--reason', 'customer left');

  test('wallets close ends an empty wallet permanently', async () => {
    const walletId = await api.createWallet();
    expect((await close(walletId)).exitCode).toBe(0);
    expect(await statusOf(walletId)).toBe('closed');
    const unfrozen = await wallets('unfreeze', walletId, '--reason', 'oops');
    expect(unfrozen.exitCode).toBe(1);
    expect(unfrozen.errors).toContain('is permanently closed');
    expect((await audit(walletId)).map(({ action }) => action)).toEqual(['wallet.close']);
  });

  test('wallets close refuses a wallet with a balance and states the amount', async () => {
    const walletId = await api.createWallet(api.test, { balance: 123_456 });
    const { exitCode, errors } = await close(walletId);
    expect([exitCode, errors]).toEqual([
      1,
      `error: The wallet ${walletId} holds ₦1,234.56. Move the money out, then close it.\n`,
    ]);
    expect([await statusOf(walletId), [...(await audit(walletId))]]).toEqual(['active', []]);
  });

  test('wallets close refuses a wallet with money in flight and states the kind', async () => {
    const walletId = await api.createWallet();
    await api.test.money('/payments', { method: 'virtual_wallet', baseAmount: 5, targetWalletId: walletId });
    const { exitCode, errors } = await close(walletId);
    expect([exitCode, errors]).toEqual([
      1,
      `error: The wallet ${walletId} has money in flight (1 open payments). Wait until it has ended, then close it.\n`,
    ]);
    expect(await statusOf(walletId)).toBe('active');
  });

  test('wallets close refuses the settlement wallet', async () => {
    const { exitCode, errors } = await close(api.organisation.settlementWalletId);
    expect(exitCode).toBe(1);
    expect(errors).toContain('settlement wallet, which cannot be closed');
  });
});

describe('money in flight', () => {
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };

  // No worker runs here, so everything that is started stays in flight. Each case leaves the wallet with a balance of
  // zero.
  test.each<{ kind: string; start: (walletId: string) => Promise<unknown> }>([
    {
      kind: 'withdrawals',
      start: async (walletId) => {
        await api.fund(api.organisation.organisationId, walletId, 2_501);
        return await api.test.money(`/wallets/${walletId}/withdraw`, { amount: 1, ...bankAccount });
      },
    },
    {
      kind: 'refunds',
      start: async (walletId) => {
        const payer = await api.createWallet(api.test, { balance: 9 });
        const bill = { method: 'virtual_wallet', baseAmount: 9, targetWalletId: walletId };
        const { data } = await api.test.money('/payments', bill);
        await api.test.money(`/wallets/${payer}/pay`, { paymentId: data.id });
        return await api.test.money(`/payments/${data.id}/refund`, { destination: 'bank', bankAccount });
      },
    },
    {
      kind: 'refunds', // of what it got as a split
      start: async (walletId) => {
        const [payer, targetWalletId] = [await api.createWallet(api.test, { balance: 9 }), await api.createWallet()];
        const bill = { method: 'virtual_wallet', baseAmount: 9, targetWalletId, splits: [{ walletId, amount: 4 }] };
        const { data } = await api.test.money('/payments', bill);
        await api.test.money(`/wallets/${payer}/pay`, { paymentId: data.id });
        return await api.test.money(`/payments/${data.id}/refund`, { destination: 'bank', bankAccount });
      },
    },
    {
      kind: 'payouts',
      start: async (walletId) => {
        await api.fund(api.organisation.organisationId, walletId, 2_501);
        const items = [{ amount: 1, bankAccount }];
        return await api.test.money('/payouts', { sourceWalletId: walletId, items });
      },
    },
    {
      kind: 'payoutItems',
      start: async (walletId) => {
        await api.fund(api.organisation.organisationId, api.organisation.settlementWalletId, 2_501);
        const items = [{ amount: 1, destinationWalletId: walletId }];
        return await api.test.money('/payouts', { items });
      },
    },
    {
      kind: 'inboundCredits',
      start: async (walletId) => {
        const account = await api.test.get(`/wallets/${walletId}/deposit-account`);
        await api.sql`
          INSERT INTO inbound_credits (organisation_id, environment, id, version, rail, session_id, account_number, amount,
                                       owner_kind, owner_id, status, received_at)
          VALUES (${api.organisation.organisationId}, 'test', ${newUuid()}, 1, 'sandbox', 'on its way',
                  ${String(account.data.accountNumber)}, 1, 'wallet', ${requireUuid('wallet', walletId)}, 'received', now())`;
      },
    },
  ])('a wallet with $kind in flight cannot be closed', async ({ kind, start }) => {
    const walletId = await api.createWallet();
    await start(walletId);
    expect(await api.balanceOf(walletId)).toBe(0);
    const { organisationId } = api.organisation;
    const act = { proof: OWNER_PROOF, reason: 'test' };
    const change = await setWalletStatus(api.sql, organisationId, requireUuid('wallet', walletId), 'closed', act);
    expect(change).toEqual({ outcome: 'in_flight', inFlight: { [kind]: 1 } });
    expect(await statusOf(walletId)).toBe('active');
  });
});

describe('wallets show', () => {
  test('wallets show lists what is in flight and the audit log', async () => {
    const walletId = await api.createWallet(api.test, { balance: 50 });
    await wallets('freeze', walletId, '--reason', 'a look first');
    const wallet = JSON.parse((await wallets('show', walletId, '--json')).output);
    expect(wallet).toEqual({
      id: walletId,
      kind: 'end_user',
      environment: 'test',
      status: 'frozen',
      kycStatus: 'tier1',
      externalReference: null,
      balance: 50,
      heldBalance: 0,
      amountOwed: 0,
      currency: 'NGN',
      createdAt: expect.any(String),
      inFlight: {},
      audit: [
        { operator: 'ada', action: 'wallet.freeze', reason: 'a look first', createdAt: expect.any(String) },
        {
          operator: expect.stringMatching(/_key$/),
          action: 'wallet.verify',
          reason: null,
          createdAt: expect.any(String),
        },
      ],
    });
    const { output } = await wallets('show', walletId);
    for (const words of ['frozen', '₦0.50', 'nothing', 'ada', 'a look first']) expect(output).toContain(words);
  });
});

describe('wallets commands that are refused', () => {
  test.each<{ case: string; words: () => string[]; exitCode: number; message: RegExp }>([
    {
      case: 'an unknown wallet',
      words: () => ['freeze', publicId('wallet', newUuid()), '--reason', 'x'],
      exitCode: 1,
      message: /There is no wallet svc_.* in this organisation/,
    },
    {
      case: 'an id of another kind',
      words: () => ['freeze', publicId('payment', newUuid()), '--reason', 'x'],
      exitCode: 2,
      message: /is not a wallet id/,
    },
    {
      case: 'no reason',
      words: () => ['freeze', api.organisation.settlementWalletId],
      exitCode: 2,
      message: /required option '--reason <text>'/,
    },
    {
      case: 'an empty reason',
      words: () => ['freeze', api.organisation.settlementWalletId, '--reason', '  '],
      exitCode: 2,
      message: /--reason .* It must have 1 to 500 characters/,
    },
  ])('wallets freeze with $case exits with an error in one line', async ({ words, exitCode, message }) => {
    const result = await wallets(...words());
    expect(result).toEqual({ exitCode, output: '', errors: expect.stringMatching(message) });
    expect(result.errors.trim().split('\n')).toHaveLength(1);
  });

  test("wallets freeze with another organisation's wallet reports it as unknown", async () => {
    const other = await api.createOrganisation();
    const result = await wallets('freeze', other.settlementWalletId, '--reason', 'x');
    expect(result).toMatchObject({ exitCode: 1, errors: expect.stringContaining('There is no wallet') });
  });
});
