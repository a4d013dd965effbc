// Contracts with providers: connected, rotated and disconnected by the command line, used by the API, and called back
// at an address of their own. The provider here is the sandbox bank under another name.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { ConnectedContracts } from '../../src/rail/contracts.ts';
import type { Credentials, RailProvider } from '../../src/rail/provider.ts';
import { type ContractDirectory, Rails } from '../../src/rail/rails.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import { findPayoutWallets } from '../../src/resources/payouts/queries.ts';
import { type Ended, runCli } from '../cli/run.ts';
import { startTestApi, type TestApi, type TestOrganisation } from '../support/api.ts';
import { addProvider, removeProviders } from '../support/providers.ts';

const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
const API_KEY = 'pocket-key-of-the-test';
const OTHER_KEY = 'another-key-of-the-test';

let api: TestApi;
let contracts: ConnectedContracts;
/** The credentials with which each rail was made, in order. */
const opened: Credentials[] = [];

/** A new process's view of the contracts: nothing is remembered. */
function readAgain({ sql = api.sql, checkRequired = false } = {}): ConnectedContracts {
  const { keyring } = api.dependencies;
  return new ConnectedContracts({ sql, keyring, guard: (rail) => rail, checkRequired });
}

beforeAll(async () => {
  const current: ContractDirectory = {
    ofBook: (book) => contracts.ofBook(book),
    accepts: (book) => contracts.accepts(book),
    ofContract: (environment, id) => contracts.ofContract(environment, id),
    names: (environment) => contracts.names(environment),
  };
  api = await startTestApi({ rails: (rails) => new Rails({ test: rails.shared('test') ?? undefined }, current) });
  const { sandboxBank, keyring } = api.dependencies;
  const pocket: RailProvider = {
    name: 'pocket',
    version: '2',
    capabilities: sandboxBank.capabilities,
    credentials: z.object({
      apiKey: z.string().min(8).describe('the API key'),
      baseUrl: z.string().default('https://pocket.example'),
    }),
    isSandbox: () => false,
    open: ({ credentials }) => {
      opened.push(credentials);
      return { ...createSandboxRail(sandboxBank, keyring), name: 'pocket', close: () => Promise.resolve() };
    },
  };
  addProvider(pocket);
  contracts = readAgain();
});

afterAll(async () => {
  removeProviders();
  await api.close();
});

const cli = (
  organisation: TestOrganisation,
  command: string,
  more: Record<string, string> = {},
  words: string[] = [],
): Promise<Ended> =>
  runCli(
    `rail ${command} --environment live --reason why --json --organisation ${publicId('organisation', organisation.organisationId)}`
      .split(' ')
      .concat(words),
    { databaseUrl: api.databaseUrl, home: tmpdir(), more: { MANILLA_KEYS: KEYS, ...more } },
  );

const credentials = (apiKey: string) => ({ RAIL_CREDENTIALS: JSON.stringify({ apiKey }) });

async function connected(): Promise<TestOrganisation & { contract: string; callbackPath: string }> {
  const organisation = await api.createOrganisation();
  const { exitCode, output, errors } = await cli(organisation, 'connect pocket', credentials(API_KEY));
  expect([exitCode, errors]).toEqual([0, '']);
  contracts = readAgain();
  return { ...organisation, ...(JSON.parse(output) as { contract: string; callbackPath: string }) };
}

const bookOf = ({ organisationId }: { organisationId: Uuid }) => ({ organisationId, environment: 'live' as const });

const pay = ({ live, liveSettlementWalletId }: TestOrganisation) =>
  live.money('/payments', { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: liveSettlementWalletId });

