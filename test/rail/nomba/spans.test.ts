// With traces on, each request to Nomba is a span with the pattern of its path, and nothing of what was sent or
// received: no credential, token, account number, name or reference.
import { expect, test } from '@jest/globals';
import { NombaFake } from '../../../dev/nomba/fake.ts';
import { FAKE_CREDENTIALS } from '../../../dev/nomba/fakeCredentials.ts';
import { createNombaRail } from '../../../src/rail/nomba/rail.ts';
import type { AccountRequest } from '../../../src/rail/port.ts';
import { inSpan, startTracing } from '../../../src/telemetry/tracing.ts';
import { startCollector } from '../../traces/collector.ts';
import { INSTRUCTION } from './documented.ts';

const BVN = '22222222226';
const { organisationId, reference } = INSTRUCTION;
const REQUEST: AccountRequest = {
  kind: 'permanent',
  organisationId,
  reference: 'svc_01kb0000000000000000000001_wlt',
  holder: { name: 'ADA OBI', email: 'ada@example.com', bvn: BVN },
};

test('spans of requests have patterns and codes only', async () => {
  const collector = await startCollector();
  const fake = await new NombaFake().start();
  const rail = createNombaRail(fake.credentials);
  const tracing = { url: `${collector.url}/v1/traces`, ratio: 1, serviceName: '' };
  const stopTracing = await startTracing(tracing, 'test');
  await inSpan('test', { kind: 'internal', root: true }, async () => {
    const { accountNumber } = await rail.openVirtualAccount(REQUEST);
    const sessionId = fake.pay(accountNumber, 50_000n) ?? '';
    await rail.findInboundCredit({ organisationId, sessionId, accountReference: null });
    await rail.resolveAccount(INSTRUCTION);
    await rail.sendTransfer(INSTRUCTION);
    fake.break('POST /v1/transactions/accounts', 'code_99', false);
    await expect(rail.transferStatus({ organisationId, reference })).rejects.toThrow(
      'nomba: POST /v1/transactions/accounts',
    );
    fake.break('POST /v1/transactions/accounts', 'reset', false);
    await expect(rail.transferStatus({ organisationId, reference })).rejects.toThrow(
      'nomba: POST /v1/transactions/accounts',
    );
  });
  await stopTracing();

  const requests = collector.spans.filter(({ attributes }) => attributes['url.template'] !== undefined);
  expect(requests.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual(
    expect.arrayContaining([
      ['POST /v1/auth/token/issue', 200],
      ['POST /v1/accounts/virtual', 200],
      ['GET /v1/transactions/requery/{sessionId}', 200],
      ['POST /v1/transfers/bank/lookup', 200],
      ['POST /v2/transfers/bank', 200],
      ['POST /v1/transactions/accounts', 400],
      ['POST /v1/transactions/accounts', undefined],
    ]),
  );
  const { clientId, clientSecret, accountId, signatureKey } = FAKE_CREDENTIALS;
  const numbers = fake.rows.flatMap(({ recipient, sessionId, id }) => [recipient, sessionId, id]);
  const words = [
    clientId,
    clientSecret,
    accountId,
    signatureKey,
    'eyJhbG',
    BVN,
    'OBI',
    'EZE',
    'ada@',
    '2348012345678',
    '0065432190',
    INSTRUCTION.accountNumber,
    INSTRUCTION.narration,
    reference,
    REQUEST.reference,
    ...numbers,
  ];
  expect(words.filter((word) => collector.text().includes(word))).toEqual([]);
  await rail.close();
  await fake.close();
  expect(fake.complaints).toEqual([]);
  await collector.close();
});
