// More requests at a time than a process handles: the next ones wait in turns, what is too much is refused as 503 and
// changes nothing, and a burst within the rate of a key is served whole. Refusals are held back.
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Context } from 'koa';
import { ApiKeys } from '../../src/api/admission/apiKeys.ts';
import { Places } from '../../src/api/admission/places.ts';
import { holdRefusal, holdRefusals } from '../../src/api/middleware/holdRefusals.ts';
import { publicId } from '../../src/ids.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

/** The shortest time for which a refusal is held, less what a timer may be early. */
const HELD_MS = 498;
const never = new AbortController().signal;

describe('a process with the default number of places', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ settings: { RATE_LIMIT_PER_MINUTE: undefined } });
  });
  afterAll(() => api.close());

  test('of 601 requests of a new key at once exactly one is refused, by the limit of the key', async () => {
    for (;;) {
      const { key } = await api.createKey(api.organisation.organisationId);
      const client = api.client(key);
      const answers = await Promise.all(Array.from({ length: 601 }, () => client.get('/wallets')));
      // The minute ended meanwhile: again, with another key.
      if (new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset'))).size > 1) continue;
      const refused = answers.filter(({ status }) => status !== 200);
      expect(refused.map(({ error }) => [error.code, error.details.limit])).toEqual([['RATE_LIMIT_EXCEEDED', 600]]);
      break;
    }
  });
});

test('strangers that ask without a pause get few answers, so that little time is spent on them', async () => {
  const api = await startTestApi({ logLevel: 'fatal' });
  const connections = 64;
  const until = performance.now() + 2_500;
  let answers = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await api.client('svc_test_'.padEnd(52, 'A')).get('/wallets');
      if (status === 401) answers += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, ask));
  // A hundred in each of four seconds, and of each connection one in half a second.
  expect(answers).toBeLessThanOrEqual(4 * 100 + connections * 6);
  await api.close();
});

test('a flood of unknown keys is looked up by a few statements, and a known key beside it is found', async () => {
  const api = await startTestApi();
  let statements = 0;
  const counted = new Proxy(api.dependencies.asyncCommitSql, {
    apply: (sql, self, args) => {
      statements += 1;
      return Reflect.apply(sql, self, args);
    },
  });
  const apiKeys = new ApiKeys(counted);
  const authenticate = (key: string) => apiKeys.authenticate(`Bearer ${key}`, 'test', '127.0.0.1');
  const unknown = Array.from({ length: 5_000 }, (_, index) => `svc_test_${String(index).padStart(43, 'A')}`);
  const known = authenticate(api.test.key ?? '');
  const refused = await Promise.allSettled(unknown.map(authenticate));
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect((await known).book.organisationId).toBe(api.organisation.organisationId);
  expect(statements).toBeLessThan(20);
  await api.close();
});

describe('a process with a single place', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ settings: { REQUESTS_IN_PROGRESS_MAX: '1' } });
  });
  afterAll(() => api.close());

  test('twenty transfers at once are all posted, one after the other', async () => {
    const [source, target] = [await api.createWallet(api.test, { balance: 1_000_000 }), await api.createWallet()];
    const transfer = () => api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: target, amount: 100 });
    const answers = await Promise.all(Array.from({ length: 20 }, transfer));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(await api.balanceOf(target)).toBe(2_000);
  });

  test('what waits for too long is refused as 503 and changes nothing; health and callbacks are answered', async () => {
    const [source, target] = [await api.createWallet(api.test, { balance: 1_000_000 }), await api.createWallet()];
    const body = { destinationWalletId: target, amount: 100 };
    const blocker = await api.sql.reserve();
    try {
      // Holds the only place: its statement waits for the lock on its wallet.
      await blocker`BEGIN`;
      await blocker`SELECT FROM ledger.accounts FOR UPDATE`;
      const blocked = api.test.money(`/wallets/${source}/transfer`, body);
      const refused = await api.test.money(`/wallets/${source}/transfer`, body);
      expectError(refused, 503, 'SERVICE_UNAVAILABLE', { service: 'api', retryable: true, retryAfterSeconds: 1 });
      // It was refused before it was counted.
      expect(refused.headers.get('x-ratelimit-limit')).toBeNull();
      expect((await api.client(null).get('/health')).status).toBe(200);
      const contract = publicId('organisation', api.organisation.organisationId);
      expectError(
        await api.client(null).post(`/rails/sandbox/callbacks/${contract}`, {}),
        401,
        'RAIL_CALLBACK_INVALID',
      );
      await blocker`ROLLBACK`;
      expect((await blocked).status).toBe(201);
      expect(await api.balanceOf(target)).toBe(100);
    } finally {
      blocker.release();
    }
  });
});

