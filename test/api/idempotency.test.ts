// One effect per Idempotency-Key (contract, section 4.2), on every POST that creates something.

import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { fingerprint, IdempotencyKeys, type KeyAttempt, outcomeOf } from '../../src/api/admission/idempotency.ts';
import { takesIdempotencyKey } from '../../src/api/route.ts';
import { newUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { idempotentRequests } from '../../src/telemetry/metrics.ts';
import { type Answer, type Client, startTestApi, type TestOrganisation } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { type CreatingRoute, creatingRoutes } from '../support/creatingRequests.ts';
import { added, type MoneyRequest, type MoneyRoute, moneyRoutes, written } from '../support/moneyRequests.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, routeCases } from '../support/routes.ts';
import { waitFor } from '../support/waitFor.ts';

const api = await startTestApi();
/** A second process of the same service. */
const second = await startTestApi({ databaseUrl: api.databaseUrl });
const book: Book = { organisationId: api.organisation.organisationId, environment: 'test' };
const tableOf = (organisation?: TestOrganisation): Record<string, CreatingRoute & Partial<MoneyRoute>> => ({
  ...moneyRoutes(api, organisation),
  ...creatingRoutes(api, organisation),
});
const table = tableOf();

afterAll(async () => {
  await second.close();
  await api.close();
});

const send = ({ path, body }: MoneyRequest, key?: string): Promise<Answer> => api.test.money(path, body, key);

function requestsOf(name: string): CreatingRoute & Partial<MoneyRoute> {
  const found = table[name];
  if (found === undefined) throw new Error(`add the requests of ${name} to test/support/creatingRequests.ts`);
  return found;
}

/** A response without the parts that differ between two requests. */
const lasting = ({ status, text, requestId }: Answer) => [status, text.replace(requestId, '')];
const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true';

/** POSTs of an API key that create nothing: they read, or send or end again what there is. */
const CREATING_NOTHING = [
  'POST /events/:id/redeliver',
  'POST /payouts/validate',
  'POST /simulations/bank-transfers/:reference/resolve',
  'POST /webhook-endpoints/:id/redeliver',
];

test('every POST of an API key takes an Idempotency-Key, but those that create nothing', () => {
  const posts = routeCases(({ method, access }) => method === 'post' && access !== 'none');
  const without = posts.filter(({ route }) => !takesIdempotencyKey(route)).map(({ name }) => name);
  expect(without.toSorted()).toEqual(CREATING_NOTHING);
});

const cases = routeCases(takesIdempotencyKey);

describe.each(cases)('$name', ({ name, route }) => {
  const { good, refused, status } = requestsOf(name);
  const isRequired = route.idempotencyKey === 'required';
  const hasParameter = route.path.includes(':');

  test(`a request without a key ${isRequired ? 'is 400 IDEMPOTENCY_KEY_MISSING' : 'succeeds'}`, async () => {
    const none: Record<string, string>[] = [{}, { 'idempotency-key': '' }, { 'idempotency-key': '   ' }];
    for (const headers of none) {
      const { path, body } = await good();
      const answer = await api.test.call('POST', path, { body, headers });
      const refusal = isRequired ? [400, 'IDEMPOTENCY_KEY_MISSING'] : [status, undefined];
      expect([answer.status, answer.error?.code]).toEqual(refusal);
    }
  });

  test('a request with a malformed key is 400 IDEMPOTENCY_KEY_INVALID', async () => {
    const { path, body } = await requestsOf(name).good();
    for (const key of ['a b', 'é', 'a\tb', 'x'.repeat(256)]) {
      const { status, error } = await api.test.money(path, body, key);
      expect([key, status, error.code]).toEqual([key, 400, 'IDEMPOTENCY_KEY_INVALID']);
    }
    expect((await api.test.money(path, body, `${randomUUID()}${'~'.repeat(219)}`)).status).toBe(
      requestsOf(name).status,
    );
  });

  test('a repeated request gets the first response again, with its own request id, and writes nothing', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    const first = await send(request, key);
    expect([first.status, isReplay(first)]).toEqual([requestsOf(name).status, false]);
    const before = await written(api, api.organisation);
    const second = await send(request, key);
    expect(lasting(second)).toEqual(lasting(first));
    expect([isReplay(second), second.requestId === first.requestId]).toEqual([true, false]);
    expect(added(before, await written(api, api.organisation))).toEqual(added(before, before));
  });

  test.each<[string, (body: Record<string, unknown>) => string]>([
    ['reordered fields', (body) => JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()))],
    ['a changed value', (body) => JSON.stringify({ ...body, ...requestsOf(name).change })],
    ['added whitespace', (body) => JSON.stringify(body, null, 1)],
    ['a trailing newline', (body) => `${JSON.stringify(body)}\n`],
  ])('the same key with %s in the body is 409 IDEMPOTENCY_KEY_REUSED', async (_what, change) => {
    const request = await requestsOf(name).good();
    const changed = change(request.body);
    // The fields of a one-field body have only one order.
    if (changed === JSON.stringify(request.body)) return;
    const key = randomUUID();
    await send(request, key);
    expectError(await api.test.money(request.path, changed, key), 409, 'IDEMPOTENCY_KEY_REUSED', {});
  });

  test('the same key on another path is 409 IDEMPOTENCY_KEY_REUSED', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    await send(request, key);
    const other = cases[(cases.findIndex((each) => each.name === name) + 1) % cases.length]?.name ?? '';
    const elsewhere = [await requestsOf(other).good()];
    if (hasParameter) elsewhere.push({ ...request, path: pathOf(route) });
    for (const each of elsewhere) expect((await send(each, key)).error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  test('fifty concurrent requests with one key, over two processes, have the effect of one', async () => {
    const one = await effectOfOne(name);
    const request = await requestsOf(name).good();
    const start = await written(api, api.organisation);
    const key = randomUUID();
    const clients = [api.test, second.client(api.test.key)];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (clients[index % 2] ?? api.test).money(request.path, request.body, key)),
    );
    expect(added(start, await written(api, api.organisation))).toEqual(one);

    const done = answers.filter(({ status }) => status === requestsOf(name).status);
    const waiting = answers.filter(({ status }) => status === 409);
    expect(answers.filter((answer) => !done.includes(answer) && !waiting.includes(answer))).toEqual([]);
    expect(done.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(done.map(({ data }) => data.id)).size).toBe(1);
    expect(new Set(waiting.map(({ error }) => error.code))).toEqual(
      new Set(waiting.length > 0 ? ['IDEMPOTENCY_IN_PROGRESS'] : []),
    );
    expect(lasting(await send(request, key))).toEqual(lasting(done[0] as Answer));
  });

  if (refused !== undefined)
    test('a business refusal is stored and replayed for its key', async () => {
      const { repair, ...request } = await refused();
      const key = randomUUID();
      const first = await send(request, key);
      expect([first.status, isReplay(first)]).toEqual([422, false]);
      await repair();
      const again = await send(request, key);
      expect([lasting(again), isReplay(again)]).toEqual([lasting(first), true]);
      expect((await send(request)).status).toBe(requestsOf(name).status);
    });

  if (isRequired || hasParameter)
    test('a 404 is stored and replayed for its key', async () => {
      const request = await requestsOf(name).good();
      const missing = hasParameter ? { ...request, path: pathOf(route) } : missingInBody(request);
      const key = randomUUID();
      const first = await send(missing, key);
      expect(first.status).toBe(404);
      const again = await send(missing, key);
      expect([lasting(again), isReplay(again)]).toEqual([lasting(first), true]);
    });

  if (route.body !== undefined)
    test('a request that fails validation does not consume its key', async () => {
      const request = await requestsOf(name).good();
      const key = randomUUID();
      for (const body of ['{bad', requestsOf(name).invalid]) {
        expect((await api.test.money(request.path, body, key)).status).toBe(400);
      }
      const answer = await send(request, key);
      expect([answer.status, isReplay(answer)]).toEqual([requestsOf(name).status, false]);
    });

  test('a request that fails authentication or authorisation does not consume its key', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    const { key: powerless } = await api.createKey(book.organisationId, { scopes: [] });
    const strangers: [Client, number][] = [[api.client(null), 401]];
    if (route.access !== 'any') strangers.push([api.client(powerless), 403]);
    for (const [client, refusal] of strangers) {
      expect((await client.money(request.path, request.body, key)).status).toBe(refusal);
    }
    expect((await send(request, key)).status).toBe(requestsOf(name).status);
  });

  test('another organisation may use the same key', async () => {
    const other = await api.createOrganisation();
    const theirs = tableOf(other)[name];
    if (theirs === undefined) throw new Error('no requests');
    const key = randomUUID();
    await send(await requestsOf(name).good(), key);
    const { path, body } = await theirs.good();
    const answer = await other.test.money(path, body, key);
    expect([answer.status, isReplay(answer)]).toEqual([theirs.status, false]);
  });

  test('a second request is 409 IDEMPOTENCY_IN_PROGRESS while the first is running', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    const before = await started();
    const first = await whileCommitsWait(async () => {
      const running = send(request, key);
      await waitFor('the first request to start', async () => (await started()) === before + 1);
      expectError(await send(request, key), 409, 'IDEMPOTENCY_IN_PROGRESS');
      return { running };
    });
    expect([first.status, isReplay(first)]).toEqual([requestsOf(name).status, false]);
    expect(lasting(await send(request, key))).toEqual(lasting(first));
  });

  test('of two processes that run a request at the same time, one commits and the other is 409 and writes nothing', async () => {
    const one = await effectOfOne(name);
    const request = await requestsOf(name).good();
    const start = await written(api, api.organisation);
    const key = randomUUID();
    const startedBefore = await started();
    const answers = await whileCommitsWait(async () => {
      const running = [api.test, second.client(api.test.key)].map((client) =>
        client.money(request.path, request.body, key),
      );
      await waitFor('both requests to start', async () => (await started()) === startedBefore + 2);
      return { running: Promise.all(running) };
    });
    const [done, refused] = answers.toSorted((a, b) => a.status - b.status);
    expect([done?.status, refused?.status, refused?.error.code]).toEqual([
      requestsOf(name).status,
      409,
      'IDEMPOTENCY_IN_PROGRESS',
    ]);
    expect(added(start, await written(api, api.organisation))).toEqual(one);
    for (const client of [api.test, second.client(api.test.key)]) {
      expect(lasting(await client.money(request.path, request.body, key))).toEqual(lasting(done as Answer));
    }
  });
});

