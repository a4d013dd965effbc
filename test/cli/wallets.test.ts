// `wallets freeze | unfreeze | close | show`: what an operator decides holds at once, for ever on record, and says why not.
import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

let api: TestApi;
let organisation: string;

beforeAll(async () => {
  api = await startTestApi();
  organisation = publicId('organisation', api.organisation.organisationId);
});

afterAll(() => api.close());

interface Ended {
  exitCode: number;
  output: string;
  errors: string;
}

function wallets(...words: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, 'wallets', ...words, '--organisation', organisation],
      { env: { ...process.env, DATABASE_URL: api.databaseUrl } },
      (error, output, errors) => resolve({ exitCode: Number(error?.code ?? 0), output, errors }),
    );
  });
}

const audit = (walletId: string) => api.sql`
  SELECT environment, operator, action, reason FROM audit_log
  WHERE subject = ${requireUuid('wallet', walletId)} ORDER BY id`;

const statusOf = async (walletId: string) => (await api.test.get(`/wallets/${walletId}`)).data.status;

describe('freeze and unfreeze', () => {
  test('stop and free the money of a wallet, with the reason on record', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 90 }), await api.createWallet()];
    const transfer = () =>
      api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: destination, amount: 30 });

    const frozen = await wallets('freeze', source, '--reason', ' reported stolen ', '--operator', 'ngozi', '--json');
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
      { environment: 'test', operator: 'ngozi', action: 'wallet.freeze', reason: 'reported stolen' },
      { environment: 'test', operator: userInfo().username, action: 'wallet.unfreeze', reason: 'owner confirmed' },
    ]);
  });

  test('once a freeze has ended, not one more kobo moves', async () => {
    const [source, destination] = [await api.createWallet(api.test, { balance: 1_000_000 }), await api.createWallet()];
    const body = { destinationWalletId: destination, amount: 1 };
    let stop = false;
    const moving = Array.from({ length: 4 }, async () => {
      const codes: string[] = [];
      while (!stop) {
        const { status, error } = await api.test.money(`/wallets/${source}/transfer`, body);
        codes.push(status === 201 ? 'moved' : error.code);
      }
      return codes;
    });
    const { exitCode } = await wallets('freeze', source, '--reason', 'race');
    const balance = await api.balanceOf(source);
    await Promise.all(Array.from({ length: 20 }, () => api.test.money(`/wallets/${source}/transfer`, body)));
    stop = true;
    const codes = (await Promise.all(moving)).flat();
    expect([exitCode, await api.balanceOf(source)]).toEqual([0, balance]);
    expect(new Set(codes)).toEqual(new Set(['moved', 'WALLET_FROZEN'])); // it was moving when the freeze came
  });
});

describe('close', () => {
  const close = (walletId: string) => wallets('close', walletId, '--reason', 'customer left');

  test('ends an empty wallet for ever', async () => {
    const walletId = await api.createWallet();
    expect((await close(walletId)).exitCode).toBe(0);
    expect(await statusOf(walletId)).toBe('closed');
    const unfrozen = await wallets('unfreeze', walletId, '--reason', 'oops');
    expect(unfrozen.exitCode).toBe(1);
    expect(unfrozen.errors).toContain('is permanently closed');
    expect((await audit(walletId)).map(({ action }) => action)).toEqual(['wallet.close']);
  });

  test('refuses a wallet that holds money, and says how much', async () => {
    const walletId = await api.createWallet(api.test, { balance: 123_456 });
    const { exitCode, errors } = await close(walletId);
    expect([exitCode, errors]).toEqual([
      1,
      `error: The wallet ${walletId} holds NGN 1,234.56. Move the money out, then close it.\n`,
    ]);
    expect([await statusOf(walletId), [...(await audit(walletId))]]).toEqual(['active', []]);
  });

  test('refuses a wallet with money in flight, and says what', async () => {
    const walletId = await api.createWallet();
    await api.test.money('/payments', { method: 'virtual_wallet', baseAmount: 5, targetWalletId: walletId });
    const { exitCode, errors } = await close(walletId);
    expect([exitCode, errors]).toEqual([
      1,
      `error: The wallet ${walletId} has money in flight (1 open payments). Wait until it has ended, then close it.\n`,
    ]);
    expect(await statusOf(walletId)).toBe('active');
  });

  test('refuses the settlement wallet', async () => {
    const { exitCode, errors } = await close(api.organisation.settlementWalletId);
    expect(exitCode).toBe(1);
    expect(errors).toContain('settlement wallet, which cannot be closed');
  });
});

describe('what is in flight', () => {
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };

  // No worker runs here, so whatever is started stays under way. Each leaves the wallet without a kobo.
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
  ])('$kind keep a wallet open', async ({ kind, start }) => {
    const walletId = await api.createWallet();
    await start(walletId);
    expect(await api.balanceOf(walletId)).toBe(0);
    const { organisationId } = api.organisation;
    const act = { operator: 'test', reason: 'test' };
    const change = await setWalletStatus(api.sql, organisationId, requireUuid('wallet', walletId), 'closed', act);
    expect(change).toEqual({ outcome: 'in_flight', inFlight: { [kind]: 1 } });
    expect(await statusOf(walletId)).toBe('active');
  });
});

describe('show', () => {
  test('tells what stands in the way and who did what', async () => {
    const walletId = await api.createWallet(api.test, { balance: 50 });
    await wallets('freeze', walletId, '--reason', 'a look first', '--operator', 'ngozi');
    const shown = JSON.parse((await wallets('show', walletId, '--json')).output);
    expect(shown).toEqual({
      id: walletId,
      kind: 'end_user',
      environment: 'test',
      status: 'frozen',
      kycStatus: 'tier1',
      externalReference: null,
      balance: 50,
      currency: 'NGN',
      createdAt: expect.any(String),
      inFlight: {},
      audit: [{ operator: 'ngozi', action: 'wallet.freeze', reason: 'a look first', createdAt: expect.any(String) }],
    });
    const { output } = await wallets('show', walletId);
    for (const words of ['frozen', 'NGN 0.50', 'nothing', 'ngozi', 'a look first']) expect(output).toContain(words);
  });
});

describe('what is not possible changes nothing and says so in one line', () => {
  test.each<{ case: string; words: () => string[]; exitCode: number; says: RegExp }>([
    {
      case: 'a wallet that is not there',
      words: () => ['freeze', publicId('wallet', newUuid()), '--reason', 'x'],
      exitCode: 1,
      says: /There is no wallet svc_.* in this organisation/,
    },
    {
      case: 'an id of something else',
      words: () => ['freeze', publicId('payment', newUuid()), '--reason', 'x'],
      exitCode: 2,
      says: /is not a wallet id/,
    },
    {
      case: 'no reason',
      words: () => ['freeze', api.organisation.settlementWalletId],
      exitCode: 2,
      says: /required option '--reason <text>'/,
    },
    {
      case: 'an empty reason',
      words: () => ['freeze', api.organisation.settlementWalletId, '--reason', '  '],
      exitCode: 2,
      says: /--reason must have 1 to 500 characters/,
    },
  ])('$case', async ({ words, exitCode, says }) => {
    const ended = await wallets(...words());
    expect(ended).toEqual({ exitCode, output: '', errors: expect.stringMatching(says) });
    expect(ended.errors.trim().split('\n')).toHaveLength(1);
  });

  test("another organisation's wallet", async () => {
    const other = await api.createOrganisation();
    const ended = await wallets('freeze', other.settlementWalletId, '--reason', 'x');
    expect(ended).toMatchObject({ exitCode: 1, errors: expect.stringContaining('There is no wallet') });
  });
});
