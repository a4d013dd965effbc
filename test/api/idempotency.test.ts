// One effect per Idempotency-Key (contract, section 4.2), on every route that moves money.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Claim, fingerprint, IdempotencyKeys, outcomeOf } from '../../src/api/admission/idempotency.ts';
import { newUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { openBooks } from '../ledger/books.ts';
import { type Answer, startTestApi, type TestApi } from '../support/api.ts';
import { added, type MoneyRequest, type MoneyRoute, moneyRoutes, written } from '../support/moneyRequests.ts';
import { kindOf, pathOf, routeCases } from '../support/routes.ts';

let api: TestApi;
/** Another process of the same service. */
let second: TestApi;
let book: Book;
let table: Record<string, MoneyRoute>;

beforeAll(async () => {
  api = await startTestApi();
  second = await startTestApi({ databaseUrl: api.databaseUrl });
  book = { organisationId: api.organisation.organisationId, environment: 'test' };
  table = moneyRoutes(api);
});

afterAll(async () => {
  await second.close();
  await api.close();
});

const send = ({ path, body }: MoneyRequest, key?: string): Promise<Answer> => api.test.money(path, body, key);

function requestsOf(name: string): MoneyRoute {
  const found = table[name];
  if (found === undefined) throw new Error(`add the requests of ${name} to test/support/moneyRequests.ts`);
  return found;
}

/** An answer without what differs between two requests. */
const lasting = ({ status, text, requestId }: Answer) => [status, text.replace(requestId, '')];
const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true';

/** What the keys of an API process are made with. */
const storesOf = ({ services: { asyncCommitSql, sql } }: TestApi) => ({ asyncCommitSql, sql, keptDays: 7 });

const cases = routeCases(({ idempotency }) => idempotency !== undefined);

describe.each(cases)('$name', ({ name, route }) => {
  test('without a key is 400 IDEMPOTENCY_KEY_MISSING', async () => {
    const { path, body } = await requestsOf(name).good();
    const none: Record<string, string>[] = [{}, { 'idempotency-key': '' }, { 'idempotency-key': '   ' }];
    for (const headers of none) {
      const { status, error } = await api.test.call('POST', path, { body, headers });
      expect([status, error.type, error.code, error.details]).toEqual([
        400,
        'validation_error',
        'IDEMPOTENCY_KEY_MISSING',
        { fields: [] },
      ]);
    }
  });

  test('with a key that is none is 400 IDEMPOTENCY_KEY_INVALID', async () => {
    const { path, body } = await requestsOf(name).good();
    for (const key of ['a b', 'é', 'a\tb', 'x'.repeat(256)]) {
      const { status, error } = await api.test.money(path, body, key);
      expect([key, status, error.code]).toEqual([key, 400, 'IDEMPOTENCY_KEY_INVALID']);
    }
    expect((await api.test.money(path, body, `${randomUUID()}${'~'.repeat(219)}`)).status).toBe(
      requestsOf(name).status,
    );
  });

  test('the same request again gets the first answer, with a request id of its own', async () => {
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
    ['another order of its keys', (body) => JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()))],
    ['another value', (body) => JSON.stringify({ ...body, ...requestsOf(name).change })],
    ['another space', (body) => JSON.stringify(body, null, 1)],
    ['a newline at the end', (body) => `${JSON.stringify(body)}\n`],
  ])('the same key with %s is 409 IDEMPOTENCY_KEY_REUSED', async (_what, change) => {
    const request = await requestsOf(name).good();
    const changed = change(request.body);
    if (changed === JSON.stringify(request.body)) return; // a body of one key has one order only
    const key = randomUUID();
    await send(request, key);
    const { status, error } = await api.test.money(request.path, changed, key);
    expect([status, error.code, error.details]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED', {}]);
  });

  test('the same key on another path is 409 IDEMPOTENCY_KEY_REUSED', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    await send(request, key);
    const other = cases[(cases.findIndex((each) => each.name === name) + 1) % cases.length]?.name ?? '';
    const elsewhere = [await requestsOf(other).good()];
    if (kindOf(route) !== null) elsewhere.push({ ...request, path: pathOf(route) });
    for (const each of elsewhere) expect((await send(each, key)).error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  test('50 at once, over two processes, have the effect of one', async () => {
    const single = await requestsOf(name).good();
    const before = await written(api, api.organisation);
    expect((await send(single)).status).toBe(requestsOf(name).status);
    const one = added(before, await written(api, api.organisation));

    const request = await requestsOf(name).good();
    const start = await written(api, api.organisation);
    const key = randomUUID();
    const clients = [api.test, second.client(api.test.key)];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, turn) => (clients[turn % 2] ?? api.test).money(request.path, request.body, key)),
    );
    expect(added(start, await written(api, api.organisation))).toEqual(one);

    const done = answers.filter(({ status }) => status === requestsOf(name).status);
    const waiting = answers.filter(({ status }) => status === 409);
    expect(done.length + waiting.length).toBe(50);
    expect(done.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(done.map(({ data }) => data.id)).size).toBe(1);
    expect(new Set(waiting.map(({ error }) => error.code))).toEqual(
      new Set(waiting.length > 0 ? ['IDEMPOTENCY_IN_PROGRESS'] : []),
    );
    expect(lasting(await send(request, key))).toEqual(lasting(done[0] as Answer));
  });

  test('a business refusal is the answer to its key for good', async () => {
    const { repair, ...request } = await requestsOf(name).refused();
    const key = randomUUID();
    const first = await send(request, key);
    expect([first.status, isReplay(first)]).toEqual([422, false]);
    await repair();
    const again = await send(request, key);
    expect([lasting(again), isReplay(again)]).toEqual([lasting(first), true]);
    expect((await send(request)).status).toBe(requestsOf(name).status);
  });

  test('a 404 is the answer to its key for good', async () => {
    const request = await requestsOf(name).good();
    const missing = kindOf(route) === null ? missingInBody(request) : { ...request, path: pathOf(route) };
    const key = randomUUID();
    const first = await send(missing, key);
    expect(first.status).toBe(404);
    const again = await send(missing, key);
    expect([lasting(again), isReplay(again)]).toEqual([lasting(first), true]);
  });

  test('a request that fails validation leaves its key free', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    for (const body of ['{bad', requestsOf(name).invalid]) {
      expect((await api.test.money(request.path, body, key)).status).toBe(400);
    }
    const answer = await send(request, key);
    expect([answer.status, isReplay(answer)]).toEqual([requestsOf(name).status, false]);
  });

  test('a request that is not admitted leaves its key free', async () => {
    const request = await requestsOf(name).good();
    const key = randomUUID();
    const { key: powerless } = await api.createKey(book.organisationId, { scopes: [] });
    expect((await api.client(powerless).money(request.path, request.body, key)).status).toBe(403);
    expect((await api.client(null).money(request.path, request.body, key)).status).toBe(401);
    expect((await send(request, key)).status).toBe(requestsOf(name).status);
  });

  test('another organisation may use the same key', async () => {
    const other = await api.createOrganisation();
    const theirs = moneyRoutes(api, other)[name];
    if (theirs === undefined) throw new Error('no requests');
    const key = randomUUID();
    await send(await requestsOf(name).good(), key);
    const { path, body } = await theirs.good();
    const answer = await other.test.money(path, body, key);
    expect([answer.status, isReplay(answer)]).toEqual([theirs.status, false]);
  });

  test('while the first request runs, a second is 409 IDEMPOTENCY_IN_PROGRESS', async () => {
    const request = await requestsOf(name).good();
    const claim = await claimAs(request, randomUUID());
    const { status, error } = await send(request, claim.key);
    expect([status, error.type, error.code]).toEqual([409, 'conflict_error', 'IDEMPOTENCY_IN_PROGRESS']);
  });

  test('a process that died with it blocks its key for 60 seconds at most; then a retry goes through, once', async () => {
    const request = await requestsOf(name).good();
    const claim = await claimAs(request, randomUUID());
    // Both columns are of one statement's clock and rounded alike; a look at now() would be of another.
    const [mark] = await api.sql<{ seconds: number }[]>`
      SELECT extract(epoch FROM claimed_until - created_at)::float AS seconds FROM idempotency_keys WHERE claim = ${claim.id}`;
    expect(mark).toEqual({ seconds: 60 });
    await api.sql`UPDATE idempotency_keys SET claimed_until = now() - interval '1 ms' WHERE claim = ${claim.id}`;
    const answer = await send(request, claim.key);
    expect([answer.status, isReplay(answer)]).toEqual([requestsOf(name).status, false]);
    // The first process was only slow: what it still wants to commit is refused.
    const late = await api.services.journal.post({
      book,
      outcome: outcomeOf(claim, { statusCode: 201, response: '{}' }),
    });
    expect(late).toMatchObject({ outcome: 'refused', code: 'IDEMPOTENCY_IN_PROGRESS' });
    expect(lasting(await send(request, claim.key))).toEqual(lasting(answer));
  });
});

