// The time limit of a rail's calls: whatever the adapter does, a call ends at its limit or with the attempt that it belongs to, and
// no send begins that may not run its whole time.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AttemptOverError, withinAttempt } from '../../src/concurrency/attempt.ts';
import {
  RAIL_CALL_MAX_MS,
  REQUEST_MAX_MS,
  REQUEST_RAIL_MAX_MS,
  STEP_MAX_MS,
} from '../../src/concurrency/timeLimits.ts';
import { newUuid } from '../../src/ids.ts';
import { instrumentedRail } from '../../src/rail/instrumented.ts';
import { type BankRail, RailUnavailableError } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { instruct, startSandbox, type TestSandbox } from './sandbox.ts';

const LIMIT_MS = 20;
/** Far more than any call here takes. */
const LONG_MS = 3_600_000;

const organisationId = newUuid();
const status = { organisationId, reference: 'reference' };
const instruction = instruct(organisationId);

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ clock: 'stopped' });
});

afterAll(() => sandbox.close());

/** An adapter that never answers a question about a transfer, nor a send. */
function hanging(limits: Partial<BankRail> = {}) {
  const signals: AbortSignal[] = [];
  const hang = (_request: unknown, signal?: AbortSignal) => {
    if (signal !== undefined) signals.push(signal);
    return new Promise<never>(() => {});
  };
  const adapter = { ...sandbox.rail, callLimitMs: LIMIT_MS, ...limits, sendTransfer: hang, transferStatus: hang };
  return { rail: instrumentedRail(adapter), signals };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('a call that is not answered', () => {
  test('ends at its limit as a rail that timed out, and its request is aborted', async () => {
    const { rail, signals } = hanging();
    const failure = await failureOf(rail.transferStatus(status));
    expect(failure).toBeInstanceOf(RailUnavailableError);
    expect(failure).toMatchObject({ timedOut: true, message: 'the rail did not respond within 20 ms' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('ends with its attempt, when that ends before the limit', async () => {
    const { rail, signals } = hanging({ callLimitMs: 5_000 });
    const endsAt = performance.now() + LIMIT_MS;
    const failure = await failureOf(withinAttempt({ endsAt }, () => rail.transferStatus(status)));
    expect(failure).toMatchObject({ name: 'RailUnavailable', timedOut: true });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('ends when its attempt is cancelled, or its caller leaves, and says why', async () => {
    const { rail } = hanging({ callLimitMs: 5_000 });
    const [attempt, caller] = [new AbortController(), new AbortController()];
    const reason = new Error('the worker ends');
    const endsAt = performance.now() + LONG_MS;
    const first = failureOf(withinAttempt({ endsAt, signal: attempt.signal }, () => rail.transferStatus(status)));
    const second = failureOf(rail.transferStatus(status, caller.signal));
    attempt.abort(reason);
    caller.abort(reason);
    expect(await Promise.all([first, second])).toEqual([reason, reason]);
  });

  test('is not made at all for an attempt that is over', async () => {
    const { rail, signals } = hanging();
    const failure = await failureOf(
      withinAttempt({ endsAt: performance.now() - 1 }, () => rail.transferStatus(status)),
    );
    expect(failure).toMatchObject({ name: 'RailUnavailable', timedOut: true });
    expect(signals).toEqual([]);
  });

  test('never runs longer than the limit for all rails', () => {
    expect(instrumentedRail({ ...sandbox.rail, callLimitMs: LONG_MS }).callLimitMs).toBe(RAIL_CALL_MAX_MS);
  });
});

describe('an adapter that reports an aborted request in words of its own', () => {
  test('is heard as a rail that timed out', async () => {
    const rail = instrumentedRail({
      ...sandbox.rail,
      callLimitMs: LIMIT_MS,
      transferStatus: (_request, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('socket hang up')));
        }),
    });
    expect(await failureOf(rail.transferStatus(status))).toMatchObject({ name: 'RailUnavailable', timedOut: true });
  });
});

describe('a send', () => {
  const aborted = AbortSignal.abort(new Error('given up'));
  test.each([
    ['has no time left for a whole call', { endsAt: 5 * LIMIT_MS }, 10 * LIMIT_MS],
    ['was given up', { endsAt: LONG_MS, signal: aborted }, LIMIT_MS],
    ['is of a process that is about to end', { endsAt: LONG_MS, closing: aborted }, LIMIT_MS],
  ])('does not begin in an attempt that %s', async (_which, { endsAt, ...attempt }, callLimitMs) => {
    const { rail, signals } = hanging({ callLimitMs });
    const within = { ...attempt, endsAt: performance.now() + endsAt };
    expect(await failureOf(withinAttempt(within, () => rail.sendTransfer(instruction)))).toBeInstanceOf(
      AttemptOverError,
    );
    expect(signals).toEqual([]);
  });

  test('that is unknown to the rail counts as not made only after the limit of a call', () => {
    const { rail } = hanging({ callLimitMs: 7_000, unknownIsFinalAfterMs: 100 });
    expect(rail.unknownIsFinalAfterMs).toBe(7_000);
    expect(hanging({ callLimitMs: 100, unknownIsFinalAfterMs: 7_000 }).rail.unknownIsFinalAfterMs).toBe(7_000);
  });
});

test('the sandbox bank is asked nothing after the signal', async () => {
  const { rail, organisationId: owner } = sandbox;
  const signal = AbortSignal.abort(new Error('given up'));
  const given = instruct(owner);
  await expect(rail.sendTransfer(given, signal)).rejects.toThrow('given up');
  expect(await rail.transferStatus({ organisationId: owner, reference: given.reference })).toBeNull();
});

test('a step has time for three calls, and a request for the failure of one', () => {
  expect(STEP_MAX_MS).toBeGreaterThan(3 * RAIL_CALL_MAX_MS);
  expect(REQUEST_RAIL_MAX_MS).toBeLessThan(REQUEST_MAX_MS);
});

describe('a request', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi({
      rails: (rails) => {
        const adapter = { ...(rails.of('test') as BankRail), callLimitMs: LIMIT_MS };
        const never = () => new Promise<never>(() => {});
        return new Rails({ test: instrumentedRail({ ...adapter, openVirtualAccount: never }) });
      },
    });
  });

  afterAll(() => api.close());

  test('whose rail does not answer in time is told so, and its payment is kept as failed', async () => {
    const walletId = await api.createWallet();
    const body = { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: walletId };
    const { status: answered, error } = await api.test.money('/payments', body);
    expect([answered, error.code]).toEqual([504, 'BANK_RAIL_TIMEOUT']);
    const { items } = await api.test.get(`/payments?targetWalletId=${walletId}`);
    expect(items.map((payment) => payment.status)).toEqual(['failed']);
  });
});
