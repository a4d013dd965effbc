// `rail check`, over the fake of Monnify: a provider as documented passes every check, and for each check there is a
// provider that does otherwise, which the check finds.
import { describe, expect, test } from '@jest/globals';
import type { Defect } from '../../dev/monnify/defects.ts';
import { UNKNOWN_ACCOUNT } from '../../dev/monnify/destinations.ts';
import type { MonnifyFake } from '../../dev/monnify/fake.ts';
import { FAKE_CREDENTIALS } from '../../dev/monnify/fakeCredentials.ts';
import { newUuid } from '../../src/ids.ts';
import { createMonnifyRail, monnify } from '../../src/rail/monnify/rail.ts';
import type { VirtualAccount } from '../../src/rail/port.ts';
import { createContractHarness, type HarnessOptions, MONEY_MAX } from '../../src/rail/promises/harness.ts';
import { isOptional, type Verdict } from '../../src/rail/promises/promise.ts';
import { CHECKS } from '../../src/rail/promises/promises.ts';
import { type CheckReport, runPromises } from '../../src/rail/promises/run.ts';
import type { RailProvider } from '../../src/rail/provider.ts';
import { BVN, ORGANISATION, startMonnify } from './monnify/harness.ts';

const TO = { accountNumber: '1234567890', bankCode: '058' };
const ALL: HarnessOptions = {
  movesMoney: true,
  to: TO,
  bvn: BVN,
  payer: { waitMs: 60_000, ask: () => {} },
};

interface Change {
  defects?: Defect[];
  options?: Partial<HarnessOptions>;
  prepare?: (fake: MonnifyFake) => void;
  /** Whether the rail reports its balance. */
  reportsBalance?: boolean;
  /** Whether what is asked for is paid. */
  pays?: boolean;
}

/** Runs all checks against a new fake of Monnify. */
async function run(change: Change = {}) {
  const { defects = [], options = {}, prepare, reportsBalance = true, pays = true } = change;
  const started = await startMonnify({ balance: 1_000_000n });
  const { fake, now, pass } = started;
  for (const defect of defects) fake.defects.add(defect);
  prepare?.(fake);
  const provider: RailProvider = {
    ...monnify,
    isSandbox: () => false,
    open: ({ credentials }) => {
      const rail = createMonnifyRail(credentials as typeof fake.credentials, now);
      if (reportsBalance) return rail;
      const transfers = { ...rail.capabilities.transfers, balance: false };
      return { ...rail, capabilities: { ...rail.capabilities, transfers }, balance: () => Promise.resolve(null) };
    },
  };
  const payments: Promise<unknown>[] = [];
  const ask = (amount: number, { accountNumber }: VirtualAccount): void => {
    if (pays) payments.push(fake.pay(accountNumber, BigInt(amount)));
  };
  const contract = {
    id: newUuid(),
    organisationId: ORGANISATION,
    environment: 'live' as const,
    credentials: fake.credentials,
  };
  const pause = async (ms: number): Promise<void> => {
    pass(ms);
    await Promise.all([...fake.book.transfers.keys()].map((reference) => fake.advance(reference)));
  };
  const own: HarnessOptions = { ...ALL, payer: { waitMs: 60_000, ask }, ...options };
  const harness = createContractHarness(provider, contract, own, { now, pause });
  const printed: string[] = [];
  const report = await runPromises(CHECKS, harness, ({ id, verdict }) => printed.push(`${id} ${verdict}`));
  await Promise.all([harness.close(), ...payments]);
  await started.close();
  const sent = [...fake.book.transfers.values()].reduce((sum, { amount }) => sum + amount, 0n);
  return { report, printed, fake, sent };
}

const isRequired = (untried: string[]): boolean =>
  CHECKS.some((promise) => !isOptional(promise) && untried.includes(promise.id));

const resultOf = ({ checks }: CheckReport, id: string) => checks.find((one) => one.id === id);
const verdictsOf = ({ checks }: CheckReport): Record<string, Verdict> =>
  Object.fromEntries(checks.map(({ id, verdict }) => [id, verdict]));