/** A request without an id in its path, with an id in its body that nobody has. */
function missingInBody({ path, body }: MoneyRequest): MoneyRequest {
  const field = Object.keys(body).find((name) => name.endsWith('WalletId'));
  if (field === undefined) throw new Error('no wallet in the body');
  return { path, body: { ...body, [field]: 'svc_00000000000000000000000000_wlt' } };
}

/** The mark that a process sets before it works on a request, and leaves behind when it dies. */
async function claimAs({ path, body }: MoneyRequest, key: string): Promise<Claim> {
  const keys = new IdempotencyKeys(storesOf(api));
  const print = fingerprint('POST', `/v1${path}`, Buffer.from(JSON.stringify(body)));
  const claim = await keys.claim(book, key, print);
  if (!('id' in claim)) throw new Error('the key was used before');
  return claim;
}

describe('a key', () => {
  const transfer = () => requestsOf('POST /wallets/:id/transfer').good();

  test('is another one in live', async () => {
    const { live, organisation } = api;
    const key = randomUUID();
    await send(await transfer(), key);
    await api.fund(organisation.organisationId, organisation.liveSettlementWalletId, 10);
    const body = { amount: 10, destinationWalletId: await api.createWallet(live) };
    const answer = await live.money(`/wallets/${organisation.liveSettlementWalletId}/transfer`, body, key);
    expect([answer.status, isReplay(answer)]).toEqual([201, false]);
  });

  test('is remembered for seven days, and then new again', async () => {
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

  test('is remembered for as long as its rows are kept, where that is configured to be longer', async () => {
    const patient = await startTestApi({
      databaseUrl: api.databaseUrl,
      settings: { IDEMPOTENCY_KEYS_KEPT_DAYS: '30' },
    });
    try {
      const client = patient.client(api.test.key);
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
    } finally {
      await patient.close();
    }
  });

  test('whose request was overtaken by another body stays with the first, also after its process died', async () => {
    const first = await transfer();
    const claim = await claimAs(first, randomUUID());
    await api.sql`UPDATE idempotency_keys SET claimed_until = now() - interval '1 ms' WHERE claim = ${claim.id}`;
    expect((await send(await transfer(), claim.key)).error.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect((await send(first, claim.key)).status).toBe(201);
  });

  test('is not needed where no money moves, and then has no meaning', async () => {
    const body = { email: 'a@test.example' };
    const create = () => api.test.money('/wallets', body, 'same');
    const [first, second] = [await create(), await create()];
    expect([first.status, second.status, first.data.id === second.data.id]).toEqual([201, 201, false]);
  });

  test('that fails on our side is free again', async () => {
    const broken = await startTestApi({
      databaseUrl: api.databaseUrl,
      rails: (rails) => {
        const rail = rails.of('test');
        if (rail === null) throw new Error('no rail');
        const failing = Object.assign(Object.create(rail), {
          openVirtualAccount: () => Promise.reject(new Error('a fault of ours')),
        });
        return Object.assign(Object.create(rails), { of: () => failing });
      },
    });
    try {
      const request = await requestsOf('POST /payments').good();
      const key = randomUUID();
      const failed = await broken.client(api.test.key).money(request.path, request.body, key);
      expect([failed.status, failed.error.code]).toEqual([500, 'INTERNAL_ERROR']);
      expect(failed.text).not.toContain('a fault of ours');
      expect((await send(request, key)).status).toBe(201);
    } finally {
      await broken.close();
    }
  });
});

describe('a new key', () => {
  const print = fingerprint('POST', '/v1/somewhere', Buffer.from('{}'));
  const other = fingerprint('POST', '/v1/somewhere', Buffer.from('{ }'));
  const outcome = { statusCode: 201, response: '{"data":null}' };
  const held = () => ({
    here: new IdempotencyKeys(storesOf(api)),
    there: new IdempotencyKeys(storesOf(api)),
  });
  const codeOf = (work: () => unknown): string => {
    try {
      work();
    } catch (error) {
      return (error as { code: string }).code;
    }
    return 'none';
  };

  test('is held by one request of a process until that is answered', () => {
    const { here } = held();
    const key = randomUUID();
    const first = here.reserve(book, key, print);
    expect(codeOf(() => here.reserve(book, key, print))).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect(codeOf(() => here.reserve(book, key, other))).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(codeOf(() => here.reserve({ ...book, environment: 'live' }, key, print))).toBe('none');
    here.unreserve(first);
    expect(codeOf(() => here.reserve(book, key, print))).toBe('none');
  });

  test('that two processes hold goes to the one that commits first, and the other one writes nothing', async () => {
    const { here, there } = held();
    const key = randomUUID();
    const [first, late] = [here.reserve(book, key, print), there.reserve(book, key, other)];
    const event = () => ({ id: newUuid(), type: 'test.happened', resource: 'none', data: {}, createdAt: new Date() });
    const post = (claim: Claim) =>
      api.services.journal.post({ book, events: [event()], outcome: outcomeOf(claim, outcome) });
    expect(await post(first)).toEqual({ outcome: 'posted' });
    const before = await written(api, api.organisation);
    expect(await post(late)).toMatchObject({ outcome: 'refused', code: 'IDEMPOTENCY_IN_PROGRESS' });
    expect(await there.settle(late, { statusCode: 422, response: '{}' })).toBe(false);
    await there.release(late);
    expect(await written(api, api.organisation)).toEqual(before);
    expect(await there.claim(book, key, print)).toEqual(outcome);
  });

  test('whose request is refused is kept with the refusal, and one that is let go of leaves nothing', async () => {
    const { here } = held();
    const [refused, failed] = [here.reserve(book, randomUUID(), print), here.reserve(book, randomUUID(), print)];
    expect(await here.settle(refused, outcome)).toBe(true);
    await here.release(failed);
    expect(await here.claim(book, refused.key, print)).toEqual(outcome);
    expect(await here.claim(book, failed.key, other)).toMatchObject({ key: failed.key, persisted: true });
  });
});

test('a look at a key that is taken fails nobody who claimed another key with it', async () => {
  const books = await openBooks();
  const noLook = new Proxy(books.sql, {
    apply: (target, self, [words, ...values]: [string[], ...unknown[]]) =>
      words.join('').includes('LEFT JOIN idempotency_keys')
        ? Promise.reject(new Error('the look failed'))
        : Reflect.apply(target as never, self, [words, ...values]),
  });
  const keys = new IdempotencyKeys({ asyncCommitSql: noLook, sql: books.sql, keptDays: 7 });
  const claim = (key: string) => keys.claim(books.book, key, 'AAAA');
  const taken = claim('taken'); // the two behind it are gathered
  const [repeat, other] = await Promise.allSettled([claim('taken'), claim('other')]);
  expect(await taken).toMatchObject({ key: 'taken' });
  expect(repeat).toMatchObject({ status: 'rejected', reason: { message: 'the look failed' } });
  expect(other).toMatchObject({ status: 'fulfilled', value: { key: 'other' } });
  await books.close();
});
