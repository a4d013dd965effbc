// Connections to a Temporal server behind TLS that demands a client certificate: flows run through it, a replaced
// certificate is taken into use, and what is refused says which settings to check.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { connect } from '../../src/temporal/connect.ts';
import { readProfile } from '../../src/temporal/profile.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type SecuredTemporal, startSecuredTemporal } from '../support/securedTemporal.ts';
import { testStack } from '../support/stack.ts';

let secured: SecuredTemporal;
let flows: TestFlows;

beforeAll(async () => {
  secured = await startSecuredTemporal();
  flows = await startTestFlows({ settings: secured.settings });
}, 120_000);

afterAll(async () => {
  await flows.close();
  await secured.close();
});

async function settleOne(): Promise<Resource> {
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  return await flows.untilStatus(`/payments/${payment.id}`, 'settled');
}

/** The message of a connection with these settings in place of some of the right ones. */
async function refusal(settings: Record<string, string>, kind: typeof Connection | typeof NativeConnection) {
  const { address = '', credentials } = readProfile({ ...secured.settings, ...settings });
  const target = { address, namespace: 'default', credentials: () => credentials };
  const options = kind === Connection ? { connectTimeout: 2_000 } : {};
  return await connect(kind as typeof Connection, target, options).then(
    () => 'connected',
    (error: Error) => error.message,
  );
}

const NO_CERTIFICATE = { TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' };

test('a flow runs through TLS with a client certificate', async () => {
  expect(await settleOne()).toMatchObject({ status: 'settled' });
  expect(flows.dependencies.config.temporal.address).toBe(secured.address);
});

test.each([
  ['client', Connection],
  ['worker', NativeConnection],
] as const)('the connection of a %s that is not admitted says what to check', async (_, kind) => {
  const wrong: Record<string, string>[] = [
    NO_CERTIFICATE,
    { TEMPORAL_TLS: 'false' },
    { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' },
    { TEMPORAL_TLS_SERVER_NAME: 'other.example' },
    { TEMPORAL_ADDRESS: testStack().temporalAddress },
  ];
  for (const settings of wrong) {
    expect(await refusal(settings, kind)).toMatch(
      /unreachable at .*TEMPORAL_ADDRESS, TEMPORAL_TLS and the certificates/,
    );
  }
});

test('a worker takes a replaced certificate into use without a restart', async () => {
  await secured.replaceClientCa();
  expect(await settleOne()).toMatchObject({ status: 'settled' });
}, 60_000);