test('a provider as documented passes every check, at less than 200 naira', async () => {
  const { report, printed, fake, sent } = await run();
  expect(report.checks.filter(({ verdict }) => verdict !== 'PASS')).toEqual([
    expect.objectContaining({ id: 'credit.confirm', verdict: 'WARN' }),
  ]);
  expect(report).toMatchObject({ provider: 'monnify', adapterVersion: '1', isLive: true, passed: true });
  expect(report.summary).toEqual({ PASS: CHECKS.length - 1, WARN: 1, FAIL: 0, SKIP: 0 });
  expect(printed).toEqual(report.checks.map(({ id, verdict }) => `${id} ${verdict}`));
  expect(Number(sent)).toBeLessThanOrEqual(MONEY_MAX);
  expect([...fake.book.transfers.values()].filter(({ timesPaid }) => timesPaid > 1)).toEqual([]);
});

test('the report has every exchange, and neither secrets nor personal data', async () => {
  const { report, fake } = await run({ pays: true });
  expect(report.exchanges.length).toBe(fake.requests.length);
  expect(report.exchanges.find(({ route }) => route === '/api/v1/auth/login')).toEqual({
    check: 'auth.login',
    method: 'POST',
    route: '/api/v1/auth/login',
    status: 200,
    ms: expect.any(Number),
    shape: {
      requestSuccessful: true,
      responseMessage: 'success',
      responseCode: '0',
      responseBody: { accessToken: expect.stringMatching(/^aaA[Aa9.]+$/), expiresIn: '3600' },
    },
  });
  const text = JSON.stringify(report);
  const { secretKey, apiKey } = FAKE_CREDENTIALS;
  for (const secret of [secretKey, apiKey, 'eyJhbG', BVN, TO.accountNumber, 'ADA', 'CHIDI', '0065432190'])
    expect(text).not.toContain(secret);
});

interface Case extends Change {
  id: string;
  how: string;
  verdict?: Verdict;
  found: RegExp;
}

const VALIDATE = 'GET /api/v1/disbursements/account/validate';
const SUMMARY = 'GET /api/v2/disbursements/single/summary';
const SEND = 'POST /api/v2/disbursements/single';

