// The simulation routes: controlling the sandbox bank, on the test host only and within the caller's own organisation.
import { afterAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';
import { waitFor } from '../support/waitFor.ts';

const api = await startTestApi();
const clock: ReturnType<TestApi['dependencies']['sandboxBank']['clock']> = api.dependencies.sandboxBank.clock();
clock.start();

afterAll(async () => {
  await clock.stop();
  await api.close();
});

const put = (accountNumber: string, body: unknown) =>
  api.test.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body });
const resolve = (reference: string, outcome: unknown, client = api.test) =>
  client.post(`/simulations/bank-transfers/${reference}/resolve`, { outcome });

/** Sends a transfer through the sandbox bank, as the flow of a withdrawal would. Returns its reference. */
async function send(accountNumber: string, reference = publicId('withdrawal', newUuid())): Promise<string> {
  await api.dependencies.rails.shared('test')?.sendTransfer({
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
  test('setting a bank account returns its name and behaviour, and both apply to later requests', async () => {
    const { status, data } = await put('2000000001', { bankCode: '058', name: 'ADA OBI', behaviour: 'reject' });
    expect(status).toBe(200);
    expect(data).toEqual({ accountNumber: '2000000001', bankCode: '058', name: 'ADA OBI', behaviour: 'reject' });
    const named = await api.test.get('/bank-accounts/resolve?accountNumber=2000000001&bankCode=058');
    expect(named.data).toMatchObject({ accountName: 'ADA OBI' });
    await untilTransfer(await send('2000000001'), 'failed');
  });

  test('setting a bank account without a bank applies to every bank, and without a name keeps the default name', async () => {
    const { data } = await put('2000000002', { behaviour: 'return' });
    const named = await api.test.get('/bank-accounts/resolve?accountNumber=2000000002&bankCode=044');
    expect(data).toEqual({
      accountNumber: '2000000002',
      bankCode: null,
      name: named.data.accountName,
      behaviour: 'return',
    });
  });

  test("setting a bank account's behaviour to complete also completes its held transfers", async () => {
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
    ['a malformed bank code', '2000000004', { behaviour: 'hold', bankCode: 'GTB' }, 'bankCode'],
    ['a short account number', '20000', { behaviour: 'hold' }, 'accountNumber'],
    ['an account number with a NUL', '200000000%00', { behaviour: 'hold' }, 'accountNumber'],
  ])('setting a bank account with %s is 400', async (_name, accountNumber, body, field) => {
    expectInvalid(await put(accountNumber, body), field);
  });

  test('setting a bank account at an unknown bank is 422 BANK_CODE_UNKNOWN', async () => {
    expectError(await put('2000000004', { bankCode: '998', behaviour: 'hold' }), 422, 'BANK_CODE_UNKNOWN');
  });
});

describe('POST /simulations/bank-transfers/:reference/resolve', () => {
  test.each([
    ['complete', 'completed', null, 1, 0],
    ['reject', 'failed', 'The receiving bank rejected the transfer', 0, 0],
    ['return', 'returned', 'The receiving bank returned the money', 1, 1],
  ])(
    'resolving a held transfer with %s makes it %s',
    async (outcome, statusExpected, reason, timesPaid, timesReturned) => {
      const reference = await send('9999999003');
      const { status, data } = await resolve(reference, outcome);
      expect(status).toBe(200);
      expect(data).toEqual({
        reference,
        status: statusExpected,
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
    },
  );

  test('resolving with the same outcome again changes nothing, and a completed transfer can still be returned', async () => {
    const reference = await send('9999999003');
    const first = await resolve(reference, 'complete');
    expect((await resolve(reference, 'complete')).data).toEqual(first.data);
    expect((await resolve(reference, 'return')).data).toMatchObject({ status: 'returned', timesReturned: 1 });
  });

  test('a recall takes back a credit of the organisation once, and any other session id is 404', async () => {
    const credit = { accountNumber: '1234567890', amount: 5_000, sessionId: 'to-be-recalled' };
    expect((await api.test.post('/simulations/inbound-credits', credit)).status).toBe(201);
    const path = '/simulations/inbound-credits/to-be-recalled/recall';
    const { status, data } = await api.test.post(path);
    expect([status, data]).toEqual([200, { ...credit, currency: 'NGN', recalledAt: expect.stringMatching(/^20/) }]);
    expect((await api.test.post(path)).data).toEqual(data);
    const other = api.client((await api.createKey((await api.createOrganisation()).organisationId)).key);
    expectError(await other.post(path), 404, 'INBOUND_CREDIT_NOT_FOUND');
    const unknown = await api.test.post('/simulations/inbound-credits/unknown/recall');
    expectError(unknown, 404, 'INBOUND_CREDIT_NOT_FOUND');
  });

  test('resolving an ended transfer is 409 BANK_TRANSFER_ENDED with its status', async () => {
    const reference = await send('9999999003');
    await resolve(reference, 'reject');
    const details = { reference, status: 'failed', outcome: 'complete' };
    expectError(await resolve(reference, 'complete'), 409, 'BANK_TRANSFER_ENDED', details);
  });

  test.each([
    ['an unknown outcome', { outcome: 'explode' }, 'outcome'],
    ['no outcome', {}, 'outcome'],
    ['an unknown key', { outcome: 'complete', reason: 'because' }, 'reason'],
  ])('resolving with %s is 400', async (_name, body, field) => {
    expectInvalid(await api.test.post('/simulations/bank-transfers/any/resolve', body), field);
  });

  test('resolving waits for a transfer that the flow has not yet sent to the bank', async () => {
    const reference = publicId('withdrawal', newUuid());
    const { id, key } = await api.createKey(api.organisation.organisationId);
    const resolving = resolve(reference, 'complete', api.client(key));
    await waitFor('the request to be admitted', async () => {
      const [counter] = await api.sql`SELECT FROM rate_counters WHERE api_key_id = ${id}`;
      return counter !== undefined;
    });
    await send('9999999003', reference);
    expect((await resolving).data).toMatchObject({ reference, status: 'completed' });
  });

  test.each([
    ['unknown', publicId('withdrawal', newUuid())],
    ['malformed', '%00'],
    ['too long', 'a'.repeat(500)],
  ])('resolving a reference that is %s is 404 BANK_TRANSFER_NOT_FOUND', async (_name, reference) => {
    const answer = await resolve(reference, 'complete');
    expectError(answer, 404, 'BANK_TRANSFER_NOT_FOUND', {
      resource: 'bank_transfer',
      id: decodeURIComponent(reference),
    });
  });

  test("resolving another organisation's transfer is 404 and leaves it unchanged", async () => {
    const reference = await send('9999999003');
    const other = await api.createOrganisation();
    expect((await resolve(reference, 'reject', other.test)).error.code).toBe('BANK_TRANSFER_NOT_FOUND');
    expect((await other.test.get(`/simulations/bank-transfers/${reference}`)).status).toBe(404);
    expect((await api.test.get(`/simulations/bank-transfers/${reference}`)).data.status).toBe('processing');
  });

  test('resolving a transfer that was lost before the bank stored it is 404', async () => {
    const reference = publicId('withdrawal', newUuid());
    await expect(send('9999999005', reference)).rejects.toMatchObject({ timedOut: true });
    expect((await resolve(reference, 'complete')).error.code).toBe('BANK_TRANSFER_NOT_FOUND');
  });
});

describe('POST /simulations/statement-lines', () => {
  test('the lines of the bank and credits without a callback are on its statement, in its list and in its balance', async () => {
    const organisation = await api.createOrganisation();
    const { test: client, organisationId } = organisation;
    const charge = await client.post('/simulations/statement-lines', { kind: 'charge', amount: 1_500 });
    expect([charge.status, charge.data]).toEqual([
      201,
      {
        kind: 'charge',
        reference: expect.stringMatching(/^[0-9]{30}$/),
        amount: 1_500,
        currency: 'NGN',
        at: expect.any(String),
      },
    ]);
    await client.post('/simulations/statement-lines', { kind: 'settlement', amount: 200 });
    await client.post('/simulations/statement-lines', { kind: 'interest', amount: 30 });
    await client.post('/simulations/inbound-credits', { accountNumber: '6000000001', amount: 9_000, callback: false });
    expect(await api.sql`SELECT FROM sandbox_bank.callbacks WHERE organisation_id = ${organisationId}`).toHaveLength(0);
    const rail = api.dependencies.rails.shared('test') as BankRail;
    const from = new Date(Date.now() - 60_000);
    const statement = { organisationId, from, to: new Date(Date.now() + 60_000), cursor: null };
    const { lines, closingBalance } = await rail.statement(statement);
    expect(lines.map(({ kind, amount }) => `${kind} ${amount}`)).toEqual([
      'charge 1500',
      'settlement 200',
      'interest 30',
      'credit 9000',
    ]);
    expect(closingBalance).toBe(9_000 - 1_500 - 200 + 30);
    const list = await rail.listInboundCredits({ organisationId, from, to: statement.to, cursor: null });
    expect(list).toMatchObject({ credits: [{ accountNumber: '6000000001', amount: 9_000 }], nextCursor: null });
    expect((await rail.listInboundCredits({ organisationId, from, to: from, cursor: null })).credits).toEqual([]);
  });

  test('a list of credits has pages, in which each credit is once', async () => {
    const { organisationId } = await api.createOrganisation();
    await api.sql`
      INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount)
      SELECT ${organisationId}, 's' || n, '6000000001', 1 FROM generate_series(1, 1500) n`;
    const rail = api.dependencies.rails.shared('test') as BankRail;
    const request = { organisationId, from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) };
    const first = await rail.listInboundCredits({ ...request, cursor: null });
    const second = await rail.listInboundCredits({ ...request, cursor: first.nextCursor });
    expect([first.credits.length, second.credits.length, second.nextCursor]).toEqual([1_000, 500, null]);
    expect(new Set([...first.credits, ...second.credits].map(({ sessionId }) => sessionId)).size).toBe(1_500);
  });
});

describe('POST /simulations/inbound-credits', () => {
  test('an inbound credit is 201, with a generated session id unless one is given', async () => {
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

  test('an inbound credit with a known session id is the same credit, and with other fields 409', async () => {
    const first = { accountNumber: '6000000001', amount: 5_000, sessionId: 'session-1' };
    const { data } = await api.test.post('/simulations/inbound-credits', first);
    const again = await api.test.post('/simulations/inbound-credits', first);
    expect([again.status, again.data]).toEqual([201, data]);
    for (const other of [{ amount: 9_000 }, { accountNumber: '6000000002' }, { senderName: 'Bola Ade' }]) {
      const { status, error } = await api.test.post('/simulations/inbound-credits', { ...first, ...other });
      expect([status, error.code, error.details]).toEqual([
        409,
        'REFERENCE_TAKEN',
        { resource: 'inbound_credit', reference: 'session-1', id: 'session-1' },
      ]);
    }
  });

  test.each([
    ['no account number', { amount: 1 }, 'accountNumber'],
    ['a fraction of a kobo', { accountNumber: '6000000001', amount: 0.5 }, 'amount'],
    ['an amount in words', { accountNumber: '6000000001', amount: '500' }, 'amount'],
    ['a session id with a space', { accountNumber: '6000000001', amount: 1, sessionId: 'a b' }, 'sessionId'],
    ['an unknown key', { accountNumber: '6000000001', amount: 1, currency: 'NGN' }, 'currency'],
  ])('an inbound credit with %s is 400', async (_name, body, field) => {
    expectInvalid(await api.test.post('/simulations/inbound-credits', body), field);
  });
});
