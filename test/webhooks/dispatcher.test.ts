// Dispatching events over real HTTP with the real database; only the starts of flows are recorded instead of made.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { requestRedelivery } from '../../src/webhooks/deliveries.ts';
import { createDispatcher, type DispatchEvent } from '../../src/webhooks/dispatcher.ts';
import {
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  updateWebhookEndpoint,
  type WebhookEndpoint,
} from '../../src/webhooks/endpoints.ts';
import { newWebhookSecret } from '../../src/webhooks/signature.ts';
import type { WebhookDeliveryInput } from '../../src/workflows/webhookDelivery/messages.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Answering, answerStatus } from './receiver.ts';
import { startWorkbench, type TestEndpoint } from './webhookFixture.ts';

let book: Book;
let dispatchEvent: DispatchEvent;
let flows: WebhookDeliveryInput[];
/** Flows that were signalled, whether started for it or already running. */
let signalled: WebhookDeliveryInput[];
let temporalIsUp: boolean;

const fixture = await startWorkbench();

afterAll(() => fixture.close());

beforeEach(() => {
  book = { organisationId: newUuid(), environment: 'test' };
  flows = [];
  signalled = [];
  temporalIsUp = true;
  dispatchEvent = newDispatcher();
});

afterEach(() => fixture.closeReceivers());

/** A dispatcher as in a new process. */
function newDispatcher(): DispatchEvent {
  const { sql, config, log } = fixture;
  return createDispatcher({
    sql,
    keyring: config.keyring,
    config,
    log,
    startDelivery: async (input, isUpdate) => {
      if (!temporalIsUp) throw new Error('Temporal is away');
      flows.push(input);
      if (isUpdate) signalled.push(input);
    },
    wakeDelivery: async (input) => {
      if (!temporalIsUp) throw new Error('Temporal is away');
      signalled.push(input);
    },
  });
}

const endpoint = (options?: Partial<WebhookEndpoint>, answering?: Answering) =>
  fixture.endpoint(book, options, answering);
const event = (data?: string, type?: string) => fixture.event(book, data, type);
const deliveries = (eventId: Uuid) => fixture.deliveries(book, eventId);

const flowOf = (eventId: Uuid, { id }: TestEndpoint): WebhookDeliveryInput => ({
  ...book,
  eventId: publicId('event', eventId),
  endpointId: publicId('webhookEndpoint', id),
  eventType: 'payment.settled',
});

describe('dispatching an event', () => {
  test('an event is sent, signed, to every endpoint subscribed to its type, with the stored bytes of its payload', async () => {
    const all = await endpoint();
    const some = await endpoint({ eventTypes: ['payment.expired', 'payment.settled'] });
    const others = await endpoint({ eventTypes: ['payout.failed'] });
    const disabled = await endpoint({ status: 'disabled' });
    const deleted = await endpoint();
    await deleteWebhookEndpoint(fixture.sql, book, deleted.id);
    const eventId = await event();
    await dispatchEvent({ book, eventId });

    for (const target of [all, some]) {
      const [request] = target.received;
      const verified = new Webhook(target.secret).verify(
        request?.body ?? '',
        request?.headers as Record<string, string>,
      );
      expect(verified).toEqual({
        id: publicId('event', eventId),
        type: 'payment.settled',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        resourceId: eventId,
        sequence: 1,
        data: { amount: 200_000, id: 'x' },
      });
      expect(request?.body).toContain('"data":{"amount": 200000,  "id":"x"}}');
      expect(request?.headers['webhook-id']).toBe(publicId('event', eventId));
      expect(target.received).toHaveLength(1);
    }
    expect([others, disabled, deleted].flatMap((target) => target.received)).toEqual([]);
    expect([...(await deliveries(eventId)).keys()].toSorted()).toEqual([all.id, some.id].toSorted());
    expect(flows).toEqual([]);
  });

  test('an event never reaches another environment or organisation', async () => {
    const target = await endpoint();
    const mine = book;
    for (const other of [
      { ...mine, environment: 'live' as const },
      { ...mine, organisationId: newUuid() },
    ]) {
      book = other;
      const eventId = await event();
      await dispatchEvent({ book: other, eventId });
      await dispatchEvent({ book: other, eventId, endpointId: target.id });
      expect(await requestRedelivery(fixture.sql, other, eventId)).toEqual([]);
      expect(await fixture.sql`SELECT FROM webhook_deliveries WHERE event_id = ${eventId}`).toHaveLength(0);
    }
    expect(target.received).toEqual([]);
  });

  test('an event dispatched twice is sent once, and the attempt is recorded', async () => {
    const target = await endpoint({}, answerStatus(201, 'thank you'));
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    await dispatchEvent({ book, eventId });
    expect(target.received).toHaveLength(1);
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'delivered',
      failureReason: null,
      nextAttemptAt: null,
      deliveredAt: expect.any(Date),
      attempts: [{ responseStatus: 201, responseBody: 'thank you', error: null, durationMs: expect.any(Number) }],
    });
  });

  test('an event is signed with both secrets during a rotation, and with the new one after it', async () => {
    const target = await endpoint();
    const next = newWebhookSecret();
    const sealed = fixture.config.keyring.seal('webhook-secret', target.id, next);
    const rotate = (until: Date) => rotateWebhookSecret(fixture.sql, book, target.id, sealed, until);
    await rotate(new Date(Date.now() + 3_600_000));
    await dispatchEvent({ book, eventId: await event() });
    await fixture.sql`UPDATE webhook_endpoints SET previous_secret_until = now() - interval '1 second' WHERE id = ${target.id}`;
    await dispatchEvent({ book, eventId: await event() });

    const [during, after] = target.received;
    const verify = (secret: string, request = during) =>
      new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    expect(during?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(2);
    expect([verify(next), verify(target.secret)]).toEqual([expect.anything(), expect.anything()]);
    expect(verify(next, after)).toEqual(expect.anything());
    expect(() => verify(target.secret, after)).toThrow('No matching signature found');
  });
});

