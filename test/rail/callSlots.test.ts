// The limit of calls a second to a rail, with the row in Postgres that all processes share.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { callSlots, type TakeSlot } from '../../src/rail/callSlots.ts';
import { RailBusyError } from '../../src/rail/errors.ts';
import { setRailLimit } from '../../src/resources/railLimits.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

beforeEach(() => api.sql`UPDATE rail_call_limits SET next_at = '-infinity', calls_per_second = NULL`);

const process = (limit: number): TakeSlot => callSlots(api.dependencies.asyncCommitSql, 'test', limit);
const signal = new AbortController().signal;

/** Takes so many slots at once. Returns when the calls started, and the refusals. */
async function take(processes: TakeSlot[], count: number): Promise<{ starts: number[]; refused: RailBusyError[] }> {
  const starts: number[] = [];
  const refused: RailBusyError[] = [];
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      try {
        await processes[index % processes.length]?.(signal);
        starts.push(performance.now());
      } catch (error) {
        if (!(error instanceof RailBusyError)) throw error;
        refused.push(error);
      }
    }),
  );
  return { starts: starts.toSorted((a, b) => a - b), refused };
}

test('calls start no faster than the limit, and those that would wait for too long are refused', async () => {
  const limit = 20;
  const { starts, refused } = await take([process(limit)], 60);
  for (const [index, start] of starts.entries()) {
    const later = starts[index + limit] ?? Number.POSITIVE_INFINITY;
    expect(later - start).toBeGreaterThan(1_000);
  }
  expect(starts.length).toBeGreaterThan(limit);
  expect(refused.length).toBeGreaterThan(0);
  for (const { retryAfterMs } of refused) expect(retryAfterMs).toBeGreaterThan(2_000);
});

test('all processes share the limit', async () => {
  const began = performance.now();
  const { starts } = await take([process(20), process(20), process(20)], 120);
  const seconds = ((starts.at(-1) ?? 0) - began) / 1_000;
  expect(starts.length).toBeLessThanOrEqual(20 * (seconds + 1));
});

test('a process follows a limit that operators set, at once, and the default when they end it', async () => {
  const rail = process(10_000);
  const note = { operator: OPERATORS.ada, reason: 'agreed with the bank' };
  expect((await take([rail], 100)).refused).toEqual([]);
  expect(await setRailLimit(api.sql, { environment: 'test', callsPerSecond: 1 }, note)).toBe(true);
  expect(await setRailLimit(api.sql, { environment: 'test', callsPerSecond: 1 }, note)).toBe(false);
  expect((await take([rail], 100)).refused.length).toBeGreaterThan(90);
  expect(await setRailLimit(api.sql, { environment: 'test', callsPerSecond: null }, note)).toBe(true);
  await api.sql`UPDATE rail_call_limits SET next_at = '-infinity'`;
  expect((await take([rail], 100)).refused).toEqual([]);
  const audited = await api.sql<{ action: string; operator: string; reason: string }[]>`
    SELECT action, operator, reason FROM audit_log WHERE action = 'rail.limit' ORDER BY id`;
  expect([...audited]).toEqual([
    { action: 'rail.limit', operator: 'ada', reason: '1 calls a second: agreed with the bank' },
    { action: 'rail.limit', operator: 'ada', reason: 'default calls a second: agreed with the bank' },
  ]);
});

test('the limit of one environment does not delay the other', async () => {
  await api.sql`UPDATE rail_call_limits SET next_at = now() + interval '1 hour' WHERE environment = 'live'`;
  expect((await take([process(10_000)], 10)).refused).toEqual([]);
});
