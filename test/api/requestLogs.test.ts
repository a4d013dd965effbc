// The request log over the API: what was answered, by request id, without bodies; written after the response.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { newRequestId, timeOfRequestId } from '../../src/api/envelope.ts';
import { createRequestLog } from '../../src/api/requestLog.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { deleteRequestLogs } from '../../src/resources/requestLogs.ts';
import { type Answer, type Client, type Resource, startTestApi } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** The entry of a request; it is written up to a second after the response. */
const entryOf = ({ requestId }: Answer, client: Client = api.test): Promise<Resource> =>
  waitFor('the entry of the request', async () => (await client.get(`/request-logs?requestId=${requestId}`)).items[0]);

test('a success is logged with its resource and key, and nothing of its body', async () => {
  const { id: keyId, key } = await api.createKey(api.organisation.organisationId);
  const answer = await api.client(key).post('/wallets', { email: 'hidden@test.example' });
  const entry = await entryOf(answer);
  expect(entry).toEqual({
    requestId: answer.requestId,
    keyId: publicId('apiKey', keyId),
    method: 'POST',
    path: '/wallets',
    resourceId: answer.data.id,
    status: 201,
    errorCode: null,
    errorDetails: null,
    idempotencyKey: null,
    durationMs: expect.any(Number),
    createdAt: timeOfRequestId(answer.requestId).toISOString(),
  });
  const rows = await api.sql<{ text: string }[]>`SELECT l::text AS text FROM request_logs l`;
  expect(rows.filter(({ text }) => text.includes('hidden@test.example'))).toEqual([]);
});

test('a refusal is logged with its error and Idempotency-Key', async () => {
  const [source, destinationWalletId] = [await api.createWallet(), await api.createWallet()];
  const idempotencyKey = randomUUID();
  const answer = await api.test.money(
    `/wallets/${source}/transfer`,
    { amount: 5, destinationWalletId },
    idempotencyKey,
  );
  expect(await entryOf(answer)).toMatchObject({
    path: '/wallets/:id/transfer',
    resourceId: source,
    status: 422,
    errorCode: 'WALLET_INSUFFICIENT_FUNDS',
    errorDetails: answer.error.details,
    idempotencyKey,
  });
});

test('an account number in a path is not logged', async () => {
  const answer = await api.test.call('PUT', '/simulations/bank-accounts/0698765432', { body: { behaviour: 'hold' } });
  expect(await entryOf(answer)).toMatchObject({ path: '/simulations/bank-accounts/:accountNumber', resourceId: null });
});

describe('the list', () => {
  test('newest first, in pages, by class of status, error code and time; of its own book only', async () => {
    const organisation = await api.createOrganisation();
    const { test: client } = organisation;
    const answers: Answer[] = [];
    for (let count = 0; count < 5; count += 1) answers.push(await client.get(`/wallets/nothing-${count}`));
    answers.push(await client.get('/wallets'), await client.get('/wallets?nonsense=1'));
    const newest = answers.toReversed();
    await entryOf(newest[0] as Answer, client);
    const ids = (items: Resource[]) => items.map(({ requestId }) => requestId);
    const own = newest.map(({ requestId }) => requestId);
    const [first] = answers;
    const [last] = newest;
    const until = encodeURIComponent(new Date(timeOfRequestId(last?.requestId ?? '').getTime() + 1).toISOString());
    const listed = (await client.get(`/request-logs?createdAtTo=${until}&limit=100`)).items;
    expect(ids(listed).slice(0, 7)).toEqual(own);
    const missing = (await client.get('/request-logs?errorCode=WALLET_NOT_FOUND')).items;
    expect(ids(missing)).toEqual(own.slice(2));
    expect((await client.get('/request-logs?status=4xx')).items).toHaveLength(6);
    expect((await client.get('/request-logs?status=5xx')).items).toEqual([]);
    const pages: unknown[] = [];
    for (let query = 'errorCode=WALLET_NOT_FOUND&limit=2'; query !== ''; ) {
      const { items, pagination } = await client.get(`/request-logs?${query}`);
      pages.push(...ids(items));
      query = pagination.nextCursor === null ? '' : `cursor=${pagination.nextCursor}`;
    }
    expect(pages).toEqual(own.slice(2));
    const before = encodeURIComponent(timeOfRequestId(first?.requestId ?? '').toISOString());
    expect(ids((await client.get(`/request-logs?createdAtTo=${before}`)).items)).not.toContain(first?.requestId);
    for (const stranger of [api.test, organisation.live]) {
      expect((await stranger.get(`/request-logs?requestId=${first?.requestId}`)).items).toEqual([]);
    }
    for (const bad of ['requestId=req_1', 'status=404', 'errorCode=NOTHING']) {
      expect((await client.get(`/request-logs?${bad}`)).error.code).toBe('VALIDATION_FAILED');
    }
  });
});