describe('places', () => {
  const options = { places: 2, waitingMax: 4, waitMaxMs: 60_000, overloadedWaitMaxMs: 60_000 };

  afterEach(() => {
    jest.useRealTimers();
  });

  test('one organisation takes all places while no other wants them', () => {
    const places = new Places(options);
    expect([places.tryTake(), places.tryTake()]).not.toContain(null);
    expect(places.tryTake()).toBeNull();
  });

  test('a place that is left goes to the organisations in turns, to the newest request of each', async () => {
    const places = new Places({ ...options, waitingMax: 100 });
    const leaves = [places.tryTake(), places.tryTake()];
    const order: string[] = [];
    const waiting = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map(async (name) => {
      const leave = await places.wait(name.charAt(0), never);
      order.push(name);
      leave?.();
    });
    leaves[0]?.();
    await Promise.all(waiting);
    expect(order).toEqual(['a3', 'b1', 'c2', 'a2', 'c1', 'a1']);
    expect(places.size).toBe(1);
    leaves[1]?.();
    expect(places.size).toBe(0);
  });

  test('a place is given back once, however often it is left', async () => {
    const places = new Places({ ...options, places: 1 });
    const leave = places.tryTake();
    const next = places.wait('a', never);
    leave?.();
    leave?.();
    expect(places.tryTake()).toBeNull();
    (await next)?.();
    expect(places.size).toBe(0);
  });

  test('an organisation fills half of the queue, the next one half of the rest', async () => {
    const places = new Places({ ...options, places: 1, waitingMax: 8 });
    places.tryTake();
    const waits = (organisation: string, count: number) => {
      const before = places.size;
      for (let sent = 0; sent < count; sent += 1) void places.wait(organisation, never);
      return places.size - before;
    };
    expect(waits('a', 10)).toBe(4);
    expect(waits('b', 10)).toBe(2);
    expect(waits('c', 10)).toBe(1);
    expect(await places.wait('a', never)).toBeNull();
  });

  test('a request that waits for too long, or whose caller is gone, waits no more', async () => {
    jest.useFakeTimers();
    const places = new Places({ ...options, places: 1, waitMaxMs: 2_000, overloadedWaitMaxMs: 100 });
    const leave = places.tryTake();
    const caller = new AbortController();
    const [gone, late] = [places.wait('a', caller.signal), places.wait('a', never)];
    caller.abort();
    expect(await gone).toBeNull();
    jest.advanceTimersByTime(2_000);
    expect(await late).toBeNull();
    expect(await places.wait('a', caller.signal)).toBeNull();
    leave?.();
    expect(places.size).toBe(0);
  });

  test('once one has waited for too long, all wait for a short time, until none was refused for a while', async () => {
    jest.useFakeTimers();
    const places = new Places({ places: 1, waitingMax: 8, waitMaxMs: 2_000, overloadedWaitMaxMs: 100 });
    const leave = places.tryTake();
    const waited = async (): Promise<number> => {
      const since = Date.now();
      await places.wait('a', never);
      return Date.now() - since;
    };
    const first = waited();
    await jest.advanceTimersByTimeAsync(1_850);
    const second = waited();
    await jest.advanceTimersByTimeAsync(149);
    const third = waited();
    await jest.advanceTimersByTimeAsync(200);
    // The wait of the second was too long from the moment when the first was refused.
    expect([await first, await second, await third]).toEqual([2_000, 150, 101]);
    const others = waited();
    await jest.advanceTimersByTimeAsync(100);
    expect(await others).toBeLessThanOrEqual(125);
    await jest.advanceTimersByTimeAsync(2_000);
    const burst = waited();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await burst).toBe(2_000);
    leave?.();
  });

  test('once one found no room, those that wait do so for a short time', async () => {
    jest.useFakeTimers();
    const places = new Places({ places: 1, waitingMax: 8, waitMaxMs: 2_000, overloadedWaitMaxMs: 100 });
    const leave = places.tryTake();
    const since = Date.now();
    const waiting = Array.from({ length: 4 }, () => places.wait('a', never));
    expect(await places.wait('a', never)).toBeNull();
    await jest.advanceTimersByTimeAsync(125);
    expect(await Promise.all(waiting)).toEqual([null, null, null, null]);
    expect(Date.now() - since).toBe(125);
    leave?.();
  });

  test('an organisation for which another left no room keeps its turns', async () => {
    jest.useFakeTimers();
    const places = new Places({ places: 1, waitingMax: 8, waitMaxMs: 2_000, overloadedWaitMaxMs: 100 });
    const leave = places.tryTake();
    const [, , , , one] = ['a', 'a', 'a', 'a', 'b', 'b'].map((organisation) => places.wait(organisation, never));
    expect(await places.wait('b', never)).toBeNull();
    await jest.advanceTimersByTimeAsync(1_000);
    const refused = jest.fn();
    void one?.then(refused);
    await jest.advanceTimersByTimeAsync(500);
    expect(refused).not.toHaveBeenCalled();
    leave?.();
  });

  test('while one organisation overloads the process, the requests of another wait for their turns', async () => {
    jest.useFakeTimers();
    const places = new Places({ places: 1, waitingMax: 8, waitMaxMs: 2_000, overloadedWaitMaxMs: 100 });
    const leave = places.tryTake();
    const first = places.wait('a', never);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await first).toBeNull();
    const [own, other] = [places.wait('a', never), places.wait('b', never)];
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await own).toBeNull();
    leave?.();
    const turn = await other;
    expect(turn).not.toBeNull();
    turn?.();
    expect(places.size).toBe(0);
  });
});

