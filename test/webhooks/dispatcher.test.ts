// Dispatching events over real HTTP with the real database; only the start of a flow is a list that the test reads.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { requestRedelivery } from '../../src/webhooks/deliveries.ts';
import { createDispatcher, type Dispatcher } from '../../src/webhooks/dispatcher.ts';
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
import { startWorkbench, type TestEndpoint, type Workbench } from './webhookFixture.ts';

let workbench: Workbench;
let book: Book;
let dispatcher: Dispatcher;
let flows: WebhookDeliveryInput[];
/** Flows that were told of a change, whether they were started for it or run already. */
let woken: WebhookDeliveryInput[];
let temporalIsUp: boolean;

beforeAll(async () => {
  workbench = await startWorkbench();
});

afterAll(async () => {
  await workbench.close();
});

beforeEach(() => {
  book = { organisationId: newUuid(), environment: 'test' };
  flows = [];
  woken = [];
  temporalIsUp = true;
  dispatcher = newDispatcher();
});

afterEach(async () => {
  await workbench.closeReceivers();
});

/** A dispatcher as a fresh process has it. */
function newDispatcher(): Dispatcher {
  const { sql, config, log } = workbench;
  return createDispatcher({
    sql,
    keyring: config.keyring,
    config,
    log,
    startDelivery: async (input, news) => {
      if (!temporalIsUp) throw new Error('Temporal is away');
      flows.push(input);
      if (news) woken.push(input);
    },
    wakeDelivery: async (input) => {
      if (!temporalIsUp) throw new Error('Temporal is away');
      woken.push(input);
    },
  });
}

const endpoint = (wanted?: Partial<WebhookEndpoint>, answering?: Answering) =>
  workbench.endpoint(book, wanted, answering);
const event = (data?: string, type?: string) => workbench.event(book, data, type);
const deliveries = (eventId: Uuid) => workbench.deliveries(book, eventId);

const flowOf = (eventId: Uuid, { id }: TestEndpoint): WebhookDeliveryInput => ({
  ...book,
  eventId: publicId('event', eventId),
  endpointId: publicId('webhookEndpoint', id),
  eventType: 'payment.settled',
});

describe('an event', () => {
  test('reaches every endpoint that wants its type, signed, as the envelope with the stored bytes of its payload', async () => {
    const all = await endpoint();
    const some = await endpoint({ eventTypes: ['payment.expired', 'payment.settled'] });
    const others = await endpoint({ eventTypes: ['payout.failed'] });
    const disabled = await endpoint({ status: 'disabled' });
    const deleted = await endpoint();
    await deleteWebhookEndpoint(workbench.sql, book, deleted.id);
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });

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

  test('never reaches the other environment or another organisation', async () => {
    const target = await endpoint();
    const mine = book;
    for (const other of [
      { ...mine, environment: 'live' as const },
      { ...mine, organisationId: newUuid() },
    ]) {
      book = other;
      const eventId = await event();
      await dispatcher.dispatchEvent({ book: other, eventId });
      await dispatcher.dispatchEvent({ book: other, eventId, endpointId: target.id });
      expect(await requestRedelivery(workbench.sql, other, eventId)).toEqual([]);
      expect(await workbench.sql`SELECT FROM webhook_deliveries WHERE event_id = ${eventId}`).toHaveLength(0);
    }
    expect(target.received).toEqual([]);
  });

  test('that is handled twice is sent once, and each delivery has its log', async () => {
    const target = await endpoint({}, answerStatus(201, 'thank you'));
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    await dispatcher.dispatchEvent({ book, eventId });
    expect(target.received).toHaveLength(1);
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'delivered',
      failureReason: null,
      nextAttemptAt: null,
      deliveredAt: expect.any(Date),
      attempts: [{ responseStatus: 201, responseBody: 'thank you', error: null, durationMs: expect.any(Number) }],
    });
  });

  test('during a rotation is signed with both secrets, and after it with the new one', async () => {
    const target = await endpoint();
    const next = newWebhookSecret();
    const sealed = workbench.config.keyring.seal('webhook-secret', target.id, next);
    const rotate = (until: Date) => rotateWebhookSecret(workbench.sql, book, target.id, sealed, until);
    await rotate(new Date(Date.now() + 3_600_000));
    await dispatcher.dispatchEvent({ book, eventId: await event() });
    await workbench.sql`UPDATE webhook_endpoints SET previous_secret_until = now() - interval '1 second' WHERE id = ${target.id}`;
    await dispatcher.dispatchEvent({ book, eventId: await event() });

    const [during, after] = target.received;
    const verify = (secret: string, request = during) =>
      new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    expect(during?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(2);
    expect([verify(next), verify(target.secret)]).toEqual([expect.anything(), expect.anything()]);
    expect(verify(next, after)).toEqual(expect.anything());
    expect(() => verify(target.secret, after)).toThrow('No matching signature found');
  });
});

