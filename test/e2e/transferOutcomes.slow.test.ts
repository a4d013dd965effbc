// What a provider says of a transfer is believed only where its own record says so: real flows against the fake of
// Nomba, whose times are shortened here. A refusal does not give back what was accepted, an outage of one endpoint
// leaves no transfer behind, and a query that fails is no send.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { NombaFake } from '../../dev/nomba/fake.ts';
import { mapAtMost } from '../../src/concurrency/mapAtMost.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { createNombaRail } from '../../src/rail/nomba/rail.ts';
import type { ClosableRail } from '../../src/rail/provider.ts';
import { Rails } from '../../src/rail/rails.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const LIMIT_MS = 120_000;
const SEND = 'POST /v2/transfers/bank';
const LIST = 'POST /v1/transactions/accounts';
const HELD = 103_000;
/** In place of six minutes, and at least the limit of a call. */
const HIDDEN_MS = 3_000;
/** Of a transfer that is shown before that time is over, however busy the machine is. */
const HIDDEN_LONG_MS = 60_000;
const ENQUIRIES_AT_ONCE = 4;
const FOREVER = { times: Number.POSITIVE_INFINITY };

let fake: NombaFake;
let hiddenMs = HIDDEN_MS;
let adapter: ClosableRail;
let flows: TestFlows;

beforeAll(async () => {
  fake = await new NombaFake().start();
  adapter = createNombaRail(fake.credentials);
  const limited = guardedRail({ ...adapter, capabilities: { ...adapter.capabilities, calls: { limitMs: 1_000 } } });
  const shortened = {
    ...limited,
    get capabilities() {
      const { transfers } = limited.capabilities;
      return { ...limited.capabilities, transfers: { ...transfers, notVisibleForMs: hiddenMs } };
    },
  };
  flows = await startTestFlows({
    settings: { ATTENTION_RAIL_UNREACHABLE_SECONDS: '8', probeMs: 1_000 },
    rails: () => new Rails({ test: shortened }),
  });
}, LIMIT_MS);

afterAll(async () => {
  const findings = await endFlows(flows);
  await adapter.close();
  await fake.close();
  expect([findings, fake.rows.filter(({ timesPaid }) => timesPaid > 1), fake.complaints]).toEqual([[], [], []]);
});

beforeEach(() => {
  fake.hidden = false;
  hiddenMs = HIDDEN_MS;
  for (const route of [SEND, LIST]) fake.mend(route);
});

let lastAccount = 1_700_000_000;
const newAccount = (): string => {
  lastAccount += 1;
  return String(lastAccount);
};

const accepted = (reference: string) =>
  waitFor(`${reference} to be accepted by the rail`, () => fake.transferOf(reference) !== undefined);

const sendsOf = async (reference: string): Promise<number> => {
  const [row] = await flows.sql<{ sends: number }[]>`SELECT sends FROM transfer_sends WHERE reference = ${reference}`;
  return row?.sends ?? 0;
};

test.each([
  ['in words that it may say of anything', [200, '06', 'Error — do not retry']],
  ['as a duplicate', [400, '06', 'Duplicate merchantTxRef']],
] as const)(
  'a transfer that the rail accepts, refuses %s and does not show yet is not given back, and is paid once',
  async (_name, answer) => {
    fake.hidden = true;
    hiddenMs = HIDDEN_LONG_MS;
    fake.refuse(SEND, answer, { acts: true });
    const { walletId, id, path } = await flows.withdraw(newAccount());
    await accepted(id);
    // Queried twice at least while it is not shown.
    const queries = async (): Promise<number> => {
      const events = (await flows.flow(id).fetchHistory()).events ?? [];
      return events.filter((event) => event.activityTaskCompletedEventAttributes).length;
    };
    await waitFor('a query', async () => (await queries()) >= 2);
    expect([(await flows.test.get(path)).data.status, await flows.balanceOf(walletId)]).toEqual(['processing', 0]);
    fake.hidden = false;
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    expect([fake.transferOf(id)?.timesPaid, await flows.balanceOf(walletId)]).toEqual([1, 0]);
  },
  LIMIT_MS,
);

test(
  'a transfer that the rail refuses and never shows fails after that time, once, with the reason of the rail',
  async () => {
    fake.refuse(SEND, [200, '06', 'BLACKLISTED'], FOREVER);
    const startedAt = performance.now();
    const { walletId, path, id } = await flows.withdraw(newAccount());
    const withdrawal = await flows.untilStatus(path, 'failed');
    expect(performance.now() - startedAt).toBeGreaterThan(HIDDEN_MS);
    expect(withdrawal).toMatchObject({
      failureCode: 'account_restricted',
      failureReason: 'The account may not receive this money',
    });
    expect([await flows.balanceOf(walletId), await sendsOf(id)]).toEqual([HELD, 1]);
  },
  LIMIT_MS,
);

test(
  'an outage of the status endpoint is no send: of a burst of transfers each is sent once afterwards, and is paid',
  async () => {
    fake.refuse(LIST, [502, '99', 'Bad gateway'], FOREVER);
    // A few at a time: each asks for the name of its account, within the short limit of a call.
    const accounts = Array.from({ length: 24 }, newAccount);
    const made = await mapAtMost(ENQUIRIES_AT_ONCE, accounts, (account) => flows.withdraw(account));
    await waitFor('some to be parked', async () => {
      const described = await Promise.all(made.map(({ flow }) => flow.describe().catch(() => null)));
      return described.some((one) => one?.typedSearchAttributes.get(ATTENTION) === 'rail_unreachable');
    });
    expect(await Promise.all(made.map(({ id }) => sendsOf(id)))).toEqual(made.map(() => 0));
    fake.mend(LIST);
    for (const { id } of made) {
      await accepted(id);
      fake.end(id, 'SUCCESS');
    }
    for (const { path, id } of made) {
      await flows.untilStatus(path, 'completed');
      expect([fake.transferOf(id)?.timesPaid, await sendsOf(id)]).toEqual([1, 1]);
    }
  },
  LIMIT_MS,
);

test(
  'an outage of the endpoint of sends, in which nothing arrives, ends by itself with one payment',
  async () => {
    for (let times = 0; times < 3; times += 1) fake.break(SEND, 'html_502', false);
    const { path, id } = await flows.withdraw(newAccount());
    await accepted(id);
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    expect([fake.transferOf(id)?.timesPaid, await sendsOf(id)]).toEqual([1, 4]);
  },
  LIMIT_MS,
);

test(
  'where the rail never says that it does not have a transfer, it is sent once an operator asks for that',
  async () => {
    fake.refuse(LIST, [200, '07', 'Nothing'], FOREVER);
    const { path, id } = await flows.withdraw(newAccount());
    expect(await flows.untilAttention(id, 'rail_unreachable')).toContain('Nothing was sent');
    expect(fake.transferOf(id)).toBeUndefined();
    expect(await flows.decide('resolve', id, { action: 'retry' })).toMatchObject({ outcome: 'accepted' });
    await accepted(id);
    expect(await sendsOf(id)).toBe(1);
    fake.mend(LIST);
    fake.end(id, 'SUCCESS');
    await flows.untilStatus(path, 'completed');
    expect(fake.transferOf(id)?.timesPaid).toBe(1);
  },
  LIMIT_MS,
);
