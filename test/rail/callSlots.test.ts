// The limit of calls a second to a rail, with the row in Postgres that all processes share.
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ALL_ORGANISATIONS, newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Caller } from '../../src/rail/callQueue.ts';
import { callSlots, type LimitScope, type TakeSlot } from '../../src/rail/callSlots.ts';
import { RailBusyError } from '../../src/rail/errors.ts';
import type { BankRail } from '../../src/rail/port.ts';
import type { RailProvider } from '../../src/rail/provider.ts';
import { PROVIDERS } from '../../src/rail/providers.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { connectContract } from '../../src/resources/railContracts.ts';
import { setRailLimit } from '../../src/resources/railLimits.ts';
import { createRuntime, type ServiceRuntime } from '../../src/runtime.ts';
import { runCli } from '../cli/run.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

beforeEach(() => api.sql`DELETE FROM rail_call_limits`);

const SANDBOX: LimitScope = { organisationId: ALL_ORGANISATIONS, environment: 'test', rail: 'sandbox' };
const process = (limit: number | null, scope = SANDBOX): TakeSlot =>
  callSlots(api.dependencies.asyncCommitSql, scope, limit);
const signal = new AbortController().signal;
const [ADA, BAYO, CHIDI] = [newUuid(), newUuid(), newUuid()];
const asks = (organisationId: Uuid | null, isBatch = false): Caller => ({ organisationId, isBatch });
const note = { operator: OPERATORS.ada, reason: 'agreed with the bank' };
const setLimit = (callsPerSecond: number | null, scope = SANDBOX): Promise<boolean> =>
  setRailLimit(api.sql, { ...scope, callsPerSecond }, note);

/** Calls at once; when those that were made started, and the refusals of the others. */
async function makeCalls(calls: (() => Promise<unknown>)[]): Promise<{ starts: number[]; refused: RailBusyError[] }> {
  const starts: number[] = [];
  const refused: RailBusyError[] = [];
  await Promise.all(
    calls.map(async (call) => {
      try {
        await call();
        starts.push(performance.now());
      } catch (error) {
        if (!(error instanceof RailBusyError)) throw error;
        refused.push(error);
      }
    }),
  );
  return { starts: starts.toSorted((a, b) => a - b), refused };
}

/** Takes so many slots at once, each process in turn. */
const take = (processes: TakeSlot[], count: number) =>
  makeCalls(
    Array.from({ length: count }, (_, index) => async () => processes[index % processes.length]?.(signal, asks(ADA))),
  );

function expectWithin(limit: number, starts: number[]): void {
  for (const [index, start] of starts.entries()) {
    const later = starts[index + limit] ?? Number.POSITIVE_INFINITY;
    expect(later - start).toBeGreaterThan(1_000);
  }
}

test('calls start no faster than the limit, and those that would wait for too long are refused', async () => {
  const { starts, refused } = await take([process(20)], 60);
  expectWithin(20, starts);
  expect(starts.length).toBeGreaterThan(1);
  expect(refused.length).toBeGreaterThan(0);
  // Most at once, when there is no slot left for them within two seconds.
  expect(refused.filter(({ retryAfterMs }) => retryAfterMs > 2_000).length).toBeGreaterThan(10);
});

test('all processes share the limit', async () => {
  const began = performance.now();
  const { starts } = await take([process(20), process(20), process(20)], 120);
  const seconds = ((starts.at(-1) ?? 0) - began) / 1_000;
  expect(starts.length).toBeGreaterThan(1);
  expect(starts.length).toBeLessThanOrEqual(20 * (seconds + 1));
});

test('a process follows a limit that operators set, at once, and the default when they end it', async () => {
  const rail = process(10_000);
  expect((await take([rail], 100)).refused).toEqual([]);
  expect(await setLimit(1)).toBe(true);
  expect(await setLimit(1)).toBe(false);
  expect((await take([rail], 100)).refused.length).toBeGreaterThan(90);
  expect(await setLimit(null)).toBe(true);
  expect(await setLimit(null)).toBe(false);
  await api.sql`UPDATE rail_call_limits SET next_at = '-infinity'`;
  expect((await take([rail], 100)).refused).toEqual([]);
  const audited = await api.sql<{ action: string; operator: string; reason: string }[]>`
    SELECT action, operator, reason FROM audit_log WHERE action = 'rail.limit' ORDER BY id`;
  expect([...audited]).toEqual([
    { action: 'rail.limit', operator: 'ada', reason: '1 calls a second of sandbox: agreed with the bank' },
    { action: 'rail.limit', operator: 'ada', reason: 'default calls a second of sandbox: agreed with the bank' },
  ]);
});