describe('an endpoint that does not take its event', () => {
  test.each([
    ['answers 500', answerStatus(500, 'boom'), { responseStatus: 500, responseBody: 'boom', error: null }],
    [
      'hangs up',
      (response: ServerResponse) => void response.destroy(),
      { responseStatus: null, error: 'connection_lost' },
    ],
  ])('because it %s gets a flow, and its next attempt after the first gap', async (_name, answering, attempt) => {
    const bad = await endpoint({}, answering);
    const good = await endpoint();
    const eventId = await event();
    const before = Date.now();
    await dispatcher.dispatchEvent({ book, eventId });
    expect(good.received).toHaveLength(1);
    expect(flows).toEqual([flowOf(eventId, bad)]);
    const delivery = (await deliveries(eventId)).get(bad.id);
    expect(delivery).toMatchObject({ status: 'pending', deliveredAt: null, attempts: [attempt] });
    const at = delivery?.nextAttemptAt?.getTime();
    expect(at).toBeGreaterThanOrEqual(before + 4_500); // a tenth less than five seconds, or a tenth more
    expect(at).toBeLessThanOrEqual(Date.now() + 5_500);
  });

  test('is left to the flow when the message is handled again, also while Temporal was away, and others get nothing twice', async () => {
    const bad = await endpoint({}, answerStatus(503));
    const good = await endpoint();
    const eventId = await event();
    temporalIsUp = false;
    await expect(dispatcher.dispatchEvent({ book, eventId })).rejects.toThrow('Temporal is away');
    await expect(dispatcher.dispatchEvent({ book, eventId })).rejects.toThrow('Temporal is away');
    temporalIsUp = true;
    await newDispatcher().dispatchEvent({ book, eventId });
    expect(flows).toEqual([flowOf(eventId, bad)]);
    expect([bad.received.length, good.received.length]).toEqual([1, 1]);
  });

  test('is not asked directly again while it is failing: its next events go to flows at once', async () => {
    const bad = await endpoint({}, answerStatus(503));
    await dispatcher.dispatchEvent({ book, eventId: await event() });
    const next = await event();
    await dispatcher.dispatchEvent({ book, eventId: next });
    expect(bad.received).toHaveLength(1);
    expect(flows).toHaveLength(2);
    expect((await deliveries(next)).get(bad.id)).toMatchObject({ status: 'pending', attempts: [] });
  });

  test('by a URL that no longer fits the rules is sent nothing, and the log says why', async () => {
    const target = await endpoint();
    await updateWebhookEndpoint(workbench.sql, book, target.id, { url: 'http://169.254.169.254/' });
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'pending',
      attempts: [{ responseStatus: null, error: 'url_forbidden' }],
    });
  });

  test('on live is never asked on loopback, whatever the sandbox is allowed', async () => {
    book = { ...book, environment: 'live' };
    const target = await endpoint();
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    expect(target.received).toEqual([]);
    expect((await deliveries(eventId)).get(target.id)?.attempts).toMatchObject([{ error: 'url_forbidden' }]);
  });
});

describe('a slow endpoint', () => {
  test('delays nobody: others get every event while it answers none, and it gets no more than ten at a time', async () => {
    const quick = await endpoint();
    const dispatchMany = async (count: number) => {
      const eventIds = await Promise.all(Array.from({ length: count }, () => event()));
      return eventIds.map((eventId) => dispatcher.dispatchEvent({ book, eventId }));
    };
    await Promise.all(await dispatchMany(10)); // ten quick answers earn it the room for twenty
    const held: (() => void)[] = [];
    const slow = await endpoint({}, (response) => void held.push(() => void response.end()));

    const dispatched = await dispatchMany(20);
    await quick.untilReceived(30);
    await slow.untilReceived(10);
    // What found ten before it has a flow, and is done with while the ten are still unanswered.
    await waitFor('ten flows', () => flows.length === 10);
    const endpointId = publicId('webhookEndpoint', slow.id);
    expect(new Set(flows.map((flow) => flow.endpointId))).toEqual(new Set([endpointId]));

    for (const release of held) release();
    await Promise.all(dispatched);
    expect([slow.received.length, quick.received.length]).toEqual([10, 30]);
  });
});

