// With traces on, each request to Monnify is a span with the pattern of its path, and nothing of what was sent or
// received: no identity number, credential, account number, name or reference.
import { expect, test } from '@jest/globals';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { inSpan, startTracing } from '../../../src/telemetry/tracing.ts';
import { startCollector } from '../../traces/collector.ts';
import { BVN, failureOf, instruct, ORGANISATION, permanent, startMonnify } from './harness.ts';

test('spans of requests have patterns and codes only', async () => {
  const collector = await startCollector();
  const harness = await startMonnify();
  const tracing = { url: `${collector.url}/v1/traces`, ratio: 1, serviceName: '' };
  const stopTracing = await startTracing(tracing, 'test');
  const request = permanent();
  const instruction = instruct();
  await inSpan('test', { kind: 'internal', root: true }, async () => {
    await harness.rail.openVirtualAccount(request);
    await harness.rail.sendTransfer(instruction);
    harness.fake.break('GET /api/v2/disbursements/single/summary', 'code_99');
    const { reference } = instruction;
    await failureOf(harness.rail.transferStatus({ organisationId: ORGANISATION, reference }));
    harness.fake.break('GET /api/v2/disbursements/single/summary', 'reset');
    await failureOf(harness.rail.transferStatus({ organisationId: ORGANISATION, reference }));
  });
  await stopTracing();

  const requests = collector.spans.filter(({ attributes }) => attributes['url.template'] !== undefined);
  expect(requests.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual(
    expect.arrayContaining([
      ['POST /api/v1/auth/login', 200],
      ['POST /api/v2/bank-transfer/reserved-accounts', 200],
      ['POST /api/v2/disbursements/single', 200],
      ['GET /api/v2/disbursements/single/summary', 400],
      ['GET /api/v2/disbursements/single/summary', undefined],
    ]),
  );
  const { secretKey, apiKey, walletAccountNumber } = FAKE_CREDENTIALS;
  const { accountNumber, reference } = instruction;
  const words = [
    BVN,
    secretKey,
    apiKey,
    walletAccountNumber,
    accountNumber,
    reference,
    request.reference,
    'OBI',
    'eyJhbG',
  ];
  expect(words.filter((word) => collector.text().includes(word))).toEqual([]);
  await collector.close();
  await harness.close();
});
