// The flow of a delivery, whole: an event is written, relayed, sent, retried by Temporal and shown by the API. The gaps of
// the schedule are short here; everything else is as it runs.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { Webhook } from 'standardwebhooks';
import { newUuid, publicId } from '../../src/ids.ts';
import { ATTENTION, FLOW_STATE } from '../../src/workflows/searchAttributes.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Answering, answerStatus, type Receiver, startReceiver } from './receiver.ts';

let flows: TestFlows;
let receiver: Receiver;
let endpoint: Resource;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WEBHOOK_RETRY_GAPS_SECONDS: '0.05,0.05,0.05' } });
});

afterAll(async () => {
  await flows.close();
});

beforeEach(async () => {
  receiver = await startReceiver();
  endpoint = (await flows.test.post('/webhook-endpoints', { url: `${receiver.url}?token=CANARY` })).data;
});

afterEach(async () => {
  await flows.test.call('DELETE', `/webhook-endpoints/${endpoint.id}`);
  await receiver.close();
});

/** An event with its outbox row, as a movement writes them. Its public id. */
async function emit(type = 'payment.settled', data: Record<string, unknown> = { amount: 200_000 }): Promise<string> {
  const id = newUuid();
  const { organisationId } = flows.organisation;
  await flows.services.journal.post({
    book: { organisationId, environment: 'test' },
    events: [{ id, type, resource: 'test', data, createdAt: new Date() }],
  });
  return publicId('event', id);
}

/** The delivery of an event to this test's endpoint once it has this status. */
const untilDelivery = (eventId: string, status: string): Promise<Resource & { attempts: Record<string, unknown>[] }> =>
  waitFor(`the delivery of ${eventId} to be ${status}`, async () => {
    const { items } = await flows.test.get(`/events/${eventId}/deliveries`);
    const found = items.find((item) => item.endpointId === endpoint.id && item.status === status);
    return found as (Resource & { attempts: Record<string, unknown>[] }) | undefined;
  });

/** What a flow says that waits for an operator because its attempts were in vain. */
const untilParked = (eventId: string): Promise<string> =>
  waitFor(`the delivery of ${eventId} to be parked`, async () => {
    const described = await flowOf(eventId)
      .describe()
      .catch(() => null); // not started yet
    if (described?.typedSearchAttributes.get(ATTENTION) !== 'webhook_retries_exhausted') return undefined;
    const metadata = await flowOf(eventId).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    // A flow that was woken shows its cause for a moment more.
    return metadata.currentDetails?.includes('Needs attention') && metadata.currentDetails;
  });

const flowOf = (eventId: string): WorkflowHandle => flows.temporal.workflow.getHandle(`${eventId}/${endpoint.id}`);

/** The result of the flow that runs or ran last. */
const resultOf = (eventId: string): Promise<unknown> => flowOf(eventId).result();

/** Refuses the first requests and takes the others. */
const refuseFirst =
  (count: number): Answering =>
  (response, _received, number) =>
    void response.writeHead(number <= count ? 500 : 200).end(`answer ${number}`);

