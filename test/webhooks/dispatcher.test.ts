// Dispatching events and attempting what is due, over real HTTP with the real database.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { claimDeliveries, openDeliveries, requestRedelivery } from '../../src/webhooks/deliveries.ts';
import type { createDispatcher, DispatchEvent } from '../../src/webhooks/dispatcher.ts';
import {
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  updateWebhookEndpoint,
  type WebhookEndpoint,
} from '../../src/webhooks/endpoints.ts';
import { newWebhookSecret } from '../../src/webhooks/signature.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Answering, answerStatus } from './receiver.ts';
import { startWorkbench, type TestEndpoint } from './webhookFixture.ts';

let book: Book;
let dispatchEvent: DispatchEvent;
let started: ReturnType<typeof createDispatcher>['retries'][];

const fixture = await startWorkbench();

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.endDeliveries();
  book = { organisationId: newUuid(), environment: 'test' };
  started = [];
  ({ dispatchEvent } = fixture.dispatcher());
});

afterEach(async () => {
  await Promise.all(started.map((retries) => retries.stop()));
  await fixture.closeReceivers();
});

/** Attempts what is due in a new process, until the test ends. */
function startRetries(): void {
  const { retries } = fixture.dispatcher();
  retries.start();
  started.push(retries);
}

const endpoint = (options?: Partial<WebhookEndpoint>, answering?: Answering) =>
  fixture.endpoint(book, options, answering);
const event = (data?: string, type?: string) => fixture.event(book, data, type);
const deliveries = (eventId: Uuid) => fixture.deliveries(book, eventId);

const deliveryTo = async (eventId: Uuid, { id }: { id: Uuid }) => (await deliveries(eventId)).get(id);

const untilStatus = (status: string, eventId: Uuid, { id }: { id: Uuid }) =>
  waitFor(`a delivery that is ${status}`, async () => {
    const delivery = await deliveryTo(eventId, { id });
    return delivery?.status === status && delivery;
  });

/** Lets everything that waits for an endpoint be due. */
const makeDue = ({ id }: { id: Uuid }) => fixture.sql`
  UPDATE webhook_deliveries SET next_attempt_at = now() - interval '1 ms' WHERE endpoint_id = ${id} AND status = 'pending'`;

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
    'an endpoint that %s gets its next attempt after the first gap, and another is not concerned',
    async (_name, answering, attempt) => {
      const bad = await endpoint({}, answering);
      const good = await endpoint();
      const eventId = await event();
      const before = Date.now();
      await dispatchEvent({ book, eventId });
      expect(good.received).toHaveLength(1);
      const delivery = (await deliveries(eventId)).get(bad.id);
      expect(delivery).toMatchObject({ status: 'pending', deliveredAt: null, attempts: [attempt] });
      const at = delivery?.nextAttemptAt?.getTime();
      // The jitter is a tenth of five seconds.
      expect(at).toBeGreaterThanOrEqual(before + 4_500);
      expect(at).toBeLessThanOrEqual(Date.now() + 5_500);
    },
  );

  test('a repeated message sends nothing again, to an endpoint that failed or one that did not', async () => {
    const bad = await endpoint({}, answerStatus(503));
    const good = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    await fixture.dispatcher().dispatchEvent({ book, eventId });
    expect([bad.received.length, good.received.length]).toEqual([1, 1]);
  });

  test.each([
    ['the process that saw it fail', '0 seconds', () => dispatchEvent],
    ['all processes after a minute of failures', '61 seconds', () => fixture.dispatcher().dispatchEvent],
  ])(
    'further events for a failing endpoint are left as due by %s, and their attempts are made beside',
    async (_name, interval, of) => {
      const bad = await endpoint({}, answerStatus(503));
      await dispatchEvent({ book, eventId: await event() });
      await fixture.failingFor(bad, interval);
      const next = await event();
      await of()({ book, eventId: next });
      expect(bad.received).toHaveLength(1);
      expect(await deliveryTo(next, bad)).toMatchObject({ status: 'pending', attempts: [], nextAttemptAt: null });
      bad.answerWith(answerStatus(200));
      startRetries();
      expect((await untilStatus('delivered', next, bad)).attempts).toHaveLength(1);
    },
  );

  test('an event that an endpoint refuses does not hold back those that other processes send', async () => {
    const bad = await endpoint({}, answerStatus(503));
    await dispatchEvent({ book, eventId: await event() });
    bad.answerWith(answerStatus(200));
    await fixture.dispatcher().dispatchEvent({ book, eventId: await event() });
    expect(bad.received).toHaveLength(2);
  });

  test('a test of an endpoint that fails is attempted at once', async () => {
    const bad = await endpoint({}, answerStatus(503));
    await dispatchEvent({ book, eventId: await event() });
    await fixture.failingFor(bad, '61 seconds');
    for (const { dispatchEvent: dispatch } of [{ dispatchEvent }, fixture.dispatcher()]) {
      await dispatch({ book, eventId: await event('{}', 'webhook.test'), endpointId: bad.id });
    }
    expect(bad.received).toHaveLength(3);
  });

  test('each failed attempt sets the time of the next one, and the last one ends the delivery', async () => {
    const bad = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    for (const [attempts, gapMs] of [
      [1, 5_000],
      [2, 300_000],
    ] as const) {
      const delivery = await waitFor(`attempt ${attempts}`, async () => {
        const found = await deliveryTo(eventId, bad); // the attempts are read after the delivery
        return found?.attempts.length === attempts && found.nextAttemptAt !== null && found;
      });
      const gap = Number(delivery.nextAttemptAt) - Number(delivery.attempts[0]?.attemptedAt);
      expect(gap).toBeGreaterThan(gapMs * 0.9);
      expect(gap).toBeLessThan(gapMs * 1.1 + 1_000);
      await makeDue(bad);
      if (attempts === 1) startRetries(); // not earlier: on a busy machine the first gap may be over by now
    }
    expect(await untilStatus('failed', eventId, bad)).toMatchObject({
      failureReason: 'retries_exhausted',
      nextAttemptAt: null,
      attempts: [{}, {}, {}],
    });
  });

  test('what a process has opened and not attempted is due when its lease is over', async () => {
    const good = await endpoint();
    const eventId = await event();
    await openDeliveries(fixture.sql, book, eventId);
    expect(await claimDeliveries(fixture.sql, { after: null, max: 10, atOnce: 8 })).toEqual([]);
    await makeDue(good);
    startRetries();
    await untilStatus('delivered', eventId, good);
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
    // Events beyond the limit are left as due, and their dispatch completes while the ten requests are still open.
    await waitFor('ten that are due', async () => {
      const due = await fixture.sql`
        SELECT FROM webhook_deliveries WHERE endpoint_id = ${slow.id} AND status = 'pending' AND next_attempt_at <= now()`;
      return due.length === 10;
    });

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
  });
});

