// The simulation routes: what an integrator makes the sandbox bank do, and that it stays within the test host and the
// caller's own organisation.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;
let clock: ReturnType<TestApi['services']['sandboxBank']['clock']>;

beforeAll(async () => {
  api = await startTestApi();
  clock = api.services.sandboxBank.clock();
  clock.start();
});

afterAll(async () => {
  await clock.stop();
  await api.close();
});

const put = (accountNumber: string, body: unknown) =>
  api.test.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body });
const resolve = (reference: string, outcome: unknown, client = api.test) =>
  client.post(`/simulations/bank-transfers/${reference}/resolve`, { outcome });

/** Has the sandbox bank take a transfer, as a withdrawal's flow would. Its reference. */
async function send(accountNumber: string, reference = publicId('withdrawal', newUuid())): Promise<string> {
  await api.services.rails.of('test')?.sendTransfer({
    organisationId: api.organisation.organisationId,
    reference,
    amount: 250_000,
    accountNumber,
    bankCode: '058',
    accountName: null,
    narration: null,
  });
  return reference;
}

const untilTransfer = (reference: string, status: string) =>
  waitFor(`${reference} to be ${status}`, async () => {
    const { data } = await api.test.get(`/simulations/bank-transfers/${reference}`);
    return data.status === status && data;
  });

describe('PUT /simulations/bank-accounts/:accountNumber', () => {
  test('200: the account behaves so from now on, and has the name', async () => {
    const { status, data } = await put('2000000001', { bankCode: '058', name: 'ADA OBI', behaviour: 'reject' });
    expect(status).toBe(200);
    expect(data).toEqual({ accountNumber: '2000000001', bankCode: '058', name: 'ADA OBI', behaviour: 'reject' });
    const named = await api.test.get('/bank-accounts/resolve?accountNumber=2000000001&bankCode=058');
    expect(named.data).toMatchObject({ accountName: 'ADA OBI' });
    await untilTransfer(await send('2000000001'), 'failed');
  });

  test('200: without a bank it holds for every bank, without a name the usual one stays', async () => {
    const { data } = await put('2000000002', { behaviour: 'return' });
    const named = await api.test.get('/bank-accounts/resolve?accountNumber=2000000002&bankCode=044');
    expect(data).toEqual({
      accountNumber: '2000000002',
      bankCode: null,
      name: named.data.accountName,
      behaviour: 'return',
    });
  });

  test('200: an account that is set to complete lets go of what it holds', async () => {
    await put('2000000003', { behaviour: 'hold' });
    const reference = await send('2000000003');
    await put('2000000003', { behaviour: 'complete' });
    expect(await untilTransfer(reference, 'completed')).toMatchObject({ timesPaid: 1 });
  });

  test.each([
    ['no behaviour', '2000000004', {}, 'behaviour'],
    ['an unknown behaviour', '2000000004', { behaviour: 'explode' }, 'behaviour'],
    ['an unknown key', '2000000004', { behaviour: 'hold', delayMs: 5 }, 'delayMs'],
    ['an empty name', '2000000004', { behaviour: 'hold', name: '' }, 'name'],
    ['a name with a NUL', '2000000004', { behaviour: 'hold', name: 'A\0B' }, 'name'],
    ['a bank code that is none', '2000000004', { behaviour: 'hold', bankCode: 'GTB' }, 'bankCode'],
    ['an account number that is none', '20000', { behaviour: 'hold' }, 'accountNumber'],
    ['an account number with a NUL', '200000000%00', { behaviour: 'hold' }, 'accountNumber'],
  ])('400: %s', async (_name, accountNumber, body, field) => {
    const { status, error } = await put(accountNumber, body);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ field })]);
  });

  test('422 BANK_CODE_UNKNOWN', async () => {
    const { status, error } = await put('2000000004', { bankCode: '998', behaviour: 'hold' });
    expect([status, error.code]).toEqual([422, 'BANK_CODE_UNKNOWN']);
  });
});