const CASES: Case[] = [
  {
    id: 'auth.login',
    how: 'rejects the login',
    prepare: (fake) => fake.break('POST /api/v1/auth/login', 'code_99', { times: 9 }),
    found: /unauthorised/,
  },
  { id: 'auth.wrong_secret', how: 'accepts any secret', defects: ['any_secret'], found: /is accepted/ },
  { id: 'auth.wrong_secret', how: 'breaks on a wrong secret', defects: ['secret_500'], found: /like an outage/ },
  { id: 'auth.refresh', how: 'has one token only', defects: ['one_token'], found: /ended the token/ },
  { id: 'clock', how: 'has a fast clock', defects: ['clock_fast'], found: /(?:299|300|301) s apart/ },
  { id: 'banks', how: 'lists three banks', defects: ['few_banks'], found: /3 banks/ },
  {
    id: 'banks',
    how: 'gives two banks one code',
    defects: ['nip_code_twice'],
    found: /two banks have one code/,
  },
  {
    id: 'resolve.ok',
    how: 'does not find the account',
    options: { to: { ...TO, accountNumber: UNKNOWN_ACCOUNT } },
    found: /no such account/,
  },
  {
    id: 'resolve.ok',
    how: 'does not answer',
    prepare: (fake) => fake.break(VALIDATE, 'html_502'),
    found: /not as documented|502|outage|HTML|monnify/,
  },
  {
    id: 'resolve.unknown',
    how: 'finds every account',
    defects: ['every_account_exists'],
    found: /no bank issues has a holder/,
  },
  {
    id: 'resolve.unknown_bank',
    how: 'finds every account',
    defects: ['every_account_exists'],
    found: /unknown bank has a holder/,
  },
  { id: 'account.one_off', how: 'uses another zone', defects: ['utc_expiry'], found: /60 minutes/ },
  { id: 'account.one_off', how: 'forgets references', defects: ['forgets_references'], found: /another number/ },
  { id: 'account.permanent', how: 'forgets references', defects: ['forgets_references'], found: /another number/ },
  { id: 'credit.simulated', how: 'lists no credit', pays: false, found: /not listed/ },
  { id: 'credit.simulated', how: 'accepts any amount', defects: ['any_amount'], found: /2 of two other amounts/ },
  { id: 'credit.confirm', how: 'reports another amount', defects: ['other_amount'], found: /another amount/ },
  {
    id: 'balance',
    how: 'holds too little',
    prepare: (fake) => {
      fake.book.balance = 10_000n;
    },
    found: /₦100\.00/,
  },
  {
    id: 'transfer.ok',
    how: 'fails the transfer',
    options: { to: { ...TO, accountNumber: '8000000001' } },
    found: /failed: Dormant/,
  },
  {
    id: 'transfer.ok',
    how: 'never ends the transfer',
    options: { to: { ...TO, accountNumber: '8000000007' } },
    found: /still in progress/,
  },
  {
    id: 'transfer.otp',
    how: 'waits for a password',
    prepare: (fake) => {
      fake.otp = true;
    },
    found: /one-time password/,
  },
  {
    id: 'transfer.ip',
    how: 'does not know our address',
    prepare: (fake) => {
      fake.listed = false;
    },
    found: /although the credentials are/,
  },
  {
    id: 'transfer.ip',
    how: 'has transfers off',
    prepare: (fake) => fake.break(SEND, 'spring_403'),
    found: /feature_off/,
  },
  { id: 'transfer.repeat', how: 'pays a repetition', defects: ['pays_again'], found: /paid twice/ },
  {
    id: 'transfer.repeat',
    how: 'pays a repetition and reports no charge',
    defects: ['pays_again', 'no_charges'],
    found: /paid twice/,
  },
  { id: 'transfer.unknown', how: 'invents statuses', defects: ['invents_transfers'], found: /has a status/ },
  {
    id: 'transfer.unknown',
    how: 'has no words for it',
    options: { movesMoney: false },
    // The first is of auth.refresh.
    prepare: (fake) => fake.break(SUMMARY, 'code_99', { times: 2 }),
    found: /monnify/,
  },
  {
    id: 'transfer.unknown',
    how: 'does not find a new transfer',
    prepare: (fake) => {
      fake.hiddenFor = 5_000;
    },
    found: /not found within ten minutes/,
  },
  { id: 'transfer.kobo', how: 'rounds to naira', defects: ['rounds'], found: /another/ },
  { id: 'transfer.narration', how: 'accepts 30 characters', defects: ['short_narrations'], found: /Invalid narration/ },
  { id: 'transfer.twin', how: 'refuses twins', defects: ['refuses_twins'], found: /refused for good/ },
  { id: 'transfer.twin', how: 'has no guard', verdict: 'WARN', defects: ['no_guard'], found: /guard is expected/ },
  { id: 'statement', how: 'lists no transfer', defects: ['empty_statement'], found: /are not on it/ },
  { id: 'statement', how: 'lists each twice', defects: ['statement_twice'], found: /2 times/ },
  { id: 'limits', how: 'breaks down in a burst', defects: ['overload'], found: /not with a rate limit/ },
  { id: 'limits', how: 'limits the rate', verdict: 'WARN', defects: ['rate_limit'], found: /for their rate/ },
];