/** What a single request of this route adds. */
async function effectOfOne(name: string) {
  const request = await requestsOf(name).good();
  const before = await written(api, api.organisation);
  expect((await send(request)).status).toBe(requestsOf(name).status);
  return added(before, await written(api, api.organisation));
}

/** A request whose path has no id, with an unknown wallet id in its body. */
function missingInBody({ path, body }: MoneyRequest): MoneyRequest {
  const field = Object.keys(body).find((name) => name.endsWith('WalletId'));
  if (field === undefined) throw new Error('no wallet in the body');
  return { path, body: { ...body, [field]: 'svc_00000000000000000000000000_wlt' } };
}

/** Lets no request commit while `work` runs. Resolves with the result of what `work` has started. */
async function whileCommitsWait<Result>(work: () => Promise<{ running: Promise<Result> }>): Promise<Result> {
  const { running } = await api.sql.begin(async (sql) => {
    await sql`LOCK TABLE idempotency_keys IN EXCLUSIVE MODE`;
    return work();
  });
  return running;
}

/** The requests that have started with a new key, in all processes of this test. */
async function started(): Promise<number> {
  const { values } = await idempotentRequests.get();
  return values.find(({ labels }) => labels.outcome === 'new')?.value ?? 0;
}

describe('an idempotency key', () => {
  const transfer = () => requestsOf('POST /wallets/:id/transfer').good();

  test('a key used in test is independent of the same key in live', async () => {
    const { live, organisation } = api;
    const key = randomUUID();
    await send(await transfer(), key);
    await api.fund(organisation.organisationId, organisation.liveSettlementWalletId, 10);
    const body = { amount: 10, destinationWalletId: await api.createWallet(live) };
    const answer = await live.money(`/wallets/${organisation.liveSettlementWalletId}/transfer`, body, key);
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
  });

  test('a key is remembered for seven days and can then be used again', async () => {
    const key = randomUUID();
    const first = await transfer();
    await send(first, key);
    const age = (text: string) => api.sql`
      UPDATE idempotency_keys SET created_at = now() - ${text}::interval WHERE key = ${key}`;
    await age('6 days 23 hours');
    expect(isReplay(await send(first, key))).toBe(true);
    await age('7 days 1 second');
    const answer = await send(await transfer(), key);
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
  });

  test('a key is remembered for IDEMPOTENCY_KEYS_KEPT_DAYS where that is longer than seven days', async () => {
    await api.withAnother({ settings: { IDEMPOTENCY_KEYS_KEPT_DAYS: '30' } }, async (longRetention) => {
      const client = longRetention.client(api.test.key);
      const key = randomUUID();
      const { path, body } = await transfer();
      const first = await client.money(path, body, key);
      const age = (text: string) => api.sql`
        UPDATE idempotency_keys SET created_at = now() - ${text}::interval WHERE key = ${key}`;
      for (const days of ['8 days', '29 days 23 hours']) {
        await age(days);
        const again = await client.money(path, body, key);
        expect([days, again.data.id, isReplay(again)]).toEqual([days, first.data.id, true]);
      }
      await age('30 days 1 second');
      const answer = await client.money(path, body, key);
      expect([answer.status, isReplay(answer)]).toEqual([201, false]);
    });
  });

  test('a secret in a stored response is sealed, and shown only to the API key that asked for it', async () => {
    const key = randomUUID();
    const body = { scopes: ['wallet'] };
    const first = await api.test.money('/api-keys', body, key);
    const [row] = await api.sql<{ response: string }[]>`SELECT response FROM idempotency_keys WHERE key = ${key}`;
    expect(row?.response).not.toContain(first.data.key);
    expect((await api.test.money('/api-keys', body, key)).data.key).toBe(first.data.key);
    const { key: another } = await api.createKey(book.organisationId);
    expectError(await api.client(another).money('/api-keys', body, key), 409, 'IDEMPOTENCY_KEY_REUSED', {});
  });

  test('a key is free again after an internal error', async () => {
    await api.withAnother(
      { rails: changedRail(() => ({ openVirtualAccount: () => Promise.reject(new Error('a fault of ours')) })) },
      async (faulty) => {
        const request = await requestsOf('POST /payments').good();
        const key = randomUUID();
        const failed = await faulty.client(api.test.key).money(request.path, request.body, key);
        expectError(failed, 500, 'INTERNAL_ERROR');
        expect(failed.text).not.toContain('a fault of ours');
        expect((await send(request, key)).status).toBe(201);
      },
    );
  });
});

