// A parked withdrawal queries the rail by itself, and continues without an operator when the bank is back.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ATTENTION, ATTENTION_SINCE } from '../../src/workflows/searchAttributes.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const ACCOUNT = '1111111111';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({
    settings: {
      ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
      probeMs: 1_000,
      sandboxUnknownIsFinalAfterMs: 100,
    },
  });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const bank = (behaviour: string) =>
  flows.test.call('PUT', `/simulations/bank-accounts/${ACCOUNT}`, { body: { behaviour } });

test('a parked flow stays parked since the same time while the rail is away, and completes when it answers', async () => {
  await bank('unavailable');
  const walletId = await flows.createWallet(undefined, { balance: 103_000 });
  const body = { amount: 100_000, accountNumber: ACCOUNT, bankCode: '058' };
  const { data } = await flows.test.money(`/wallets/${walletId}/withdraw`, body);
  const flow = flows.temporal.workflow.getHandle(data.id);
  const parkedSince = async (): Promise<Date | undefined> => {
    const described = await flow.describe().catch(() => null); // not started yet
    const attributes = described?.typedSearchAttributes;
    return attributes?.get(ATTENTION) === 'rail_unreachable' ? attributes.get(ATTENTION_SINCE) : undefined;
  };
  const since = await waitFor('the flow to be parked', parkedSince);
  const queries = async (): Promise<number> =>
    ((await flow.fetchHistory()).events ?? []).filter((event) => event.activityTaskCompletedEventAttributes).length;
  const before = await queries();
  await waitFor('three more queries of the rail', async () => (await queries()) >= before + 3);
  expect(await parkedSince()).toEqual(since);

  await bank('complete');
  await flows.untilStatus(`/withdrawals/${data.id}`, 'completed');
  await flow.result();
  expect((await flow.describe()).typedSearchAttributes.get(ATTENTION)).toBeUndefined();
  expect(await flows.sql`SELECT FROM audit_log WHERE subject = ${data.id}`).toHaveLength(0);
});
