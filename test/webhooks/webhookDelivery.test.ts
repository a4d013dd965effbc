// Webhook delivery end to end: an event is written, relayed, sent, retried and listed by the API. The gaps
// of the schedule are short here; everything else is as in production.

import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { operate } from '../cli/run.ts';
import type { Resource } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Answering, answerStatus, type Receiver, startReceiver } from './receiver.ts';

let receiver: Receiver;
let endpoint: Resource;

const flows = await startTestFlows({ settings: { WEBHOOK_RETRY_GAPS_SECONDS: '0.05,0.05,0.05' } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

beforeEach(async () => {
  receiver = await startReceiver();
  endpoint = (await flows.test.post('/webhook-endpoints', { url: `${receiver.url}?token=CANARY` })).data;
});

afterEach(async () => {
  await flows.test.call('DELETE', `/webhook-endpoints/${endpoint.id}`);
  await receiver.close();
});

/** Writes an event with its outbox row, as a movement does. Returns its public id. */
async function emit(type = 'payment.settled', data: Record<string, unknown> = { amount: 200_000 }): Promise<string> {
  const id = newUuid();
  const { organisationId } = flows.organisation;
  await flows.dependencies.journal.post({
    book: { organisationId, environment: 'test' },
    events: [{ id, type, resource: publicId('payment', id), data, createdAt: new Date() }],
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

/** Refuses this many requests and accepts all later ones. */
const refuseFirst =
  (count: number): Answering =>
  (response, _received, number) =>
    void response.writeHead(number <= count ? 500 : 200).end(`answer ${number}`);

describe('deliveries', () => {
  test('a failing delivery is retried until it succeeds, with the same id and body, a valid signature and a recorded attempt each time', async () => {
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
  });

  test('an exhausted delivery ends as failed, and a redelivery starts the schedule again', async () => {
    receiver.answerWith(answerStatus(503));
    const eventId = await emit();
    const failed = await untilDelivery(eventId, 'failed');
    expect(failed).toMatchObject({ failureReason: 'retries_exhausted', nextAttemptAt: null, deliveredAt: null });
    expect(failed.attempts).toHaveLength(4);
    const again = await flows.test.post(`/events/${eventId}/redeliver`, { endpointId: endpoint.id });
    expect([again.status, again.data]).toEqual([202, { eventId, endpointIds: [endpoint.id] }]);
    await receiver.untilReceived(8);
    expect((await untilDelivery(eventId, 'failed')).attempts).toHaveLength(8);

    receiver.answerWith(answerStatus(200));
    await flows.test.post(`/events/${eventId}/redeliver`);
    expect((await untilDelivery(eventId, 'delivered')).attempts).toHaveLength(9);
  });

  test('webhooks redeliver sends an endpoint the events that it did not receive, each once, and is audited', async () => {
    receiver.answerWith(answerStatus(503));
    const eventIds: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const eventId = await emit();
      await untilDelivery(eventId, 'failed');
      eventIds.push(eventId);
    }
    // One ended because the endpoint was disabled meanwhile.
    await flows.sql`
      UPDATE webhook_deliveries SET failure_reason = 'endpoint_disabled', attempts = 1
      WHERE event_id = ${requireUuid('event', eventIds[2] ?? '')}`;
    receiver.answerWith(answerStatus(200));
    const delivered = await emit();
    await untilDelivery(delivered, 'delivered');
    const [oldest] = (await flows.test.get(`/events/${eventIds[1]}/deliveries`)).items;
    const from = ['--from', String(oldest?.createdAt)];
    const redeliver = (id: string, ...words: string[]) =>
      operate(flows, 'ada', 'webhooks', 'redeliver', id, ...words, '--reason', 'it is mended');

    expect(await redeliver(endpoint.id, ...from)).toEqual({ endpointId: endpoint.id, deliveries: 2 });
    for (const eventId of eventIds.slice(1)) {
      expect((await untilDelivery(eventId, 'delivered')).attempts).toHaveLength(5);
    }
    expect(await redeliver(endpoint.id)).toEqual({ endpointId: endpoint.id, deliveries: 1 });
    expect((await untilDelivery(eventIds[0] ?? '', 'delivered')).attempts).toHaveLength(5);
    expect(await redeliver(endpoint.id)).toEqual({ endpointId: endpoint.id, deliveries: 0 });
    expect((await untilDelivery(delivered, 'delivered')).attempts).toHaveLength(1);
    const audited = await flows.sql<{ operator: string; reason: string }[]>`
      SELECT operator, reason FROM audit_log WHERE action = 'webhooks.redeliver' AND subject = ${endpoint.id} ORDER BY id`;
    expect(audited.map(({ operator, reason }) => `${operator}: ${reason}`)).toEqual([
      'ada: it is mended (2 deliveries)',
      'ada: it is mended (1 deliveries)',
    ]);
  });

  test('webhooks redeliver refuses an endpoint that is closed or unknown, and a bad time', async () => {
    const redeliver = (id: string, ...words: string[]) =>
      operate(flows, 'ada', 'webhooks', 'redeliver', id, '--reason', 'x', ...words);
    await expect(redeliver(publicId('webhookEndpoint', newUuid()))).rejects.toThrow(/There is no webhook endpoint/);
    await expect(redeliver(endpoint.id, '--from', 'yesterday')).rejects.toThrow(/ISO 8601/);
    await flows.test.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { status: 'disabled' } });
    await expect(redeliver(endpoint.id)).rejects.toThrow(/is disabled/);
  });

  test.each([
    [
      'disabled',
      'endpoint_disabled',
      () => flows.test.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { status: 'disabled' } }),
    ],
    ['deleted', 'endpoint_deleted', () => flows.test.call('DELETE', `/webhook-endpoints/${endpoint.id}`)],
  ])('a delivery ends when its endpoint is %s between attempts', async (_name, reason, close) => {
    receiver.answerWith(async (response) => {
      await close();
      response.writeHead(500).end();
    });
    const eventId = await emit();
    const failed = await untilDelivery(eventId, 'failed');
    expect(failed).toMatchObject({ failureReason: reason });
    expect(failed.attempts).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  test('an event written while no worker was running is delivered when a worker starts', async () => {
    await flows.stopWorker();
    const eventId = await emit();
    expect(receiver.received).toEqual([]);
    await flows.startWorkerAgain();
    expect((await untilDelivery(eventId, 'delivered')).attempts).toHaveLength(1);
  });
});

test('an unresponsive endpoint does not delay ten others, and receives all events later', async () => {
  const others = await Promise.all(Array.from({ length: 10 }, () => startReceiver()));
  const endpointIds = await Promise.all(
    others.map(async ({ url }) => (await flows.test.post('/webhook-endpoints', { url })).data.id),
  );
  const openResponses: (() => void)[] = [];
  receiver.answerWith((response) => void openResponses.push(() => void response.end()));
  const eventIds: string[] = [];
  for (let count = 0; count < 15; count += 1) eventIds.push(await emit('wallet.credited'));

  await Promise.all(others.map((other) => other.untilReceived(15)));
  await waitFor('open requests at the slow endpoint', () => openResponses.length >= 10);
  for (const eventId of eventIds) {
    const { items } = await flows.test.get(`/events/${eventId}/deliveries`);
    const slow = items.find((item) => item.endpointId === endpoint.id);
    expect(slow?.status).toBe('pending');
    // A timeout, where the test took longer than ten seconds.
    for (const { error } of (slow?.attempts ?? []) as { error: string }[]) expect(error).toBe('timeout');
  }

  receiver.answerWith(answerStatus(200));
  for (const release of openResponses) release();
  for (const eventId of eventIds) await untilDelivery(eventId, 'delivered');
  for (const other of others) expect(other.received).toHaveLength(15);
  await Promise.all(endpointIds.map((id) => flows.test.call('DELETE', `/webhook-endpoints/${id}`)));
  await Promise.all(others.map((other) => other.close()));
});