describe('a delivery', () => {
  test('that works at once needs no flow', async () => {
    const eventId = await emit();
    await untilDelivery(eventId, 'delivered');
    await expect(flowOf(eventId).describe()).rejects.toThrow(/not found/);
  });

  test('that fails is tried again until it is taken: same id, same bytes, a valid signature and a log line each time', async () => {
    receiver.answerWith(refuseFirst(2));
    const eventId = await emit();
    const delivery = await untilDelivery(eventId, 'delivered');
    expect(delivery.attempts.map((attempt) => [attempt.responseStatus, attempt.responseBody])).toEqual([
      [200, 'answer 3'],
      [500, 'answer 2'],
      [500, 'answer 1'],
    ]);
    expect(delivery).toMatchObject({ failureReason: null, nextAttemptAt: null, deliveredAt: expect.any(String) });
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([eventId]));
    for (const { body, headers } of receiver.received) {
      const verified = new Webhook(endpoint.secret as string).verify(body, headers as Record<string, string>);
      expect(verified).toMatchObject({ id: eventId, type: 'payment.settled', data: { amount: 200_000 } });
    }
    expect(await resultOf(eventId)).toEqual({ status: 'delivered', answer: 'answered 200' });
  });

  test('parks when its attempts are spent, and is failed for the API; an operator has it tried anew, or gives it up', async () => {
    receiver.answerWith(answerStatus(503));
    const eventId = await emit();
    const details = await untilParked(eventId);
    expect(details).toMatch(/Last response of the endpoint: answered 503/);
    const failed = await untilDelivery(eventId, 'failed');
    expect(failed).toMatchObject({ failureReason: 'retries_exhausted', nextAttemptAt: null, deliveredAt: null });
    expect(failed.attempts).toHaveLength(4);

    await flowOf(eventId).signal('retry', { reason: 'they say it is mended', operator: 'ngozi' });
    await receiver.untilReceived(8);
    await untilParked(eventId);
    expect((await untilDelivery(eventId, 'failed')).attempts).toHaveLength(8);

    const dismiss = { action: 'dismiss', reason: 'the integrator is gone', operator: 'ngozi' };
    await flowOf(eventId).executeUpdate('resolve', { args: [dismiss] });
    expect(await resultOf(eventId)).toEqual({ status: 'failed', reason: 'retries_exhausted', answer: 'answered 503' });
    expect((await untilDelivery(eventId, 'failed')).attempts).toHaveLength(8);
    const acts = await flows.sql`
      SELECT action FROM audit_log WHERE subject = ${`${eventId}/${endpoint.id}`} ORDER BY id`;
    expect([...acts]).toEqual([{ action: 'resolve:retry' }, { action: 'resolve:dismiss' }]);

    // What was given up can still be sent again, by a new run of its flow.
    const firstRun = (await flowOf(eventId).describe()).runId;
    await flows.test.post(`/events/${eventId}/redeliver`);
    await receiver.untilReceived(12);
    await untilParked(eventId);
    expect((await flowOf(eventId).describe()).runId).not.toBe(firstRun);
  });

  test('that is parked is woken by a redelivery, and ends when that is taken', async () => {
    receiver.answerWith(answerStatus(503));
    const eventId = await emit();
    await untilParked(eventId);
    const { runId } = await flowOf(eventId).describe();
    receiver.answerWith(answerStatus(200));
    const again = await flows.test.post(`/events/${eventId}/redeliver`, { endpointId: endpoint.id });
    expect([again.status, again.data]).toEqual([202, { eventId, endpointIds: [endpoint.id] }]);
    expect(await resultOf(eventId)).toMatchObject({ status: 'delivered' });
    expect((await flowOf(eventId).describe()).runId).toBe(runId);
    expect((await untilDelivery(eventId, 'delivered')).attempts).toHaveLength(5);
    expect(await flows.sql`SELECT FROM audit_log WHERE subject = ${`${eventId}/${endpoint.id}`}`).toHaveLength(0);
  });

  test('that is parked has the whole schedule again when the attempt of a redelivery fails', async () => {
    receiver.answerWith(answerStatus(503));
    const eventId = await emit();
    await untilParked(eventId);
    await flows.test.post(`/events/${eventId}/redeliver`);
    await receiver.untilReceived(8);
    await untilParked(eventId);
    expect((await untilDelivery(eventId, 'failed')).attempts).toHaveLength(8);
  });

  test.each([
    ['disabled', 'endpoint_disabled', 'PATCH', { status: 'disabled' }],
    ['deleted', 'endpoint_deleted', 'DELETE', undefined],
  ])('that is parked ends when its endpoint is %s', async (_name, reason, method, body) => {
    receiver.answerWith(answerStatus(503));
    const eventId = await emit();
    await untilParked(eventId);
    await flows.test.call(method, `/webhook-endpoints/${endpoint.id}`, { body });
    expect(await resultOf(eventId)).toEqual({ status: 'failed', reason, answer: 'answered 503' });
    expect(receiver.received).toHaveLength(4);
  });

  test.each([
    [
      'disabled',
      'endpoint_disabled',
      () => flows.test.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { status: 'disabled' } }),
    ],
    ['deleted', 'endpoint_deleted', () => flows.test.call('DELETE', `/webhook-endpoints/${endpoint.id}`)],
  ])('ends when its endpoint is %s while it waits', async (_name, reason, close) => {
    receiver.answerWith(async (response) => {
      await close();
      response.writeHead(500).end();
    });
    const eventId = await emit();
    const failed = await untilDelivery(eventId, 'failed');
    expect(failed).toMatchObject({ failureReason: reason });
    expect(failed.attempts).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
    expect(await resultOf(eventId)).toEqual({ status: 'failed', reason, answer: null });
  });

  test('is made when a worker is back, if none was there when the event was written', async () => {
    await flows.stopWorker();
    const eventId = await emit();
    expect(receiver.received).toEqual([]);
    await flows.startWorkerAgain();
    expect((await untilDelivery(eventId, 'delivered')).attempts).toHaveLength(1);
  });

  test('keeps its own count beside others: each of five events is refused once and taken once', async () => {
    const seen = new Set<unknown>();
    receiver.answerWith((response, { headers }) => {
      const status = seen.has(headers['webhook-id']) ? 200 : 500;
      seen.add(headers['webhook-id']);
      response.writeHead(status).end();
    });
    const eventIds: string[] = [];
    for (const type of ['payment.expired', 'refund.failed', 'payout.failed', 'wallet.credited', 'transfer.completed']) {
      eventIds.push(await emit(type));
    }
    for (const eventId of eventIds) {
      const { attempts } = await untilDelivery(eventId, 'delivered');
      expect(attempts.map((attempt) => attempt.responseStatus)).toEqual([200, 500]);
    }
  });
});