test('a rail without a limit takes no slots, and follows one that operators set, and its end', async () => {
  const rail = process(null);
  expect((await take([rail], 1_000)).refused).toEqual([]);
  expect(await api.sql`SELECT FROM rail_call_limits`).toHaveLength(0);
  expect(await setLimit(null)).toBe(false); // it was not limited
  await setLimit(1);
  await waitFor('the process to follow', async () => (await take([rail], 100)).refused.length > 90);
  await setLimit(null);
  expect((await take([rail], 100)).refused).toEqual([]);
});

test('the limit of one contract delays neither another one nor another rail', async () => {
  await setLimit(1);
  await api.sql`UPDATE rail_call_limits SET next_at = now() + interval '1 hour'`;
  expect((await take([process(null)], 10)).refused).toHaveLength(10);
  for (const other of [{ organisationId: BAYO }, { environment: 'live' as const }, { rail: 'monnify' }]) {
    expect((await take([process(10_000, { ...SANDBOX, ...other })], 10)).refused).toEqual([]);
    expect((await take([process(null, { ...SANDBOX, ...other })], 10)).refused).toEqual([]);
  }
});

describe('turns', () => {
  /** Who is granted slots of a limited rail, in order. `calls` is asked at once, in this order. */
  async function grants(calls: [name: string, caller: Caller][], limit = 50): Promise<string[]> {
    const rail = process(limit);
    await setLimit(limit);
    const granted: string[] = [];
    await Promise.all(
      calls.map(async ([name, caller]) => {
        await rail(signal, caller);
        granted.push(name);
      }),
    );
    return granted;
  }
  const many = (name: string, caller: Caller, count: number) =>
    Array.from({ length: count }, (): [string, Caller] => [name, caller]);

  test('organisations take turns, whichever asked for more or earlier', async () => {
    const granted = await grants([
      ...many('ada', asks(ADA), 20),
      ...many('bayo', asks(BAYO), 2),
      ...many('chidi', asks(CHIDI), 1),
    ]);
    expect(granted.slice(0, 6)).toEqual(['ada', 'bayo', 'chidi', 'ada', 'bayo', 'ada']);
    expect(granted.slice(6)).toEqual(Array.from({ length: 17 }, () => 'ada'));
  });

  test('a call that comes while another organisation has used up the two seconds is made, and the other waits', async () => {
    const rail = process(20);
    const flood = makeCalls(
      many('ada', asks(ADA), 200).map(
        ([, caller]) =>
          () =>
            rail(signal, caller),
      ),
    );
    let isOver = false;
    void flood.then(() => {
      isOver = true;
    });
    await waitFor('the first slots', async () => (await api.sql`SELECT FROM rail_call_limits`).length > 0);
    await rail(signal, asks(BAYO));
    expect(isOver).toBe(false);
    expect((await flood).refused.length).toBeGreaterThan(100);
  });

  test('interactive calls go before batches, which get one slot in four', async () => {
    const granted = await grants([...many('batch', asks(ADA, true), 4), ...many('awaited', asks(ADA), 9)]);
    const round = ['awaited', 'awaited', 'awaited', 'batch'];
    expect(granted).toEqual([...round, ...round, ...round, 'batch']);
  });

  test('a call that is aborted while it waits gives its turn to the next', async () => {
    const rail = process(20);
    await rail(signal, asks(ADA));
    const abort = new AbortController();
    const aborted = rail(abort.signal, asks(ADA));
    const next = rail(signal, asks(ADA));
    abort.abort(new Error('the caller has left'));
    await expect(aborted).rejects.toThrow('the caller has left');
    await next;
    expect((await take([rail], 5)).starts).toHaveLength(5);
  });
});