describe('what is due', () => {
  /** Deliveries to an endpoint that are due, and were never attempted. */
  async function due(count: number, { id }: { id: Uuid }): Promise<Uuid[]> {
    const eventIds: Uuid[] = [];
    for (let number = 0; number < count; number += 1) {
      const eventId = await event();
      await openDeliveries(fixture.sql, book, eventId, id);
      eventIds.push(eventId);
    }
    await makeDue({ id });
    return eventIds;
  }
  const claim = (max: number, after: Uuid | null = null, atOnce = 3) =>
    claimDeliveries(fixture.sql, { after, max, atOnce });
  const countOf = (claimed: { endpointId: Uuid }[], { id }: { id: Uuid }): number =>
    claimed.filter(({ endpointId }) => endpointId === id).length;

  // A redelivery locks deliveries of several endpoints, and a claim locks those that it has claimed: if it waited for
  // another one, they could wait for each other, and the redelivery would be refused.
  test('a claim takes what is free, and waits for no delivery that is being changed', async () => {
    const [busy, free] = [await endpoint(), await endpoint()];
    const [changed] = await due(2, busy);
    await due(1, free);
    const claimed = await fixture.sql.begin(async (tx) => {
      await tx`UPDATE webhook_deliveries SET attempts = attempts WHERE event_id = ${changed ?? null}`;
      return await claim(10);
    });
    expect([countOf(claimed, busy), countOf(claimed, free)]).toEqual([1, 1]);
    expect((await claim(10)).map(({ eventId }) => eventId)).toEqual([changed]);
  });

  test('the endpoints take turns, each with at most the setting in progress, in all processes', async () => {
    const [first, second] = [await endpoint(), await endpoint()].toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [
      TestEndpoint,
      TestEndpoint,
    ];
    await due(5, first);
    await due(2, second);
    const claimed = await claim(4);
    expect([countOf(claimed, first), countOf(claimed, second)]).toEqual([3, 1]);
    const [more] = await claim(4, claimed.at(-1)?.endpointId);
    expect(more?.endpointId).toBe(second.id);
    expect(await claim(4)).toEqual([]);
    // Those of a process that has died.
    await fixture.sql`UPDATE webhook_deliveries SET claimed_until = now() - interval '1 ms' WHERE claimed_until IS NOT NULL`;
    expect(await claim(10)).toHaveLength(5);
  });

  test('two that claim at the same time claim nothing twice, and together no more than the setting', async () => {
    const one = await endpoint();
    await due(8, one);
    const claims = await Promise.all(Array.from({ length: 4 }, () => claim(10)));
    expect(claims.flat()).toHaveLength(3);
    expect(new Set(claims.flat().map(({ eventId }) => eventId)).size).toBe(3);
  });

  test('an endpoint that does not respond holds up no other', async () => {
    const silent = await endpoint({}, () => {});
    const good = await endpoint();
    await due(50, silent);
    const [eventId] = await due(1, good);
    startRetries();
    await untilStatus('delivered', eventId ?? '', good);
    await silent.untilReceived(8);
    expect(silent.received).toHaveLength(8);
  });

  test('after a time of failures the first success makes all that waits due; what failed since waits', async () => {
    const bad = await endpoint({}, answerStatus(500));
    const eventIds = [await event(), await event(), await event()];
    for (const eventId of eventIds) await fixture.send(book, eventId);
    bad.answerWith(answerStatus(200));
    await fixture.send(book, await event());
    expect(await claim(10)).toEqual([]); // it has failed for a moment only
    await fixture.failingFor(bad, '2 minutes');
    await fixture.send(book, await event());
    bad.answerWith(answerStatus(500));
    const later = await event();
    await fixture.send(book, later);
    expect(await claim(10)).toEqual([]); // it fails again
    bad.answerWith(answerStatus(200));
    await fixture.send(book, await event());
    startRetries();
    for (const eventId of eventIds) await untilStatus('delivered', eventId, bad);
    expect((await deliveryTo(later, bad))?.status).toBe('pending');
  });

  test('an endpoint that refuses one event and takes the others recovers once a day: the refused one keeps its attempts', async () => {
    const picky = await endpoint({}, answerStatus(500));
    const refused = await event();
    await fixture.send(book, refused);
    /** It takes an event, two minutes after it has refused the other one. */
    const recovers = async () => {
      await fixture.failingFor(picky, '2 minutes');
      picky.answerWith(answerStatus(200));
      await fixture.send(book, await event());
      const claimed = (await claim(10)).map(({ eventId }) => eventId);
      await fixture.sql`
        UPDATE webhook_deliveries SET claimed_until = NULL, attempted_at = now() WHERE event_id = ${refused}`;
      return claimed;
    };
    expect(await recovers()).toEqual([refused]);
    expect(await recovers()).toEqual([]);
    await fixture.sql`UPDATE webhook_endpoints SET recovered_at = now() - interval '25 hours' WHERE id = ${picky.id}`;
    expect(await recovers()).toEqual([refused]);
  });
});