test('the test route sends one event to that endpoint alone, through the same path', async () => {
  const other = await startReceiver();
  const { data: otherEndpoint } = await flows.test.post('/webhook-endpoints', { url: other.url });
  receiver.answerWith(refuseFirst(1));
  const { status, data: event } = await flows.test.post(`/webhook-endpoints/${endpoint.id}/test`);
  expect(status).toBe(202);
  expect(event).toMatchObject({ type: 'webhook.test', data: { id: endpoint.id } });
  const delivery = await untilDelivery(event.id, 'delivered');
  expect(delivery.attempts).toHaveLength(2);
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual(event);
  await flows.test.call('DELETE', `/webhook-endpoints/${otherEndpoint.id}`);
  expect(other.received).toEqual([]);
  await other.close();
});

test('an endpoint that never answers delays nobody: ten others get every event meanwhile, and it gets them in the end', async () => {
  const others = await Promise.all(Array.from({ length: 10 }, () => startReceiver()));
  const endpointIds = await Promise.all(
    others.map(async ({ url }) => (await flows.test.post('/webhook-endpoints', { url })).data.id),
  );
  const held: (() => void)[] = [];
  receiver.answerWith((response) => void held.push(() => void response.end()));
  const eventIds: string[] = [];
  for (let count = 0; count < 15; count += 1) eventIds.push(await emit('wallet.credited'));

  await Promise.all(others.map((other) => other.untilReceived(15)));
  await waitFor('requests that the slow one holds', () => held.length >= 10);
  for (const eventId of eventIds) {
    const { items } = await flows.test.get(`/events/${eventId}/deliveries`);
    const slow = items.find((item) => item.endpointId === endpoint.id);
    expect(slow?.status).toBe('pending');
    for (const { error } of (slow?.attempts ?? []) as { error: string }[]) expect(error).toBe('timeout'); // where this took ten seconds
  }

  receiver.answerWith(answerStatus(200));
  for (const release of held) release();
  for (const eventId of eventIds) await untilDelivery(eventId, 'delivered');
  for (const other of others) expect(other.received).toHaveLength(15);
  await Promise.all(endpointIds.map((id) => flows.test.call('DELETE', `/webhook-endpoints/${id}`)));
  await Promise.all(others.map((other) => other.close()));
});