describe('POST /simulations/bank-transfers/:reference/resolve', () => {
  test.each([
    ['complete', 'completed', null, 1, 0],
    ['reject', 'failed', 'The receiving bank rejected the transfer', 0, 0],
    ['return', 'returned', 'The receiving bank returned the money', 1, 1],
  ])('200: %s makes a held transfer %s', async (outcome, wanted, reason, timesPaid, timesReturned) => {
    const reference = await send('9999999003');
    const { status, data } = await resolve(reference, outcome);
    expect(status).toBe(200);
    expect(data).toEqual({
      reference,
      status: wanted,
      amount: 250_000,
      currency: 'NGN',
      accountNumber: '9999999003',
      bankCode: '058',
      sessionId: expect.stringMatching(/^[0-9]{30}$/),
      reason,
      timesSent: 1,
      timesPaid,
      timesReturned,
    });
    expect((await api.test.get(`/simulations/bank-transfers/${reference}`)).data).toEqual(data);
  });

  test('200: the same outcome again, and a late return', async () => {
    const reference = await send('9999999003');
    const first = await resolve(reference, 'complete');
    expect((await resolve(reference, 'complete')).data).toEqual(first.data);
    expect((await resolve(reference, 'return')).data).toMatchObject({ status: 'returned', timesReturned: 1 });
  });

  test('409 BANK_TRANSFER_ENDED tells how it stands', async () => {
    const reference = await send('9999999003');
    await resolve(reference, 'reject');
    const { status, error } = await resolve(reference, 'complete');
    expect([status, error.code, error.type]).toEqual([409, 'BANK_TRANSFER_ENDED', 'conflict_error']);
    expect(error.details).toEqual({ reference, status: 'failed', outcome: 'complete' });
  });

  test.each([
    ['an unknown outcome', { outcome: 'explode' }, 'outcome'],
    ['no outcome', {}, 'outcome'],
    ['an unknown key', { outcome: 'complete', reason: 'because' }, 'reason'],
  ])('400: %s', async (_name, body, field) => {
    const { status, error } = await api.test.post('/simulations/bank-transfers/any/resolve', body);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ field })]);
  });

  test('200: a transfer that the flow has yet to give to the bank is waited for', async () => {
    const reference = publicId('withdrawal', newUuid());
    const { id, key } = await api.createKey(api.organisation.organisationId);
    const early = resolve(reference, 'complete', api.client(key));
    await waitFor('the request to be let in', async () => {
      const [counter] = await api.sql`SELECT FROM rate_counters WHERE api_key_id = ${id}`;
      return counter !== undefined;
    });
    await send('9999999003', reference);
    expect((await early).data).toMatchObject({ reference, status: 'completed' });
  });

  test.each([
    ['that nobody sent', publicId('withdrawal', newUuid())],
    ['of no form', '%00'],
    ['longer than any', 'a'.repeat(500)],
  ])('404 BANK_TRANSFER_NOT_FOUND: a reference %s', async (_name, reference) => {
    const { status, error } = await resolve(reference, 'complete');
    expect([status, error.code]).toEqual([404, 'BANK_TRANSFER_NOT_FOUND']);
    expect(error.details).toEqual({ resource: 'bank_transfer', id: decodeURIComponent(reference) });
  });

  test("404: another organisation's transfer reads as one that is not there, and stays as it is", async () => {
    const reference = await send('9999999003');
    const stranger = await api.createOrganisation();
    expect((await resolve(reference, 'reject', stranger.test)).error.code).toBe('BANK_TRANSFER_NOT_FOUND');
    expect((await stranger.test.get(`/simulations/bank-transfers/${reference}`)).status).toBe(404);
    expect((await api.test.get(`/simulations/bank-transfers/${reference}`)).data.status).toBe('processing');
  });

  test('404: a transfer that was lost on the way is not in the books', async () => {
    const reference = publicId('withdrawal', newUuid());
    await expect(send('9999999005', reference)).rejects.toMatchObject({ timedOut: true });
    expect((await resolve(reference, 'complete')).error.code).toBe('BANK_TRANSFER_NOT_FOUND');
  });
});

describe('POST /simulations/inbound-credits', () => {
  test('201: money arrives, under a session id of its own unless one is given', async () => {
    const { status, data } = await api.test.post('/simulations/inbound-credits', {
      accountNumber: '6000000001',
      amount: 5_000,
      senderName: 'Bola Ade',
    });
    expect(status).toBe(201);
    expect(data).toEqual({
      sessionId: expect.stringMatching(/^[0-9]{30}$/),
      accountNumber: '6000000001',
      amount: 5_000,
      currency: 'NGN',
      senderName: 'Bola Ade',
      senderAccountNumber: '0123456789',
      senderBankCode: '058',
      receivedAt: expect.stringMatching(/Z$/),
    });
  });

  test('201: the same session id again is the same credit, whatever else it says', async () => {
    const first = { accountNumber: '6000000001', amount: 5_000, sessionId: 'session-1' };
    const { data } = await api.test.post('/simulations/inbound-credits', first);
    const again = await api.test.post('/simulations/inbound-credits', { ...first, amount: 9_000 });
    expect([again.status, again.data]).toEqual([201, data]);
  });

  test.each([
    ['no account number', { amount: 1 }, 'accountNumber'],
    ['a fraction of a kobo', { accountNumber: '6000000001', amount: 0.5 }, 'amount'],
    ['an amount in words', { accountNumber: '6000000001', amount: '500' }, 'amount'],
    ['a session id with a space', { accountNumber: '6000000001', amount: 1, sessionId: 'a b' }, 'sessionId'],
    ['an unknown key', { accountNumber: '6000000001', amount: 1, currency: 'NGN' }, 'currency'],
  ])('400: %s', async (_name, body, field) => {
    const { status, error } = await api.test.post('/simulations/inbound-credits', body);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ field })]);
  });
});

describe('every simulation', () => {
  const ROUTES = [
    ['POST', '/simulations/inbound-credits', { accountNumber: '6000000001', amount: 1 }],
    ['PUT', '/simulations/bank-accounts/2000000001', { behaviour: 'complete' }],
    ['GET', '/simulations/bank-transfers/x', undefined],
    ['POST', '/simulations/bank-transfers/x/resolve', { outcome: 'complete' }],
  ] as const;

  test.each(ROUTES)('404 ROUTE_NOT_FOUND on the live host: %s %s', async (method, path, body) => {
    const { status, error } = await api.live.call(method, path, { body });
    expect([status, error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });

  test.each(ROUTES)('401 without a key: %s %s', async (method, path, body) => {
    const { status, error } = await api.client(null).call(method, path, { body });
    expect([status, error.code]).toEqual([401, 'API_KEY_MISSING']);
  });

  test('is open to any test key, whatever its scopes', async () => {
    const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['webhook'] });
    for (const [method, path, body] of ROUTES) {
      const { status } = await api.client(key).call(method, path, { body });
      expect([200, 201, 404]).toContain(status);
    }
  });
});