describe('a new idempotency key', () => {
  const print = fingerprint('POST', '/v1/somewhere', Buffer.from('{}'));
  const other = fingerprint('POST', '/v1/somewhere', Buffer.from('{ }'));
  const outcome = { statusCode: 201, response: '{"data":null}' };
  const createTwo = () => ({
    here: new IdempotencyKeys({ ...api.dependencies, keptDays: 7 }),
    there: new IdempotencyKeys({ ...api.dependencies, keptDays: 7 }),
  });
  const attemptAt = (key: string, fingerprint: string, of: Book = book): KeyAttempt => ({
    book: of,
    key,
    attempt: newUuid(),
    fingerprint,
  });
  const codeOf = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      return (error as { code: string }).code;
    }
    return 'none';
  };

  test('one request of a process holds a key until its response', () => {
    const { here } = createTwo();
    const key = randomUUID();
    const first = attemptAt(key, print);
    here.reserve(first);
    expect(codeOf(() => here.reserve(attemptAt(key, print)))).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect(codeOf(() => here.reserve(attemptAt(key, other)))).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(codeOf(() => here.reserve(attemptAt(key, print, { ...book, environment: 'live' })))).toBe('none');
    here.release(first);
    expect(codeOf(() => here.reserve(attemptAt(key, print)))).toBe('none');
  });

  test('of two attempts the first to commit wins, and the other writes nothing and cannot store a refusal', async () => {
    const { here, there } = createTwo();
    const key = randomUUID();
    const [first, late] = [attemptAt(key, print), attemptAt(key, other)];
    here.reserve(first);
    there.reserve(late);
    const event = () => ({ id: newUuid(), type: 'test.happened', resource: 'none', data: {}, createdAt: new Date() });
    const post = (attempt: KeyAttempt) =>
      api.dependencies.journal.post({ book, events: [event()], outcome: outcomeOf(attempt, outcome) });
    expect(await post(first)).toEqual({ outcome: 'posted' });
    const before = await written(api, api.organisation);
    expect(await post(late)).toMatchObject({ outcome: 'refused', code: 'IDEMPOTENCY_IN_PROGRESS' });
    const stored = there.store(late, { statusCode: 422, response: '{}' });
    await expect(stored).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    expect(await written(api, api.organisation)).toEqual(before);
    expect(await there.find(first)).toEqual(outcome);
  });

  test('a stored refusal is found again, and a key that was only reserved is not', async () => {
    const { here } = createTwo();
    const [refused, failed] = [attemptAt(randomUUID(), print), attemptAt(randomUUID(), print)];
    here.reserve(refused);
    here.reserve(failed);
    await here.store(refused, outcome);
    expect(await here.find(refused)).toEqual(outcome);
    expect(await here.find({ ...failed, fingerprint: other })).toBeNull();
  });
});