const someKey = newUuid();

const entry = (organisationId: string, at = new Date()) => ({
  organisationId,
  environment: 'test' as const,
  requestId: newRequestId(at).slice(4),
  keyId: someKey,
  method: 'GET',
  route: '/wallets',
  resource: null,
  status: 200,
  errorCode: null,
  error: null,
  idempotencyKey: null,
  durationMs: 1,
  createdAt: at,
});

const countOf = async (organisationId: string): Promise<number> =>
  Number((await api.sql`SELECT count(*) AS n FROM request_logs WHERE organisation_id = ${organisationId}`)[0]?.n);

describe('the writer', () => {
  test('it writes many in few statements, and in order of their arrival', async () => {
    const organisationId = newUuid();
    const statements: string[] = [];
    // The API writes its own log by the same pool.
    api.dependencies.asyncCommitSql.options.debug = (_connection, query, parameters) => {
      if (parameters.includes(organisationId)) statements.push(query);
    };
    const log = createRequestLog(api.dependencies.asyncCommitSql, api.dependencies.log, true);
    for (let count = 0; count < 2_500; count += 1) log.add(entry(organisationId));
    await log.flush();
    api.dependencies.asyncCommitSql.options.debug = false;
    expect(statements.filter((text) => text.includes('INTO request_logs'))).toHaveLength(3);
    expect(await countOf(organisationId)).toBe(2_500);
  });

  test('a database that is away loses entries, and neither fails nor grows without end', async () => {
    const organisationId = newUuid();
    const broken = { options: {} } as never;
    const log = createRequestLog(broken, api.dependencies.log, true);
    for (let count = 0; count < 20_000; count += 1) log.add(entry(organisationId));
    await log.flush();
    const warned = api.logged.filter((line) => line.includes('could not write the request log'));
    expect(warned).toHaveLength(10);
  });

  test('where none is wanted, none is kept', async () => {
    const organisationId = newUuid();
    const log = createRequestLog(api.dependencies.asyncCommitSql, api.dependencies.log, false);
    log.add(entry(organisationId));
    await log.flush();
    expect(await countOf(organisationId)).toBe(0);
  });

  test('requests of the last second are written when the process stops', async () => {
    const stopping = await startTestApi({ databaseUrl: api.databaseUrl });
    const { requestId } = await stopping.client(api.test.key).get('/wallets');
    await stopping.close();
    expect((await api.test.get(`/request-logs?requestId=${requestId}`)).items).toHaveLength(1);
  });
});

test('retention deletes what is older than the retention, book by book', async () => {
  const { organisationId } = await api.createOrganisation();
  const log = createRequestLog(api.dependencies.asyncCommitSql, api.dependencies.log, true);
  for (const days of [40, 31, 29, 1]) log.add(entry(organisationId, new Date(Date.now() - days * 86_400_000)));
  await log.flush();
  const book = { organisationId, environment: 'test' } as const;
  expect(await deleteRequestLogs(api.dependencies.sql, book, 30, 1)).toBe(1);
  expect(await deleteRequestLogs(api.dependencies.sql, { ...book, environment: 'live' }, 30, 10)).toBe(0);
  expect(await deleteRequestLogs(api.dependencies.sql, book, 30, 10)).toBe(1);
  expect(await countOf(organisationId)).toBe(2);
});