describe('finds a provider that', () => {
  test.each(CASES)('$how: $id', async ({ id, verdict = 'FAIL', found, ...change }) => {
    const { report, sent } = await run(change);
    expect(resultOf(report, id)).toMatchObject({
      verdict,
      found: expect.stringMatching(found),
      todo: expect.any(String),
    });
    expect(report.passed).toBe(!report.checks.some((one) => one.verdict === 'FAIL') && !isRequired(report.untried));
    expect(Number(sent)).toBeLessThanOrEqual(MONEY_MAX);
  });

  test('every check is among them', () => {
    const seen = new Set(CASES.filter(({ verdict = 'FAIL' }) => verdict === 'FAIL').map(({ id }) => id));
    expect([...seen].toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
  });
});

test('a wrong secret may be forbidden, and an enquiry at an unknown bank refused', async () => {
  const { report } = await run({ defects: ['secret_403', 'refuses_banks'] });
  expect(verdictsOf(report)).toMatchObject({ 'auth.wrong_secret': 'PASS', 'resolve.unknown_bank': 'PASS' });
  expect(report.summary.FAIL).toBe(0);
});

describe('without', () => {
  test('leave to move money, no transfer is sent, and each check says how to allow it', async () => {
    const { report, fake } = await run({
      options: { movesMoney: false, payer: null, bvn: null },
    });
    expect(fake.book.transfers.size).toBe(0);
    expect(verdictsOf(report)).toMatchObject({
      'transfer.ok': 'SKIP',
      'transfer.twin': 'SKIP',
      'credit.simulated': 'SKIP',
    });
    expect(resultOf(report, 'transfer.ok')?.todo).toContain('--live --yes-move-money');
    expect([report.passed, report.summary.FAIL]).toEqual([true, 0]);
    const skipped = report.checks.filter(({ verdict }) => verdict === 'SKIP').map(({ id }) => id);
    expect(report.untried).toEqual(skipped);
    expect(skipped).toContain('transfer.ok');
    expect(CHECKS.filter(isOptional).map(({ id }) => id)).toEqual(skipped);
  });

  test('an account of ours, name enquiry is not tried, and the run does not pass although nothing failed', async () => {
    const { report } = await run({ options: { to: null, movesMoney: false } });
    expect([report.passed, report.summary.FAIL]).toEqual([false, 0]);
    expect(report.untried).toEqual(expect.arrayContaining(['resolve.ok', 'limits', 'transfer.ok']));
  });

  test('a balance, transfers are tried all the same', async () => {
    const { report } = await run({ reportsBalance: false });
    expect(verdictsOf(report)).toMatchObject({ balance: 'WARN', 'transfer.ok': 'PASS', 'transfer.repeat': 'PASS' });
  });

  test('a login, nothing else is tried', async () => {
    const { report } = await run({ prepare: (fake) => fake.break('POST /api/v1/auth/login', 'code_99', { times: 9 }) });
    expect(report.summary).toEqual({ PASS: 0, WARN: 0, FAIL: 1, SKIP: CHECKS.length - 1 });
  });
});

test('a run never sends more than its limit, whatever its checks do', async () => {
  const { fake, now, rail, close } = await startMonnify();
  const contract = {
    id: newUuid(),
    organisationId: ORGANISATION,
    environment: 'live' as const,
    credentials: fake.credentials,
  };
  const harness = createContractHarness(monnify, contract, ALL, { now, pause: () => Promise.resolve() });
  const instruction = (reference: string, amount: number) => ({
    ...TO,
    organisationId: ORGANISATION,
    reference,
    amount,
    accountName: null,
    narration: null,
  });
  await harness.send(instruction('one', MONEY_MAX - 1));
  await harness.send(instruction('one', MONEY_MAX - 1));
  await expect(harness.send(instruction('two', 2))).rejects.toThrow(/too much money/);
  expect(fake.book.transfers.size).toBe(1);
  const poor = createContractHarness(
    monnify,
    contract,
    { ...ALL, movesMoney: false },
    { now, pause: () => Promise.resolve() },
  );
  await expect(poor.send(instruction('three', 1))).rejects.toThrow(/too much money/);
  await Promise.all([harness.close(), poor.close(), rail.close(), close()]);
});
