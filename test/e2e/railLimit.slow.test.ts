// A bank that is down and comes back while many flows wait for it: it is hardly called while it is down, never called
// more often than the limit allows, and every flow finishes. `RAIL_FLOWS=1000 npm test -- railLimit.slow` runs more.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ALL_ORGANISATIONS } from '../../src/ids.ts';
import { callSlots, type LimitScope, type TakeSlot } from '../../src/rail/callSlots.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { instrumentedRail } from '../../src/rail/instrumented.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { setRailLimit } from '../../src/resources/railLimits.ts';
import { pauseRail, resumeRail } from '../../src/resources/railPauses.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

const FLOWS = Number(process.env.RAIL_FLOWS ?? 30);
const LIMIT = 20;
const LIMIT_MS = 300_000 + FLOWS * 1_000;
const SANDBOX: LimitScope = { organisationId: ALL_ORGANISATIONS, environment: 'test', rail: 'sandbox' };

let flows: TestFlows;
let takeSlot: TakeSlot = async () => {};
let isDown = false;
/** When the bank was called. */
const calls: number[] = [];

const CALLS = ['banks', 'resolveAccount', 'sendTransfer', 'transferStatus'] as const;

/** The sandbox bank, whose calls are counted, behind the limit. */
function counted(rails: Rails): Rails {
  const bank = rails.shared('test') as BankRail;
  const counting = Object.fromEntries(
    CALLS.map((name) => [
      name,
      async (...args: unknown[]) => {
        calls.push(performance.now());
        if (isDown) throw new RailUnavailableError('the bank is down');
        return await (bank[name] as (...given: unknown[]) => Promise<unknown>)(...args);
      },
    ]),
  );
  return new Rails({ test: instrumentedRail({ ...bank, ...counting }, (signal, caller) => takeSlot(signal, caller)) });
}

beforeAll(async () => {
  flows = await startTestFlows({ rails: counted });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const note = { operator: OPERATORS.ada, reason: 'the bank is down' };

const statuses = async () =>
  await flows.sql<{ status: string; count: number }[]>`
    SELECT status, count(*)::int AS count FROM withdrawals GROUP BY status`;

test(
  'a bank that is down is hardly called, and when it is back all flows finish within the limit',
  async () => {
    await pauseRail(flows.sql, 'test', note);
    const walletId = await flows.createWallet(undefined, { balance: 5_000 * FLOWS });
    for (let count = 0; count < FLOWS; count += 1) {
      const body = { amount: 1_000, accountNumber: '0123456789', bankCode: '058' };
      expect((await flows.test.money(`/wallets/${walletId}/withdraw`, body)).status).toBe(201);
    }
    await waitFor('all flows to wait for the rail', async () => {
      const query = `Attention = 'rail_paused' AND TaskQueue = '${flows.dependencies.config.temporal.taskQueue}'`;
      return (await flows.temporal.workflow.count(query)).count === FLOWS;
    });

    takeSlot = callSlots(flows.dependencies.asyncCommitSql, SANDBOX, LIMIT);
    isDown = true;
    calls.length = 0;
    await resumeRail(flows.sql, 'test', note);
    await waitFor(
      'all flows to have met the outage',
      async () => {
        const query = `Attention IS NULL AND ExecutionStatus = 'Running' AND WorkflowType = 'withdrawal' AND TaskQueue = '${flows.dependencies.config.temporal.taskQueue}'`;
        return (await flows.temporal.workflow.count(query)).count === FLOWS;
      },
      LIMIT_MS,
    );
    expect(calls.length).toBeLessThan(FLOWS);

    isDown = false;
    await waitFor(
      'all withdrawals to be completed',
      async () => {
        const [row, ...others] = await statuses();
        return others.length === 0 && row?.status === 'completed';
      },
      LIMIT_MS,
    );
    const seconds = ((calls.at(-1) ?? 0) - (calls[0] ?? 0)) / 1_000;
    const peak = Math.max(...calls.map((from) => calls.filter((at) => at >= from && at < from + 1_000).length));
    expect(peak).toBeLessThanOrEqual(LIMIT);
    if (process.env.RAIL_FLOWS !== undefined)
      console.log(`${FLOWS} flows: ${calls.length} calls in ${seconds.toFixed(1)} s, at most ${peak} in one second`);
    const sends = await flows.sql<{ times: number }[]>`SELECT DISTINCT times FROM sandbox_bank.requests`;
    expect([...sends]).toEqual([{ times: 1 }]);
  },
  LIMIT_MS,
);

test('a request over the limit is answered with 503 and when to retry, and changes nothing', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 103_000 });
  await setRailLimit(flows.sql, { ...SANDBOX, callsPerSecond: LIMIT }, note);
  await flows.sql`UPDATE rail_call_limits SET next_at = now() + interval '10 minutes'`;
  const payment = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: walletId };
  takeSlot = callSlots(flows.dependencies.asyncCommitSql, SANDBOX, LIMIT);
  for (const [path, body] of [
    [`/wallets/${walletId}/withdraw`, { amount: 100_000, accountNumber: '0123456789', bankCode: '058' }],
    ['/payments', payment],
  ] as const) {
    const { status, error } = await flows.test.money(path, body);
    expect([path, status, error.code]).toEqual([path, 503, 'SERVICE_UNAVAILABLE']);
    expect(error.details).toMatchObject({ service: 'bank_rail', retryable: true });
    expect(error.details.retryAfterSeconds).toBeGreaterThan(590);
  }
  expect(await flows.balanceOf(walletId)).toBe(103_000);
  expect(await flows.sql`SELECT FROM payments`).toHaveLength(0);
  await flows.sql`UPDATE rail_call_limits SET next_at = '-infinity'`;
});
