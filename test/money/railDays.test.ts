// Property-based test: random days of customers and payers over each live rail, while sends are lost in every way and
// callbacks are lost. Afterwards each reference was paid as often as its outcome says, the statement of the provider
// has no break, and what it holds for us is what our books say.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { publicId } from '../../src/ids.ts';
import { Rails } from '../../src/rail/rails.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import '../ledger/seed.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { RAIL_WORLDS, type RailWorld, type SendFault } from '../support/railWorlds.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';

/** The number of random days of each rail: `MONEY_DAYS=50 npm test -- test/money/railDays`. */
const DAYS = Number(process.env.MONEY_DAYS ?? 1);
const LIMIT_MS = 600_000;

const amount = fc.integer({ min: 10_000, max: 500_000 });
const faults: SendFault[] = ['reset', 'html_502', 'null_body', 'rate_limited'];
const fault = fc.record({ fault: fc.constantFrom(...faults), acts: fc.boolean() });

interface Transfer {
  amount: number;
  outcome: 'complete' | 'fail' | 'return';
  fault: { fault: SendFault; acts: boolean } | null;
  isTold: boolean;
}
interface Day {
  payments: { amount: number; isTold: boolean }[];
  transfers: Transfer[];
}

const day: fc.Arbitrary<Day> = fc.record({
  payments: fc.array(fc.record({ amount, isTold: fc.boolean() }), { minLength: 2, maxLength: 4 }),
  transfers: fc.array(
    fc.record({
      amount,
      outcome: fc.constantFrom('complete', 'fail', 'return'),
      fault: fc.option(fault, { freq: 2 }),
      isTold: fc.boolean(),
    }),
    { minLength: 6, maxLength: 10 },
  ),
});

let lastAccount = 1_800_000_000;
const newAccount = (): string => {
  lastAccount += 1;
  return String(lastAccount);
};

describe.each(RAIL_WORLDS)('over %s', (name, startWorld) => {
  let world: RailWorld;
  let flows: TestFlows;
  let address: string;
  const startedAt = new Date();

  beforeAll(async () => {
    world = await startWorld();
    const settings = { ...SCENARIO_SETTINGS, ATTENTION_PROBE_SECONDS: '1' };
    flows = await startTestFlows({ settings, rails: () => new Rails({ test: world.rail }) });
    const contract = publicId('organisation', flows.organisation.organisationId);
    address = `${flows.urls.test}/rails/${name}/callbacks/${contract}`;
  }, LIMIT_MS);

  afterAll(async () => {
    const { findings } = await verifyBooks(flows.sql);
    await flows.close();
    const complaints = await world.close();
    expect([findings, complaints, world.paidTwice()]).toEqual([[], [], []]);
  });

  async function request({ amount: sum, fault: planned }: Transfer) {
    const walletId = await flows.createWallet(undefined, { balance: 600_000 });
    // Where silence is never final, a request that was lost waits for operators: here, only responses are.
    if (planned !== null) world.breakSend(planned.fault, planned.acts || !world.sendsAgain);
    const body = { amount: sum, accountNumber: newAccount(), bankCode: '058' };
    const { data, status } = await flows.test.money(`/wallets/${walletId}/withdraw`, body);
    expect(status).toBe(201);
    return { id: data.id, walletId, held: sum + Number(data.fee) };
  }

  /** Ends transfers at the receiving banks, and returns the status that each flow then has. */
  async function end(transfers: readonly (Pick<Transfer, 'outcome' | 'isTold'> & { id: string })[]): Promise<string[]> {
    for (const { id, outcome, isTold } of transfers) {
      await waitFor(`${id} to be accepted by the rail`, () => world.references().includes(id), LIMIT_MS);
      world.callBackAt(isTold ? address : null);
      await world.end(id, outcome === 'return' ? 'complete' : outcome);
    }
    world.callBackAt(address);
    return await Promise.all(
      transfers.map(async ({ id, outcome }) => {
        const path = `/withdrawals/${id}`;
        if (outcome !== 'return') return (await flows.untilStatus(path, 'completed', 'failed', 'returned')).status;
        await flows.untilStatus(path, 'completed');
        await world.end(id, 'return'); // told, because nobody asks for a transfer that has ended
        return (await flows.untilStatus(path, 'returned')).status;
      }),
    );
  }

  test.each(fc.sample(day, DAYS))(
    'a day ends with equal books: %#',
    async ({ payments, transfers }) => {
      const credited: { walletId: string; amount: number }[] = [];
      for (const { amount: sum, isTold } of payments) {
        const walletId = await flows.createWallet();
        const payment = await flows.createPayment(walletId, sum);
        world.callBackAt(isTold ? address : null);
        await world.pay(payment.virtualAccount.accountNumber, payment.payableAmount);
        credited.push({ walletId, amount: sum });
      }
      world.callBackAt(address);
      const requested = [];
      for (const transfer of transfers) requested.push({ ...transfer, ...(await request(transfer)) });
      const statuses = await end(requested);
      for (const [index, { id, walletId, held, outcome }] of requested.entries()) {
        const status = statuses[index] ?? '';
        const expected = { complete: ['completed', 1], fail: [status, 0], return: ['returned', 1] }[outcome];
        expect([status, world.timesPaid(id)]).toEqual(expected);
        expect(await flows.balanceOf(walletId)).toBe(600_000 - (status === 'completed' ? held : 0));
      }
      await world.settle();
      // Takes in the credits that no callback told; then there is nothing left to tell.
      const reconcile = () =>
        flows.runUpkeep('reconciliation', {
          from: startedAt.toISOString(),
          to: new Date(Date.now() + 1_000).toISOString(),
        });
      await reconcile();
      for (const { walletId, amount: sum } of credited) {
        await waitFor('the credit', async () => (await flows.balanceOf(walletId)) === sum, LIMIT_MS);
      }
      expect(await reconcile()).toMatchObject({ failed: 0, breaks: 0 });
      const ours = await Promise.all([flows.accountBalance(`clearing:${name}`), flows.accountBalance(`float:${name}`)]);
      expect(-BigInt(ours[0]) - BigInt(ours[1])).toBe(world.holds());
    },
    LIMIT_MS,
  );
});
