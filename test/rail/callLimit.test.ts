// The timeout of rail calls: whatever the adapter does, a call ends at its timeout or with its attempt, and no send
// starts that could not run for the whole timeout.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AttemptOverError, withinAttempt } from '../../src/concurrency/attempt.ts';
import {
  RAIL_CALL_MAX_MS,
  REQUEST_MAX_MS,
  REQUEST_RAIL_MAX_MS,
  STEP_MAX_MS,
} from '../../src/concurrency/timeLimits.ts';
import { newUuid } from '../../src/ids.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { instruct, startSandbox } from './sandbox.ts';

const LIMIT_MS = 20;
/** Far longer than any call here takes. */
const LONG_MS = 3_600_000;

const organisationId = newUuid();
const status = { organisationId, reference: 'reference' };
const instruction = instruct(organisationId);

const sandbox = await startSandbox({ clock: 'stopped' });

afterAll(() => sandbox.close());

/** The sandbox bank's adapter with another limit. */
function limitedTo(limitMs: number, rail: BankRail = sandbox.rail, notVisibleForMs = 0): BankRail {
  const { calls, transfers } = rail.capabilities;
  const capabilities = {
    ...rail.capabilities,
    calls: { ...calls, limitMs },
    transfers: { ...transfers, notVisibleForMs },
  };
  return { ...rail, capabilities };
}