describe('refusals that are held', () => {
  /** How long each answer took, in milliseconds. */
  const answer = async (hold: ReturnType<typeof holdRefusals>, set: (ctx: Context) => void): Promise<number> => {
    const startedAt = performance.now();
    const headers = new Map<string, string>();
    const ctx = { state: {}, req: { complete: true }, set: headers.set.bind(headers) } as unknown as Context;
    await hold(ctx, async () => set(ctx));
    return performance.now() - startedAt;
  };

  test('a refusal is held for half a second to a second, but not more of them at a time than may be held', async () => {
    const hold = holdRefusals({ heldMax: 1 });
    const served = (): void => {};
    const [held, ...others] = await Promise.all([holdRefusal, holdRefusal, served].map((set) => answer(hold, set)));
    expect(held).toBeGreaterThanOrEqual(HELD_MS);
    for (const ms of others) expect(ms).toBeLessThan(held ?? 0);
    // There is room again.
    expect(await answer(hold, holdRefusal)).toBeGreaterThanOrEqual(HELD_MS);
  });

  test('where many are held, each is held for longer', async () => {
    const hold = holdRefusals();
    const times = await Promise.all(Array.from({ length: 2_000 }, () => answer(hold, holdRefusal)));
    expect(Math.min(...times.slice(1_900))).toBeGreaterThanOrEqual(HELD_MS * (1_900 / 500));
  });

  test('of the refusals of strangers some are sent at once in each second', async () => {
    const hold = holdRefusals({ strangersPerSecond: 2 });
    const stranger = (ctx: Context): void => {
      ctx.status = 401;
      ctx.state.errorCode = 'API_KEY_INVALID';
    };
    const caller = (ctx: Context): void => {
      ctx.status = 404;
      ctx.state.errorCode = 'WALLET_NOT_FOUND';
      ctx.state.caller = {};
    };
    // Over the end of a second, twice as many are sent at once.
    const times = await Promise.all(
      [...Array.from({ length: 6 }, () => stranger), caller, caller].map((set) => answer(hold, set)),
    );
    const held = times.map((ms) => ms >= HELD_MS);
    expect(held.slice(0, 6).filter(Boolean).length).toBeGreaterThanOrEqual(2);
    expect(held.slice(0, 2)).toEqual([false, false]);
    expect(held.slice(6)).toEqual([false, false]);
  });
});