describe('an event for one endpoint', () => {
  test('goes there alone, whatever types it asked for', async () => {
    const target = await endpoint({ eventTypes: ['payout.failed'] });
    const other = await endpoint();
    const eventId = await event('{}', 'webhook.test');
    await dispatcher.dispatchEvent({ book, eventId, endpointId: target.id });
    expect([target.received.length, other.received.length]).toEqual([1, 0]);
  });

  test('that was disabled or deleted in the meantime ends as failed, with the reason', async () => {
    const disabled = await endpoint({ status: 'disabled' });
    const deleted = await endpoint();
    await deleteWebhookEndpoint(workbench.sql, book, deleted.id);
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId, endpointId: disabled.id });
    await dispatcher.dispatchEvent({ book, eventId, endpointId: deleted.id });
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

describe('a redelivery', () => {
  test('sends a delivered event again, once, with the same id and body', async () => {
    const target = await endpoint();
    const other = await endpoint();
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    expect(await requestRedelivery(workbench.sql, book, eventId, target.id)).toEqual([target.id]);
    expect((await deliveries(eventId)).get(target.id)?.status).toBe('pending');
    await dispatcher.dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    await dispatcher.dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true }); // the relay may repeat it
    const [first, second] = target.received;
    expect(target.received).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(other.received).toHaveLength(1);
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });

  test('to all also reaches an endpoint that came later, and none that is disabled or wants other types', async () => {
    const first = await endpoint();
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    const later = await endpoint();
    const disabled = await endpoint({ status: 'disabled' });
    const others = await endpoint({ eventTypes: ['payout.failed'] });
    expect((await requestRedelivery(workbench.sql, book, eventId)).toSorted()).toEqual([first.id, later.id].toSorted());
    await dispatcher.dispatchEvent({ book, eventId, redelivery: true });
    expect([first, later, disabled, others].map((target) => target.received.length)).toEqual([2, 1, 0, 0]);
  });

  test('of an event that is still being tried makes one attempt more and leaves its schedule alone', async () => {
    const target = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    const before = (await deliveries(eventId)).get(target.id);
    await requestRedelivery(workbench.sql, book, eventId, target.id);
    await dispatcher.dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({
      status: 'pending',
      nextAttemptAt: before?.nextAttemptAt,
      attempts: [{ responseStatus: 500 }, { responseStatus: 500 }],
    });
    target.answerWith(answerStatus(200));
    await dispatcher.dispatchEvent({ book, eventId, endpointId: target.id, redelivery: true });
    expect((await deliveries(eventId)).get(target.id)).toMatchObject({ status: 'delivered', nextAttemptAt: null });
  });

  test('tells the flow, whatever the attempt came to: it may wait for hours, or for an operator', async () => {
    const target = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatcher.dispatchEvent({ book, eventId });
    expect(woken).toEqual([]);
    for (const status of [500, 200]) {
      target.answerWith(answerStatus(status));
      await requestRedelivery(workbench.sql, book, eventId, target.id);
      await dispatcher.dispatchEvent({ book, eventId, redelivery: true });
    }
    expect(woken).toEqual([flowOf(eventId, target), flowOf(eventId, target)]);
    // A relay that died before it had told the flow handles the message again, and the delivery has ended by then.
    await dispatcher.dispatchEvent({ book, eventId, redelivery: true });
    expect([woken.length, target.received.length]).toEqual([3, 3]);
  });

  test('writes its outbox message with it, and none when no endpoint is to get the event', async () => {
    const eventId = await event();
    const messages = async () =>
      (await workbench.sql`SELECT message FROM outbox WHERE organisation_id = ${book.organisationId}`).map(
        (row) => row.message,
      );
    expect(await requestRedelivery(workbench.sql, book, eventId)).toEqual([]);
    expect(await messages()).toEqual([]);
    const target = await endpoint();
    await requestRedelivery(workbench.sql, book, eventId);
    await requestRedelivery(workbench.sql, book, eventId, target.id);
    expect(await messages()).toEqual([
      { eventId, redelivery: true },
      { eventId, redelivery: true, endpointId: target.id },
    ]);
  });
});

describe('closing an endpoint', () => {
  const close = {
    disabled: (target: TestEndpoint) => updateWebhookEndpoint(workbench.sql, book, target.id, { status: 'disabled' }),
    deleted: (target: TestEndpoint) => deleteWebhookEndpoint(workbench.sql, book, target.id),
  };
  const messages = async () =>
    (await workbench.sql`SELECT message FROM outbox WHERE organisation_id = ${book.organisationId}`).map(
      (row) => row.message,
    );

  test.each(Object.keys(close) as (keyof typeof close)[])(
    '%s: wakes the flows whose attempts were all in vain, and sends nothing',
    async (how) => {
      const [target, other] = [await endpoint({}, answerStatus(500)), await endpoint()];
      const [spent, pending] = [await event(), await event()];
      for (const eventId of [spent, pending]) await dispatcher.dispatchEvent({ book, eventId });
      await workbench.sql`
        UPDATE webhook_deliveries SET status = 'failed', failure_reason = 'retries_exhausted'
        WHERE event_id = ${spent} AND endpoint_id = ${target.id}`;
      await updateWebhookEndpoint(workbench.sql, book, target.id, { description: 'still open' });
      expect(await messages()).toEqual([]);
      await close[how](target);
      await close[how](other);
      expect(await messages()).toEqual([{ eventId: spent, endpointId: target.id, endpointClosed: true }]);
      const before = target.received.length;
      await dispatcher.dispatchEvent({ book, eventId: spent, endpointId: target.id, endpointClosed: true });
      expect(woken).toEqual([flowOf(spent, target)]);
      expect(target.received).toHaveLength(before);
    },
  );
});

test('no URL, body or secret is ever logged', async () => {
  const bad = await endpoint({}, answerStatus(500, 'CANARY-ANSWER'));
  await updateWebhookEndpoint(workbench.sql, book, bad.id, { url: `${bad.url}?token=CANARY-URL` });
  await dispatcher.dispatchEvent({ book, eventId: await event('{"a":"CANARY-BODY"}') });
  expect(workbench.logged.join('\n')).toContain('answered 500');
  expect(workbench.logged.join('\n')).not.toMatch(/CANARY|whsec_|127\.0\.0\.1/);
});