/** An adapter whose status polls and sends never return. */
function hanging(limitMs = LIMIT_MS) {
  const signals: AbortSignal[] = [];
  const hang = (_request: unknown, signal?: AbortSignal) => {
    if (signal !== undefined) signals.push(signal);
    return new Promise<never>(() => {});
  };
  const adapter = { ...limitedTo(limitMs), sendTransfer: hang, transferStatus: hang };
  return { rail: guardedRail(adapter), signals };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('calls without a response', () => {
  test('a call ends at its timeout with a RailUnavailableError, and its request is aborted', async () => {
    const { rail, signals } = hanging();
    const failure = await failureOf(rail.transferStatus(status));
    expect(failure).toBeInstanceOf(RailUnavailableError);
    expect(failure).toMatchObject({ timedOut: true, message: 'the rail did not respond within 20 ms' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('a call ends with its attempt if that ends before the timeout', async () => {
    const { rail, signals } = hanging(5_000);
    const endsAt = performance.now() + LIMIT_MS;
    const failure = await failureOf(withinAttempt({ endsAt }, () => rail.transferStatus(status)));
    expect(failure).toMatchObject({ name: 'RailUnavailableError', timedOut: true });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('a call ends with the reason when its attempt or its caller is cancelled', async () => {
    const { rail } = hanging(5_000);
    const [attempt, caller] = [new AbortController(), new AbortController()];
    const reason = new Error('the worker ends');
    const endsAt = performance.now() + LONG_MS;
    const first = failureOf(withinAttempt({ endsAt, signal: attempt.signal }, () => rail.transferStatus(status)));
    const second = failureOf(rail.transferStatus(status, caller.signal));
    attempt.abort(reason);
    caller.abort(reason);
    expect(await Promise.all([first, second])).toEqual([reason, reason]);
  });

  test('no call is made for an attempt that has ended', async () => {
    const { rail, signals } = hanging();
    const failure = await failureOf(
      withinAttempt({ endsAt: performance.now() - 1 }, () => rail.transferStatus(status)),
    );
    expect(failure).toMatchObject({ name: 'RailUnavailableError', timedOut: true });
    expect(signals).toEqual([]);
  });

  test('attempts that have ended say nothing about the rail: its breaker stays closed', async () => {
    const rail = guardedRail(limitedTo(LONG_MS));
    for (let calls = 0; calls < 20; calls += 1) {
      const call = () => rail.transferStatus(status);
      expect(await failureOf(withinAttempt({ endsAt: performance.now() - 1 }, call))).toMatchObject({ timedOut: true });
    }
    expect(await rail.transferStatus(status)).toBeNull();
  });

  test('no call timeout exceeds the limit for all rails', () => {
    expect(guardedRail(limitedTo(LONG_MS)).capabilities.calls.limitMs).toBe(RAIL_CALL_MAX_MS);
  });
});

test('every call of a burst of requests is made: their number is bounded by their admission', async () => {
  const { rail, signals } = hanging();
  const failures = await Promise.all(Array.from({ length: 256 }, () => failureOf(rail.transferStatus(status))));
  expect(signals).toHaveLength(256);
  expect(failures.every((failure) => failure instanceof RailUnavailableError)).toBe(true);
});

describe('adapters that report an aborted request with their own error', () => {
  test("an aborted request with the adapter's own error is a timed-out RailUnavailableError", async () => {
    const rail = guardedRail({
      ...limitedTo(LIMIT_MS),
      transferStatus: (_request, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('socket hang up')));
        }),
    });
    expect(await failureOf(rail.transferStatus(status))).toMatchObject({
      name: 'RailUnavailableError',
      timedOut: true,
    });
  });
});

describe('sends', () => {
  const aborted = AbortSignal.abort(new Error('given up'));
  test.each([
    ['has less time left than a whole call', { endsAt: 5 * LIMIT_MS }, 10 * LIMIT_MS],
    ['was cancelled', { endsAt: LONG_MS, signal: aborted }, LIMIT_MS],
    ['belongs to a process that is shutting down', { endsAt: LONG_MS, closing: aborted }, LIMIT_MS],
  ])('no send starts in an attempt that %s', async (_which, { endsAt, ...attempt }, callLimitMs) => {
    const { rail, signals } = hanging(callLimitMs);
    const within = { ...attempt, endsAt: performance.now() + endsAt };
    expect(await failureOf(withinAttempt(within, () => rail.sendTransfer(instruction)))).toBeInstanceOf(
      AttemptOverError,
    );
    expect(signals).toEqual([]);
  });

  test('notVisibleForMs is at least the call timeout', () => {
    const finalAfterMs = (limitMs: number, notVisibleForMs: number) =>
      guardedRail(limitedTo(limitMs, sandbox.rail, notVisibleForMs)).capabilities.transfers.notVisibleForMs;
    expect(finalAfterMs(7_000, 100)).toBe(7_000);
    expect(finalAfterMs(100, 7_000)).toBe(7_000);
  });
});

test('the sandbox bank receives no call after the signal is aborted', async () => {
  const { rail, organisationId: owner } = sandbox;
  const signal = AbortSignal.abort(new Error('given up'));
  const instruction = instruct(owner);
  await expect(rail.sendTransfer(instruction, signal)).rejects.toThrow('given up');
  expect(await rail.transferStatus({ organisationId: owner, reference: instruction.reference })).toBeNull();
});

test('an activity has time for three calls, and a request for one failed call', () => {
  expect(STEP_MAX_MS).toBeGreaterThan(3 * RAIL_CALL_MAX_MS);
  expect(REQUEST_RAIL_MAX_MS).toBeLessThan(REQUEST_MAX_MS);
});

describe('requests while the rail does not respond', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi({
      rails: (rails) => {
        const adapter = limitedTo(LIMIT_MS, rails.shared('test') as BankRail);
        const never = () => new Promise<never>(() => {});
        return new Rails({ test: guardedRail({ ...adapter, openVirtualAccount: never }) });
      },
    });
  });

  afterAll(() => api.close());

  test('a request whose rail call times out is 504, and its payment is stored as failed', async () => {
    const walletId = await api.createWallet();
    const body = { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: walletId };
    const { status: statusCode, error } = await api.test.money('/payments', body);
    expect([statusCode, error.code]).toEqual([504, 'BANK_RAIL_TIMEOUT']);
    const { items } = await api.test.get(`/payments?targetWalletId=${walletId}`);
    expect(items.map((payment) => payment.status)).toEqual(['failed']);
  });
});