describe('in a long gap between two attempts', () => {
  let patient: TestFlows;
  beforeAll(async () => {
    patient = await startTestFlows({ settings: { WEBHOOK_RETRY_GAPS_SECONDS: '3600,3600' } });
  });
  afterAll(() => patient.close());

  test('a redelivery that is taken ends the flow at once, and one that is not leaves it its schedule', async () => {
    receiver.answerWith(answerStatus(503));
    const { data: target } = await patient.test.post('/webhook-endpoints', { url: receiver.url });
    const { data: event } = await patient.test.post(`/webhook-endpoints/${target.id}/test`);
    const flow = patient.temporal.workflow.getHandle(`${event.id}/${target.id}`);
    const untilWaiting = (attempts: number) =>
      waitFor(`the flow to wait after ${attempts} attempts`, async () => {
        const { items } = await patient.test.get(`/events/${event.id}/deliveries`);
        const described = await flow.describe().catch(() => null); // not started yet
        const waits = described?.raw.pendingActivities?.[0]?.lastFailure?.message === 'attempt 1 of 3 failed';
        return (items[0]?.attempts as object[] | undefined)?.length === attempts && waits && items[0];
      });
    const { nextAttemptAt } = await untilWaiting(1);

    await patient.test.post(`/events/${event.id}/redeliver`);
    await receiver.untilReceived(2);
    expect((await untilWaiting(2)).nextAttemptAt).toBe(nextAttemptAt);

    receiver.answerWith(answerStatus(200));
    await patient.test.post(`/events/${event.id}/redeliver`);
    expect(await flow.result()).toMatchObject({ status: 'delivered' });
    expect(receiver.received).toHaveLength(3);
    const history = await flow.fetchHistory();
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath: testStack().workflowBundlePath } }, history),
    ).resolves.toBeUndefined();
  });
});

describe('operations see', () => {
  test('which event goes to which endpoint, what was answered last and when the next attempt is; no URL', async () => {
    receiver.answerWith(answerStatus(503, 'CANARY'));
    const eventId = await emit();
    const answer = await waitFor('a pending activity that was answered', async () => {
      const described = await flowOf(eventId)
        .describe()
        .catch(() => null); // not started yet
      const message = described?.raw.pendingActivities?.[0]?.lastFailure?.message;
      return message?.includes('answered') && message;
    });
    expect(answer).toMatch(/^attempt [23] of 4: answered 503$/);
    await untilParked(eventId);
    await flows.test.call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    await resultOf(eventId);
    const described = await flowOf(eventId).describe();
    expect(await described.staticSummary()).toBe(`payment.settled ${eventId} to ${endpoint.id}`);
    expect(described.typedSearchAttributes.get(FLOW_STATE)).toBe('failed');
    const metadata = await flowOf(eventId).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toBe('**failed** (endpoint_deleted). Last response: answered 503.');
    const history = JSON.stringify(await flowOf(eventId).fetchHistory());
    expect(history).not.toMatch(/CANARY|127\.0\.0\.1|whsec_/);
  });

  test('a history that replays', async () => {
    receiver.answerWith(refuseFirst(1));
    const eventId = await emit();
    await untilDelivery(eventId, 'delivered');
    await resultOf(eventId);
    const history = await flowOf(eventId).fetchHistory();
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath: testStack().workflowBundlePath } }, history),
    ).resolves.toBeUndefined();
  });
});