describe('a connected contract', () => {
  test('serves its organisation on live, and no other', async () => {
    const organisation = await connected();
    const { status, data } = await pay(organisation);
    expect([status, data.acceptsAmount]).toEqual([201, 'any']);
    const [account] =
      await api.sql`SELECT rail FROM virtual_accounts WHERE organisation_id = ${organisation.organisationId}`;
    expect(account).toEqual({ rail: 'pocket' });
    const other = await api.createOrganisation();
    expect((await pay(other)).error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { service: 'bank_rail' } });
    expect((await api.live.get('/health')).data).toMatchObject({ checks: { rail: 'pocket' } });
  });

  test('is called back at its own address: another contract or organisation at it is rejected', async () => {
    const organisation = await connected();
    const { organisationId } = organisation;
    const body = JSON.stringify({ type: 'transfer_update', contract: organisationId, reference: 'unknown' });
    const headers = { [SIGNATURE_HEADER]: signCallback(api.dependencies.keyring, body, new Date()) };
    const call = async (contract: string) =>
      (await api.client(null, 'live').call('POST', `/rails/pocket/callbacks/${contract}`, { body, headers })).status;
    expect(organisation.callbackPath).toBe(`/v1/rails/pocket/callbacks/${organisation.contract}`);
    expect(await call(organisation.contract)).toBe(200);
    const stranger = await connected();
    expect(await call(stranger.contract)).toBe(401);
    expect(await call(publicId('railContract', newUuid()))).toBe(404);
    expect(await call(publicId('organisation', organisationId))).toBe(404);
  });

  test('is found beside a flood of unknown addresses, which a few statements look up', async () => {
    const { contract, organisationId } = await connected();
    let statements = 0;
    const sql = new Proxy(api.sql, {
      apply: (target, self, args) => {
        statements += 1;
        return Reflect.apply(target, self, args);
      },
    });
    const directory = readAgain({ sql });
    const unknown = Array.from({ length: 5_000 }, () => directory.ofContract('live', newUuid()));
    const known = directory.ofContract('live', requireUuid('railContract', contract));
    expect(new Set(await Promise.all(unknown))).toEqual(new Set([null]));
    expect((await known)?.organisationId).toBe(organisationId);
    expect(statements).toBeLessThan(30);
  });

  test('its credentials are sealed, bound to it, and in no output, log line or audit entry', async () => {
    const organisation = await connected();
    const [row] = await api.sql<{ id: Uuid; sealed: string }[]>`
      SELECT id, sealed FROM rail_contracts WHERE organisation_id = ${organisation.organisationId}`;
    const { id = '', sealed = '' } = row ?? {};
    const open = (context: string) => api.dependencies.keyring.open('rail-credentials', context, sealed);
    expect(JSON.parse(open(id))).toEqual({ apiKey: API_KEY, baseUrl: 'https://pocket.example' });
    expect(() => open(newUuid())).toThrow(/authenticate/);
    const shown = await runCli(['rail', 'show'], { databaseUrl: api.databaseUrl, home: tmpdir() });
    expect(shown.output).toContain(organisation.contract);
    expect(shown.output).toContain('"amount":"any"');
    const audit =
      await api.sql`SELECT * FROM audit_log WHERE organisation_id = ${organisation.organisationId} AND action LIKE 'rail.%'`;
    expect(audit).toMatchObject([{ operator: 'ada', action: 'rail.connect', reason: 'why' }]);
    expect(`${sealed}${shown.output}${JSON.stringify(audit)}${api.logged.join('')}`).not.toContain(API_KEY);
  });

  test('is shown with what this version of the adapter can do', async () => {
    const organisation = await connected();
    const { output } = await runCli(['rail', 'show', '--json'], { databaseUrl: api.databaseUrl, home: tmpdir() });
    const [, live] = JSON.parse(output) as { contracts: Record<string, unknown>[] }[];
    const { capabilities } = api.dependencies.sandboxBank;
    expect(live?.contracts.find(({ contract }) => contract === organisation.contract)).toMatchObject({ capabilities });
  });

  test('is the only one of an organisation', async () => {
    const again = await cli(await connected(), 'connect pocket', credentials(API_KEY));
    expect([again.exitCode, again.errors]).toEqual([1, expect.stringMatching(/connected a provider already/)]);
  });

  test('rotated credentials are used from then on', async () => {
    const organisation = await connected();
    await contracts.ofBook(bookOf(organisation));
    const file = path.join(tmpdir(), `credentials-${newUuid()}.json`);
    writeFileSync(file, JSON.stringify({ apiKey: OTHER_KEY }), { mode: 0o600 });
    expect((await cli(organisation, 'rotate', {}, ['--credentials', file])).exitCode).toBe(0);
    const before = opened.length;
    contracts = readAgain();
    await contracts.ofBook(bookOf(organisation));
    await contracts.ofBook(bookOf(organisation));
    expect(opened.slice(before)).toEqual([{ apiKey: OTHER_KEY, baseUrl: 'https://pocket.example' }]);
  });
});

describe('commands that change nothing', () => {
  test.each([
    ['invalid credentials, whose values are not shown', 'connect pocket', credentials('short'), /invalid: apiKey\./],
    ['text that is no JSON', 'connect pocket', { RAIL_CREDENTIALS: 'short' }, /not valid JSON/],
    ['no credentials', 'connect pocket', {}, /RAIL_CREDENTIALS/],
    ['an unknown provider', 'connect nobody', credentials(API_KEY), /no adapter for nobody/],
    ['no keys of the service', 'connect pocket', { ...credentials(API_KEY), MANILLA_KEYS: '' }, /MANILLA_KEYS/],
    ['no contract', 'rotate', credentials(API_KEY), /no connected contract/],
    ['no contract', 'disconnect', {}, /no connected contract/],
  ])('%s: %s is refused', async (_case, command, more, message) => {
    const organisation = await api.createOrganisation();
    const { exitCode, errors } = await cli(organisation, command, more);
    expect(exitCode).not.toBe(0);
    expect(errors).toMatch(message);
    expect(errors).not.toContain('short');
    const rows = await api.sql`SELECT FROM rail_contracts WHERE organisation_id = ${organisation.organisationId}`;
    expect(rows.length).toBe(0);
  });
});