describe('endpoints that fail', () => {
  test.each([
    ['responds with 500', answerStatus(500, 'boom'), { responseStatus: 500, responseBody: 'boom', error: null }],
    [
      'hangs up',
      (response: ServerResponse) => void response.destroy(),
      { responseStatus: null, error: 'connection_lost' },
    ],
  ])(
    'an endpoint that %s gets a delivery flow, and its next attempt after the first gap',
    async (_name, answering, attempt) => {
      const bad = await endpoint({}, answering);
      const good = await endpoint();
      const eventId = await event();
      const before = Date.now();
      await dispatchEvent({ book, eventId });
      expect(good.received).toHaveLength(1);
      expect(flows).toEqual([flowOf(eventId, bad)]);
      const delivery = (await deliveries(eventId)).get(bad.id);
      expect(delivery).toMatchObject({ status: 'pending', deliveredAt: null, attempts: [attempt] });
      const at = delivery?.nextAttemptAt?.getTime();
      // The jitter is a tenth of five seconds.
      expect(at).toBeGreaterThanOrEqual(before + 4_500);
      expect(at).toBeLessThanOrEqual(Date.now() + 5_500);
    },
  );

  test('a failed delivery is left to its flow when the message is repeated, also after a Temporal outage, and others are not sent again', async () => {
    const bad = await endpoint({}, answerStatus(503));
    const good = await endpoint();
    const eventId = await event();
    temporalIsUp = false;
    await expect(dispatchEvent({ book, eventId })).rejects.toThrow('Temporal is away');
    await expect(dispatchEvent({ book, eventId })).rejects.toThrow('Temporal is away');
    temporalIsUp = true;
    await newDispatcher()({ book, eventId });
    expect(flows).toEqual([flowOf(eventId, bad)]);
    expect([bad.received.length, good.received.length]).toEqual([1, 1]);
  });

  test('further events for a failing endpoint are left to flows without a direct attempt', async () => {
    const bad = await endpoint({}, answerStatus(503));
    await dispatchEvent({ book, eventId: await event() });
    const next = await event();
    await dispatchEvent({ book, eventId: next });
    expect(bad.received).toHaveLength(1);
    expect(flows).toHaveLength(2);
    expect((await deliveries(next)).get(bad.id)).toMatchObject({ status: 'pending', attempts: [] });
  });

  test('an endpoint whose URL no longer meets the rules is sent nothing, and the attempt is recorded with the reason', async () => {
    const target = await endpoint();
    await updateWebhookEndpoint(fixture.sql, book, target.id, { url: 'http://169.254.169.254/' });
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'pending',
      attempts: [{ responseStatus: null, error: 'url_forbidden' }],
    });
  });

  test('in live a loopback address is never requested, whatever the sandbox allows', async () => {
    book = { ...book, environment: 'live' };
    const target = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    expect(target.received).toEqual([]);
    expect((await deliveries(eventId)).get(target.id)?.attempts).toMatchObject([{ error: 'url_forbidden' }]);
  });
});

