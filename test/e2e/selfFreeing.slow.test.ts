// A parked withdrawal queries the rail by itself, and continues without an operator when the bank is back.
import { afterAll, expect, test } from '@jest/globals';
import { ATTENTION, ATTENTION_SINCE } from '../../src/workflows/searchAttributes.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const ACCOUNT = '1111111111';

const flows = await startTestFlows({
  settings: {
    ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
    probeMs: 1_000,
    notVisibleForMs: 100,
  },
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

test('a parked flow stays parked since the same time while the rail is away, and completes when it answers', async () => {
  await flows.setBehaviour(ACCOUNT, 'unavailable');
  const { id, path, flow } = await flows.withdraw(ACCOUNT);
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

  await flows.setBehaviour(ACCOUNT, 'complete');
  await flows.untilStatus(path, 'completed');
  await flow.result();
  expect((await flow.describe()).typedSearchAttributes.get(ATTENTION)).toBeUndefined();
  expect(await flows.auditOf(id)).toEqual([]);
});