describe('rail disconnect', () => {
  test('accepts nothing new at once, and ends once nothing is on its way', async () => {
    const organisation = await connected();
    const { data: payment } = await pay(organisation);
    expect(JSON.parse((await cli(organisation, 'disconnect')).output)).toMatchObject({
      outcome: 'closing',
      onItsWay: 1,
    });
    contracts = readAgain();
    expect((await pay(organisation)).status).toBe(503);
    // What is on its way still has its rail.
    expect((await contracts.ofBook(bookOf(organisation)))?.name).toBe('pocket');
    const contractOf = api.sql`WHERE organisation_id = ${organisation.organisationId}`;
    await api.sql`UPDATE rail_contracts SET closing_at = now() - interval '1 minute' ${contractOf}`;
    expect(JSON.parse((await cli(organisation, 'disconnect')).output)).toMatchObject({
      outcome: 'closing',
      onItsWay: 1,
    });
    await api.sql`UPDATE payments SET status = 'expired' ${contractOf}`;
    expect(JSON.parse((await cli(organisation, 'disconnect')).output)).toMatchObject({ outcome: 'disconnected' });
    expect(await api.sql`SELECT sealed FROM rail_contracts ${contractOf}`).toEqual([{ sealed: null }]);
    expect(await readAgain().ofBook(bookOf(organisation))).toBeNull();
    expect((await api.live.get(`/payments/${payment.id}`)).status).toBe(404);
  });
});

test('the deposit account of a wallet is of the connected contract, and payouts to it never go to the number of another', async () => {
  const organisation = await connected();
  const path = `/wallets/${organisation.liveSettlementWalletId}/deposit-account`;
  const contractOf = async () =>
    (
      await api.sql<{ contractId: Uuid }[]>`
      SELECT contract_id FROM virtual_accounts WHERE organisation_id = ${organisation.organisationId} ORDER BY created_at`
    ).map(({ contractId }) => publicId('railContract', contractId));
  const numberAt = async () => {
    const rail = await contracts.ofBook(bookOf(organisation));
    if (rail === null) throw new Error('no contract is connected');
    const [wallet] = await findPayoutWallets(api.sql, bookOf(organisation), rail, []);
    return wallet?.depositAccount?.accountNumber ?? null;
  };
  const { data } = await organisation.live.get(path);
  expect([await contractOf(), await numberAt()]).toEqual([[organisation.contract], data.accountNumber]);
  await cli(organisation, 'disconnect');
  contracts = readAgain();
  expect((await organisation.live.get(path)).data).toEqual(data); // it still takes money
  await api.sql`
    UPDATE rail_contracts SET closing_at = now() - interval '1 minute'
    WHERE organisation_id = ${organisation.organisationId}`;
  expect(JSON.parse((await cli(organisation, 'disconnect')).output)).toMatchObject({ outcome: 'disconnected' });
  contracts = readAgain();
  expect((await organisation.live.get(path)).status).toBe(503);
  const next = JSON.parse((await cli(organisation, 'connect pocket', credentials(OTHER_KEY))).output);
  contracts = readAgain();
  expect(await numberAt()).toBeNull();
  expect((await organisation.live.get(path)).status).toBe(200);
  expect(await contractOf()).toEqual([organisation.contract, next.contract]);
  expect(await numberAt()).not.toBeNull();
});

test('with RAIL_CHECK=required nothing new is accepted until a check of these credentials with this version of the adapter has passed', async () => {
  const { organisationId } = await connected();
  const book = bookOf({ organisationId });
  const check = async (adapterVersion: string, passed: boolean, credentialsVersion: number | null = 2) => {
    await api.sql`
      INSERT INTO rail_checks (organisation_id, environment, id, contract_id, credentials_version, adapter_version, passed, report)
      SELECT organisation_id, environment, gen_random_uuid(), id, ${credentialsVersion}::int, ${adapterVersion}, ${passed}, '{}' FROM rail_contracts
      WHERE organisation_id = ${organisationId}`;
    return await readAgain({ checkRequired: true }).accepts(book);
  };
  expect([await readAgain().accepts(book), await readAgain({ checkRequired: true }).accepts(book)]).toEqual([
    true,
    false,
  ]);
  await api.sql`UPDATE rail_contracts SET version = 2 WHERE organisation_id = ${organisationId}`;
  expect(await check('2', true, 1)).toBe(false);
  expect(await check('2', true, null)).toBe(false);
  expect(await check('1', true)).toBe(false);
  expect(await check('2', false)).toBe(false);
  expect(await check('2', true)).toBe(true);
  expect((await readAgain({ checkRequired: true }).ofBook(book))?.name).toBe('pocket');
});