describe('slow endpoints', () => {
  test('a slow endpoint has at most ten concurrent requests and does not delay others', async () => {
    const quick = await endpoint();
    const dispatchMany = async (count: number) => {
      const eventIds = await Promise.all(Array.from({ length: count }, () => event()));
      return eventIds.map((eventId) => dispatchEvent({ book, eventId }));
    };
    // Ten quick responses raise its limit to twenty.
    await Promise.all(await dispatchMany(10));
    const openResponses: (() => void)[] = [];
    const slow = await endpoint({}, (response) => void openResponses.push(() => void response.end()));

    const dispatched = await dispatchMany(20);
    await quick.untilReceived(30);
    await slow.untilReceived(10);
    // Events beyond the limit get a flow, and their dispatch completes while the ten requests are still open.
    await waitFor('ten flows', () => flows.length === 10);
    const endpointId = publicId('webhookEndpoint', slow.id);
    expect(new Set(flows.map((flow) => flow.endpointId))).toEqual(new Set([endpointId]));

    for (const release of openResponses) release();
    await Promise.all(dispatched);
    expect([slow.received.length, quick.received.length]).toEqual([10, 30]);
  });
});

describe('events for one endpoint', () => {
  test('an event for one endpoint is sent to it only, whatever its event types', async () => {
    const target = await endpoint({ eventTypes: ['payout.failed'] });
    const other = await endpoint();
    const eventId = await event('{}', 'webhook.test');
    await dispatchEvent({ book, eventId, endpointId: target.id });
    expect([target.received.length, other.received.length]).toEqual([1, 0]);
  });

  test('a delivery to an endpoint that was disabled or deleted is failed with the reason', async () => {
    const disabled = await endpoint({ status: 'disabled' });
    const deleted = await endpoint();
    await deleteWebhookEndpoint(fixture.sql, book, deleted.id);
    const eventId = await event();
    await dispatchEvent({ book, eventId, endpointId: disabled.id });
    await dispatchEvent({ book, eventId, endpointId: deleted.id });
    const found = await deliveries(eventId);
    expect(found.get(disabled.id)).toMatchObject({
      status: 'failed',
      failureReason: 'endpoint_disabled',
      attempts: [],
    });
    expect(found.get(deleted.id)).toMatchObject({ status: 'failed', failureReason: 'endpoint_deleted', attempts: [] });
    expect(flows).toEqual([]);
  });
});

describe('redelivery', () => {
  test('a redelivery sends a delivered event once more with the same id and body', async () => {
    const target = await endpoint();
    const other = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    expect(await requestRedelivery(fixture.sql, book, eventId, target.id)).toEqual([target.id]);
    expect((await deliveries(eventId)).get(target.id)?.status).toBe('pending');
    await dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    // The relay may repeat its message.
    await dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    const [first, second] = target.received;
    expect(target.received).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(other.received).toHaveLength(1);
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });

  test('a redelivery to all includes later endpoints, and none that is disabled or not subscribed', async () => {
    const first = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    const later = await endpoint();
    const disabled = await endpoint({ status: 'disabled' });
    const others = await endpoint({ eventTypes: ['payout.failed'] });
    expect((await requestRedelivery(fixture.sql, book, eventId)).toSorted()).toEqual([first.id, later.id].toSorted());
    await dispatchEvent({ book, eventId, redelivery: true });
    expect([first, later, disabled, others].map((target) => target.received.length)).toEqual([2, 1, 0, 0]);
  });

  test('a redelivery of a pending delivery makes one additional attempt and keeps its schedule', async () => {
    const target = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    const before = (await deliveries(eventId)).get(target.id);
    await requestRedelivery(fixture.sql, book, eventId, target.id);
    await dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'pending',
      nextAttemptAt: before?.nextAttemptAt,
      attempts: [{ responseStatus: 500 }, { responseStatus: 500 }],
    });
    target.answerWith(answerStatus(200));
    await dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({ status: 'delivered', nextAttemptAt: null });
  });

  test('a redelivery signals the flow whatever the outcome of its attempt', async () => {
    const target = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    expect(signalled).toEqual([]);
    for (const status of [500, 200]) {
      target.answerWith(answerStatus(status));
      await requestRedelivery(fixture.sql, book, eventId, target.id);
      await dispatchEvent({ book, eventId, redelivery: true });
    }
    expect(signalled).toEqual([flowOf(eventId, target), flowOf(eventId, target)]);
    // A relay that crashed before signalling repeats the message, when the delivery has already ended.
    await dispatchEvent({ book, eventId, redelivery: true });
    expect([signalled.length, target.received.length]).toEqual([3, 3]);
  });
});

test('no URL, body or secret is logged', async () => {
  const bad = await endpoint({}, answerStatus(500, 'CANARY-ANSWER'));
  await updateWebhookEndpoint(fixture.sql, book, bad.id, { url: `${bad.url}?token=CANARY-URL` });
  await dispatchEvent({ book, eventId: await event('{"a":"CANARY-BODY"}') });
  expect(fixture.logged.join('\n')).toContain('answered 500');
  expect(fixture.logged.join('\n')).not.toMatch(/CANARY|whsec_|127\.0\.0\.1/);
});
