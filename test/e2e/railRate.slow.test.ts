// A bank that is down and comes back while many flows wait for it: it is hardly called while it is down, the steps that
// call it stay within the rate of the task queue, and every flow finishes. `RAIL_FLOWS=1000 npm test -- railRate.slow`
// runs more.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { pauseRail, resumeRail } from '../../src/resources/rails/pauses.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

const FLOWS = Number(process.env.RAIL_FLOWS ?? 60);
const STEPS_PER_SECOND = 8;
/** Each partition of a task queue has its share of the rate; after a pause it hands out those of one second more. */
const PARTITIONS = 4;
const LIMIT_MS = 300_000 + FLOWS * 1_000;

let flows: TestFlows;
let isDown = false;
/** When the bank was called. A step begins with a status query, and may send. */
const [queries, sends]: [number[], number[]] = [[], []];

/** The sandbox bank, whose calls are counted. */
function counted(rails: Rails): Rails {
  const bank = rails.shared('test') as BankRail;
  const count = (times: number[]): void => {
    times.push(performance.now());
    if (isDown) throw new RailUnavailableError('the bank is down');
  };
  const counting: BankRail = {
    ...bank,
    transferStatus: async (request, signal) => {
      count(queries);
      return await bank.transferStatus(request, signal);
    },
    sendTransfer: async (instruction, signal) => {
      count(sends);
      return await bank.sendTransfer(instruction, signal);
    },
  };
  return new Rails({ test: guardedRail(counting) });
}

beforeAll(async () => {
  flows = await startTestFlows({
    rails: counted,
    settings: { RAIL_ACTIVITIES_PER_SECOND: String(STEPS_PER_SECOND) },
  });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const peakOf = (times: readonly number[], windowMs: number): number =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));

test(
  'a bank that is down is hardly called, and when it is back all flows finish within the rate',
  async () => {
    const note = { proof: OPERATORS.ada.proof, reason: 'the bank is down' };
    const query = `WorkflowType = 'withdrawal' AND TaskQueue = '${flows.dependencies.config.temporal.taskQueue}'`;
    const flowsWith = async (condition: string): Promise<boolean> =>
      (await flows.temporal.workflow.count(`${query} AND ${condition}`)).count === FLOWS;
    await pauseRail(flows.sql, 'test', note);
    const walletId = await flows.createWallet(undefined, { balance: 5_000 * FLOWS });
    for (let count = 0; count < FLOWS; count += 1) {
      const body = { amount: 1_000, accountNumber: '0123456789', bankCode: '058' };
      expect((await flows.test.money(`/wallets/${walletId}/withdraw`, body)).status).toBe(201);
    }
    await waitFor('all flows to wait for the rail', () => flowsWith(`Attention = 'rail_paused'`), LIMIT_MS);

    isDown = true;
    const before = queries.length;
    await resumeRail(flows.sql, 'test', note);
    await waitFor(
      'all flows to have met the outage',
      () => flowsWith(`Attention IS NULL AND ExecutionStatus = 'Running'`),
      LIMIT_MS,
    );
    expect(queries.length - before).toBeLessThan(FLOWS);

    isDown = false;
    await waitFor(
      'all withdrawals to be completed',
      async () => {
        const [row, ...others] = await flows.sql<{ status: string }[]>`SELECT DISTINCT status FROM withdrawals`;
        return others.length === 0 && row?.status === 'completed';
      },
      LIMIT_MS,
    );
    for (const seconds of [1, 10])
      expect(peakOf(queries, seconds * 1_000)).toBeLessThanOrEqual((seconds + 1) * STEPS_PER_SECOND + PARTITIONS);
    expect(sends).toHaveLength(FLOWS);
    if (process.env.RAIL_FLOWS !== undefined)
      console.log(`${FLOWS} flows: at most ${peakOf(queries, 1_000)} queries in a second, ${sends.length} sends`);
    const made = await flows.sql<{ times: number }[]>`SELECT DISTINCT times FROM sandbox_bank.requests`;
    expect([...made]).toEqual([{ times: 1 }]);
  },
  LIMIT_MS,
);