describe('of a contract', () => {
  const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
  let organisationId: Uuid;
  const runtimes: ServiceRuntime[] = [];
  const starts: number[] = [];

  beforeAll(async () => {
    const { sandboxBank, keyring } = api.dependencies;
    const bank = createSandboxRail(sandboxBank, keyring);
    const pocket: RailProvider = {
      name: 'pocket',
      version: '1',
      capabilities: { ...bank.capabilities, calls: { limitMs: 7_000, perSecond: null } },
      credentials: z.object({ apiKey: z.string() }),
      isSandbox: () => false,
      open: () => ({
        ...bank,
        capabilities: pocket.capabilities,
        name: 'pocket',
        resolveAccount: async () => {
          starts.push(performance.now());
          return await Promise.resolve({ accountName: 'Ada' });
        },
        close: () => Promise.resolve(),
      }),
    };
    (PROVIDERS as RailProvider[]).push(pocket);
    ({ organisationId } = await api.createOrganisation());
    const id = newUuid();
    const sealed = keyring.seal('rail-credentials', id, JSON.stringify({ apiKey: 'of the test' }));
    const book = { organisationId, environment: 'live' as const };
    await connectContract(api.sql, book, { id, rail: 'pocket', sealed, capabilities: pocket.capabilities }, note);
    const { config, log } = api.dependencies;
    runtimes.push(createRuntime(config, log), createRuntime(config, log));
  });

  afterAll(async () => {
    (PROVIDERS as RailProvider[]).pop();
    await Promise.all(runtimes.map((runtime) => runtime.close()));
  });

  const limit = (calls: string, ...words: string[]) =>
    runCli(['rail', 'limit', 'live', calls, '--reason', 'why', ...words], {
      databaseUrl: api.databaseUrl,
      home: tmpdir(),
      more: { MANILLA_KEYS: KEYS },
    });

  test('whose rail declares none: all processes share what operators set, within seconds', async () => {
    const book = { organisationId, environment: 'live' as const };
    const rails = (await Promise.all(runtimes.map(({ rails: all }) => all.of(book)))) as BankRail[];
    const enquire = (count: number) =>
      makeCalls(
        rails.flatMap((rail) =>
          Array.from(
            { length: count },
            () => () => rail.resolveAccount({ organisationId, accountNumber: '0123456789', bankCode: '058' }),
          ),
        ),
      );
    expect((await enquire(100)).refused).toEqual([]);

    const words = ['--organisation', publicId('organisation', organisationId)];
    const set = await limit('10', ...words);
    expect([set.exitCode, set.output.trim()]).toEqual([
      0,
      `The contract of ${words[1]} with pocket is limited to 10 calls a second.`,
    ]);
    // Both have followed when none of 20 calls of each is made at once.
    await waitFor('both processes to follow', async () => (await enquire(20)).refused.length > 20);
    starts.length = 0;
    const { refused } = await enquire(30);
    expect(refused.length).toBeGreaterThan(20);
    expect(starts.length).toBeGreaterThan(1);
    expectWithin(10, starts);

    const shown = await runCli(['rail', 'show'], { databaseUrl: api.databaseUrl, home: tmpdir() });
    expect(shown.output).toMatch(/^callsPerSecond +10$/m);
    expect(shown.output).toMatch(/^│ live .* by contract/m);
    expect((await limit('default', ...words)).exitCode).toBe(0);
    expect((await enquire(100)).refused).toEqual([]);
  });

  test('rail limit names what it limits: the sandbox bank for all, and on live one contract', async () => {
    const { organisationId: other } = await api.createOrganisation();
    const none = await limit('10', '--organisation', publicId('organisation', other));
    expect(none).toMatchObject({ exitCode: 1, errors: expect.stringMatching(/no connected contract/) });
    const run = (...words: string[]) =>
      runCli(['rail', 'limit', 'test', '10', '--reason', 'why', ...words], {
        databaseUrl: api.databaseUrl,
        home: tmpdir(),
      });
    expect((await run()).output.trim()).toBe('The sandbox bank is limited to 10 calls a second.');
    expect((await run()).output.trim()).toBe('The sandbox bank was already limited to 10 calls a second.');
    const named = await run('--organisation', publicId('organisation', other));
    expect(named).toMatchObject({ exitCode: 2, errors: expect.stringMatching(/one limit for all organisations/) });
  });
});
