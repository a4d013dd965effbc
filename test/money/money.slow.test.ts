// Property-based test: random workloads of customers, payers and operators against the real API, worker and bank, with
// callbacks lost, repeated and out of order: over the sandbox bank, and over Monnify, whose fake loses requests and
// responses. Afterwards all money invariants hold and the ledger agrees with the bank.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import '../ledger/seed.ts';
import { violations } from '../../dev/chaos/invariants.ts';
import { workload } from '../../dev/chaos/workload.ts';
import type { Uuid } from '../../src/ids.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { MonnifyBanks } from '../support/monnifyBank.ts';
import { type ScenarioBanks, sandboxBanks } from '../support/scenarioBank.ts';
import { openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { violationsOf } from '../support/violations.ts';
import { Simulation } from './simulation.ts';
import { startUnreliableCallbacks, type UnreliableCallbacks } from './unreliableCallbacks.ts';

/** The number of random workloads ("days") of each bank. More: `MONEY_DAYS=200 npm run test:slow -- test/money`. */
const DAYS = process.env.MONEY_DAYS === undefined ? { sandbox: 3, monnify: 2 } : daysOfEach(process.env.MONEY_DAYS);
/** A day takes about twenty seconds, mostly waiting for payments to expire and for lost transfers to fail. */
const DAY_LIMIT_MS = 900_000;

function daysOfEach(text: string): { sandbox: number; monnify: number } {
  return { sandbox: Number(text), monnify: Number(text) };
}

/** The service over one kind of bank, in a database of its own. */
interface World {
  flows: TestFlows;
  callbacks: UnreliableCallbacks;
  banks: ScenarioBanks;
  openStage: () => Promise<ScenarioContext>;
}

let sandbox: World;
let monnify: World & { banks: MonnifyBanks };
const startedAt = new Date();

beforeAll(async () => {
  [sandbox, monnify] = await Promise.all([startWorld('sandbox', () => sandboxBanks()), startMonnify()]);
}, DAY_LIMIT_MS);

afterAll(async () => {
  for (const { flows, callbacks, banks } of [sandbox, monnify]) {
    await flows.close();
    await callbacks.close();
    expect(await banks.close()).toEqual([]);
  }
});

async function startWorld<Banks extends ScenarioBanks>(
  rail: string,
  banksAt: (callbackUrl: string) => Banks,
): Promise<World & { banks: Banks }> {
  const callbacks = await startUnreliableCallbacks();
  const banks = banksAt(callbacks.url);
  const settings = { ...SCENARIO_SETTINGS, ...banks.settings, SANDBOX_RAIL_CALLBACK_URL: callbacks.url };
  const flows = await startTestFlows({ settings, rails: banks.rails });
  callbacks.serve(`${flows.urls.test}/rails/${rail}/callbacks`);
  return { flows, callbacks, banks, openStage: await openScenarios(flows, banks) };
}

const startMonnify = () => startWorld('monnify', (callbackUrl) => new MonnifyBanks(callbackUrl));

/** What our book says that Monnify holds: collected, and settled to the balance that pays out. */
async function heldByMonnify(organisationId: Uuid): Promise<bigint> {
  const balances = ['clearing:monnify', 'float:monnify'].map((code) =>
    monnify.flows.accountBalance(code, organisationId),
  );
  return (await Promise.all(balances)).reduce((sum, balance) => sum - BigInt(balance), 0n);
}

// The days run concurrently, each in its own organisation, because they mostly wait.
test.concurrent.each(
  (['sandbox', 'monnify'] as const).flatMap((rail) =>
    fc.sample(workload, DAYS[rail]).map((day, index) => ({ rail, number: index + 1, day })),
  ),
)(
  'over $rail, all money invariants hold after day $number',
  async ({ rail, day }) => {
    const { flows, callbacks, openStage } = { sandbox, monnify }[rail];
    const stage = await openStage();
    const simulation = new Simulation(stage, callbacks);
    try {
      await simulation.run(day);
      expect(simulation.faults).toEqual([]);
      expect(callbacks.refused).toEqual([]);
      expect(await violations(flows.sql, stage.organisationId, stage.bank.book() ?? undefined)).toEqual([]);
    } catch (cause) {
      throw new Error(`The workload that failed: ${fc.stringify(day)}`, { cause });
    }
  },
  DAY_LIMIT_MS,
);

test(
  'after all days and its settlement, the statement of Monnify has no break, and it holds what our books say',
  async () => {
    const { flows, banks } = monnify;
    for (const { bank } of banks.contracts()) await bank.fake.settle();
    const period = { from: startedAt.toISOString(), to: new Date(Date.now() + 1_000).toISOString() };
    expect(await flows.runMaintenance('reconciliation', period)).toMatchObject({ failed: 0, breaks: 0 });
    const holds = banks.contracts().map(({ bank }) => bank.holds());
    const ours = banks.contracts().map(({ organisationId }) => heldByMonnify(organisationId));
    expect(await Promise.all(ours)).toEqual(holds);
  },
  DAY_LIMIT_MS,
);

test(
  'the ledger has no violations after all days, and every workflow replays',
  async () => {
    for (const { flows, banks } of [sandbox, monnify]) {
      expect(await violationsOf(flows.sql)).toEqual([]);
      await replayEverything(flows, banks.secrets);
    }
  },
  DAY_LIMIT_MS,
);
