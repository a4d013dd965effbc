// A Temporal server that admits by API key, as Temporal Cloud does, reached through a profile of a configuration file:
// flows run through it, a replaced key is taken into use, and a refusal says what to set.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { createLog } from '../../src/telemetry/log.ts';
import { connect } from '../../src/temporal/connect.ts';
import { createTemporalHealth } from '../../src/temporal/health.ts';
import { readProfile } from '../../src/temporal/profile.ts';
import { runCli } from '../cli/run.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type KeyedTemporal, startKeyedTemporal } from '../support/keyedTemporal.ts';
import { type SecuredTemporal, startSecuredTemporal } from '../support/securedTemporal.ts';
import { waitFor } from '../support/waitFor.ts';

let folder: string;
let keyed: KeyedTemporal;
let secured: SecuredTemporal;
let settings: Record<string, string>;
let flows: TestFlows;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'manilla-profile-'));
  keyed = await startKeyedTemporal();
  secured = await startSecuredTemporal({ behind: keyed.address, demandsCertificate: false });
  settings = {
    TEMPORAL_CONFIG_FILE: path.join(folder, 'temporal.toml'),
    TEMPORAL_PROFILE: 'cloud',
    TEMPORAL_ADDRESS: '',
  };
  await writeProfile('first-key');
  keyed.admit('first-key');
  flows = await startTestFlows({ settings });
}, 120_000);

afterAll(async () => {
  await flows.close();
  await secured.close();
  await keyed.close();
  await rm(folder, { recursive: true });
});

async function writeProfile(apiKey: string): Promise<void> {
  const text = `
    [profile.default]
    address = "127.0.0.1:1"

    [profile.cloud]
    address = "${secured.address}"
    namespace = "default"
    api_key = "${apiKey}"

    [profile.cloud.tls]
    server_ca_cert_path = "${secured.settings.TEMPORAL_TLS_SERVER_CA_CERT_PATH}"`;
  await writeFile(settings.TEMPORAL_CONFIG_FILE ?? '', text);
}

async function settleOne(): Promise<Resource> {
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  return await flows.untilStatus(`/payments/${payment.id}`, 'settled');
}

const target = (apiKey: string) => ({
  address: secured.address,
  namespace: 'default',
  credentials: () => readProfile({ ...settings, TEMPORAL_API_KEY: apiKey }).credentials,
});

test('a flow runs with the API key of a profile, and the log says where the process connected', async () => {
  expect(await settleOne()).toMatchObject({ status: 'settled' });
  const lines = flows.logged.filter((line) => line.includes('connected to Temporal'));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      temporal: { address: secured.address, namespace: 'default', tls: 'on', apiKey: 'set' },
    }),
  ]);
  expect(flows.logged.join()).not.toContain('first-key');
});

test.each([
  ['a client', Connection],
  ['a worker', NativeConnection],
] as const)('the wrong API key of %s is refused with what to set', async (_, kind) => {
  const attempt = connect(kind as typeof Connection, target('wrong-key'));
  await expect(attempt).rejects.toThrow(/refused access to the namespace default .*Set TEMPORAL_API_KEY/);
  await expect(attempt).rejects.not.toThrow(/wrong-key/);
});

test('a command with the wrong API key prints one line', async () => {
  const surroundings = { databaseUrl: flows.databaseUrl, home: folder, temporalAddress: secured.address };
  const ended = await runCli(['attention', 'list'], {
    ...surroundings,
    more: { ...settings, TEMPORAL_API_KEY: 'wrong-key', TEMPORAL_ADDRESS: secured.address },
  });
  expect(ended).toEqual({
    exitCode: 1,
    output: '',
    errors: expect.stringMatching(/^error: .*Set TEMPORAL_API_KEY.*\n$/),
  });
  const invalid = await runCli(['attention', 'list'], { ...surroundings, more: { TEMPORAL_TLS: 'yes' } });
  expect(invalid).toEqual({ exitCode: 1, output: '', errors: 'error: TEMPORAL_TLS: neither `true` nor `false`\n' });
});

test('worker and health check take a replaced API key into use without a restart', async () => {
  const { temporal } = flows.dependencies.config;
  const log = createLog('test', 'silent');
  const options = { log, timeoutMs: 10_000, searchAttributes: [], credentialsEveryMs: 50 };
  const health = createTemporalHealth(temporal, options);
  expect(await health.check()).toBe('ok');
  keyed.admit('first-key', 'second-key');
  await writeProfile('second-key');
  const inUse = 'the new credentials for Temporal are in use';
  await waitFor('the worker to use the new key', () => flows.logged.some((line) => line.includes(inUse)), 60_000);
  keyed.admit('second-key');
  expect(await settleOne()).toMatchObject({ status: 'settled' });
  expect(await health.check()).toBe('ok');
  await health.close();
}, 120_000);