describe('redelivery', () => {
  test('a redelivery sends a delivered event once more with the same id and body', async () => {
    const target = await endpoint();
    const other = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    expect(await requestRedelivery(fixture.sql, book, eventId, target.id)).toEqual([target.id]);
    expect((await deliveryTo(eventId, target))?.status).toBe('pending');
    startRetries();
    const { attempts } = await untilStatus('delivered', eventId, target);
    expect(attempts).toHaveLength(2);
    const [first, second] = target.received;
    expect(target.received).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(other.received).toHaveLength(1);
  });

  test('a redelivery to all includes later endpoints, and none that is disabled or not subscribed', async () => {
    const first = await endpoint();
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    const later = await endpoint();
    const disabled = await endpoint({ status: 'disabled' });
    const others = await endpoint({ eventTypes: ['payout.failed'] });
    expect((await requestRedelivery(fixture.sql, book, eventId)).toSorted()).toEqual([first.id, later.id].toSorted());
    startRetries();
    for (const target of [first, later]) await untilStatus('delivered', eventId, target);
    expect([first, later, disabled, others].map((target) => target.received.length)).toEqual([2, 1, 0, 0]);
  });

  test('a redelivery of a pending delivery makes one additional attempt, and the rest of the schedule follows', async () => {
    const target = await endpoint({}, answerStatus(500));
    const eventId = await event();
    await dispatchEvent({ book, eventId });
    await requestRedelivery(fixture.sql, book, eventId, target.id);
    startRetries();
    const attempts = async (count: number) =>
      waitFor(`${count} attempts`, async () => (await deliveryTo(eventId, target))?.attempts.length === count);
    await attempts(2);
    for (const count of [3, 4]) {
      await makeDue(target);
      await attempts(count);
    }
    expect((await deliveryTo(eventId, target))?.status).toBe('failed');
  });
});

test('no URL, body or secret is logged', async () => {
  const bad = await endpoint({}, answerStatus(500, 'CANARY-ANSWER'));
  await updateWebhookEndpoint(fixture.sql, book, bad.id, { url: `${bad.url}?token=CANARY-URL` });
  await dispatchEvent({ book, eventId: await event('{"a":"CANARY-BODY"}') });
  expect(fixture.logged.join('\n')).toContain('answered 500');
  expect(fixture.logged.join('\n')).not.toMatch(/CANARY|whsec_|127\.0\.0\.1/);
});
