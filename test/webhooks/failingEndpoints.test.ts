// What an endpoint has missed: since when it fails, that the others get an event after an hour of failures, that it is
// disabled after days of them, and that the owner can have everything sent again.
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventView } from '../../src/api/views.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import type { Event, EventType } from '../../src/resources/events.ts';
import { redeliverSince } from '../../src/webhooks/bulkRedelivery.ts';
import { listDeliveries } from '../../src/webhooks/deliveries.ts';
import { findWebhookEndpoint, giveNotice, updateWebhookEndpoint } from '../../src/webhooks/endpoints.ts';
import { eventProblem } from '../support/documented.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus } from './receiver.ts';
import { startWorkbench } from './webhookFixture.ts';

let book: Book;

const fixture = await startWorkbench();

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.endDeliveries();
  book = { organisationId: newUuid(), environment: 'test' };
});

afterEach(() => fixture.closeReceivers());

const read = async ({ id }: { id: Uuid }) => {
  const endpoint = await findWebhookEndpoint(fixture.sql, book, id);
  if (endpoint === null) throw new Error('there is no such endpoint');
  return endpoint;
};

async function send(eventId?: Uuid): Promise<Uuid> {
  const sent = eventId ?? (await fixture.event(book));
  await fixture.send(book, sent);
  return sent;
}

const eventsOf = (type: EventType = 'webhook_endpoint.disabled') => fixture.sql<Event[]>`
  SELECT id, type, resource, sequence, data, created_at FROM events
  WHERE organisation_id = ${book.organisationId} AND type = ${type} ORDER BY created_at, id`;

describe('an endpoint that fails', () => {
  test('it fails since its first failed attempt, until one succeeds', async () => {
    const endpoint = await fixture.endpoint(book, {}, answerStatus(500));
    expect((await read(endpoint)).failingSince).toBeNull();
    await send();
    const { failingSince } = await read(endpoint);
    expect(failingSince).toEqual(expect.any(Date));
    await send();
    expect((await read(endpoint)).failingSince).toEqual(failingSince);
    endpoint.answerWith(answerStatus(200));
    await send();
    expect((await read(endpoint)).failingSince).toBeNull();
  });

  test('after five days of failures a further one disables it, and the other endpoints get one event', async () => {
    const endpoint = await fixture.endpoint(book, { description: 'orders' }, answerStatus(500));
    const other = await fixture.endpoint(book, { eventTypes: ['webhook_endpoint.disabled'] });
    await fixture.failingFor(endpoint, '5 days');
    await send();
    expect((await read(endpoint)).status).toBe('disabled');
    const [event, ...more] = await eventsOf();
    if (event === undefined) throw new Error('no event was written');
    expect(more).toEqual([]);
    const id = publicId('webhookEndpoint', endpoint.id);
    expect(event.data).toMatchObject({ id, status: 'disabled', url: endpoint.url, description: 'orders' });
    expect(eventProblem(eventView(event))).toBeNull();
    const [queued] = await fixture.sql<{ message: { eventId: Uuid } }[]>`
      SELECT message FROM outbox WHERE organisation_id = ${book.organisationId}`;
    await send(queued?.message.eventId);
    expect(other.received).toHaveLength(1);
    expect(await giveNotice(fixture.sql, book, endpoint.id, 'disabled')).toBe(false);
    expect(await eventsOf()).toHaveLength(1);
  });

  test('after an hour of failures the other endpoints get one event, until an attempt succeeds', async () => {
    const endpoint = await fixture.endpoint(book, { description: 'orders' }, answerStatus(500));
    const other = await fixture.endpoint(book, { eventTypes: ['webhook_endpoint.failing'] });
    const notices = () => eventsOf('webhook_endpoint.failing');
    await fixture.failingFor(endpoint, '59 minutes');
    await send();
    expect(await notices()).toEqual([]);
    await fixture.failingFor(endpoint, '61 minutes');
    await send();
    await send();
    const [event, ...more] = await notices();
    if (event === undefined) throw new Error('no event was written');
    expect(more).toEqual([]);
    const { failingSince } = await read(endpoint);
    expect(event.data).toMatchObject({
      id: publicId('webhookEndpoint', endpoint.id),
      status: 'enabled',
      description: 'orders',
      failingSince: failingSince?.toISOString(),
    });
    expect(eventProblem(eventView(event))).toBeNull();
    expect(await giveNotice(fixture.sql, book, endpoint.id, 'failing')).toBe(false);
    // It fails again after a success: a second time of failures, and a second event.
    endpoint.answerWith(answerStatus(200));
    await send();
    await fixture.sql`
      UPDATE webhook_endpoints SET failing_event_at = now() - interval '2 days' WHERE id = ${endpoint.id}`;
    await fixture.failingFor(endpoint, '1 day');
    endpoint.answerWith(answerStatus(500));
    await send();
    expect(await notices()).toHaveLength(2);
    expect(await eventsOf()).toEqual([]);
    // The endpoint itself does not get it, now or when it has everything sent again.
    const received = endpoint.received.length;
    await send(event.id);
    expect([other.received.length, endpoint.received.length]).toEqual([1, received]);
    await fixture.sql`
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      SELECT organisation_id, environment, ${newUuid()}, type, resource, 100, data, created_at - interval '2 minutes'
      FROM events WHERE id = ${event.id}`;
    const since = new Date(Date.now() - 3_600_000);
    expect((await redeliverSince(fixture.sql, book, await read(endpoint), since)).redelivered).toBe(0);
    expect((await redeliverSince(fixture.sql, book, await read(other), since)).redelivered).toBe(1);
  });

  test('a success after four days, and one within the same moment, keep it enabled', async () => {
    const endpoint = await fixture.endpoint(book, {}, answerStatus(500));
    await fixture.failingFor(endpoint, '4 days');
    await send();
    expect((await read(endpoint)).status).toBe('enabled');
    await fixture.failingFor(endpoint, '6 days');
    endpoint.answerWith(answerStatus(200));
    await send();
    expect(await giveNotice(fixture.sql, book, endpoint.id, 'disabled')).toBe(false);
    expect(await read(endpoint)).toMatchObject({ status: 'enabled', failingSince: null });
    expect(await eventsOf()).toEqual([]);
  });

  test.each([[{ status: 'enabled' as const }], [{ url: 'https://example.com/new' }]])(
    'it starts afresh after %o',
    async (change) => {
      const endpoint = await fixture.endpoint(book);
      await fixture.failingFor(endpoint, '6 days');
      const changed = await updateWebhookEndpoint(fixture.sql, book, endpoint.id, change);
      expect(changed?.failingSince).toBeNull();
    },
  );

  test('another change leaves the time', async () => {
    const endpoint = await fixture.endpoint(book);
    await fixture.failingFor(endpoint, '1 day');
    const changed = await updateWebhookEndpoint(fixture.sql, book, endpoint.id, {
      description: 'x',
      status: 'disabled',
    });
    expect(changed?.failingSince).not.toBeNull();
  });
});

describe('sending everything again', () => {
  const HOUR_AGO = () => new Date(Date.now() - 3_600_000);

  /** An event of two minutes ago: younger ones may still be on their way. */
  async function earlier(type = 'payment.settled'): Promise<Uuid> {
    const id = newUuid();
    await fixture.sql`
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      VALUES (${book.organisationId}, 'test', ${id}, ${type}, ${id}, 1, '{}', now() - interval '2 minutes')`;
    return id;
  }

  const fail = (eventId: Uuid) =>
    fixture.sql`
      UPDATE webhook_deliveries SET status = 'failed', failure_reason = 'retries_exhausted', next_attempt_at = NULL
      WHERE organisation_id = ${book.organisationId} AND event_id = ${eventId}`;

  /** The events that are to be sent now. */
  const queued = async () =>
    (
      await fixture.sql<{ eventId: Uuid }[]>`
        SELECT event_id FROM webhook_deliveries
        WHERE organisation_id = ${book.organisationId} AND status = 'pending' AND next_attempt_at <= now()`
    ).map(({ eventId }) => eventId);

  test('failed deliveries and events without one are sent again, delivered and pending ones are not', async () => {
    const endpoint = await fixture.endpoint(book, {}, answerStatus(500));
    const failed = await send(await earlier());
    await fail(failed);
    endpoint.answerWith(answerStatus(200));
    await send(await earlier());
    endpoint.answerWith(answerStatus(500));
    const pending = await send(await earlier());
    endpoint.answerWith(answerStatus(200));
    const missed = await earlier();
    const result = await redeliverSince(fixture.sql, book, await read(endpoint), HOUR_AGO());
    expect(result).toEqual({ redelivered: 2, continueFrom: null });
    expect((await queued()).toSorted()).toEqual([failed, missed].toSorted());
    endpoint.received.length = 0;
    expect((await fixture.deliveries(book, pending)).get(endpoint.id)?.status).toBe('pending');
    const { retries } = fixture.dispatcher();
    retries.start();
    await waitFor('both', async () => (await queued()).length === 0);
    await retries.stop();
    expect(endpoint.received).toHaveLength(2);
    expect((await fixture.deliveries(book, failed)).get(endpoint.id)?.status).toBe('delivered');
    const again = await redeliverSince(fixture.sql, book, await read(endpoint), HOUR_AGO());
    expect(again.redelivered).toBe(0);
  });

  test('only subscribed types, events since the time, and no events of the last minute', async () => {
    const types: EventType[] = ['payment.settled'];
    const endpoint = await fixture.endpoint(book, { eventTypes: types });
    await earlier('payment.expired');
    await earlier('webhook.test');
    const wanted = await earlier();
    await fixture.event(book);
    const subscribed = await redeliverSince(fixture.sql, book, await read(endpoint), HOUR_AGO());
    expect([subscribed.redelivered, await queued()]).toEqual([1, [wanted]]);
    const later = await redeliverSince(fixture.sql, book, await read(endpoint), new Date());
    expect(later).toEqual({ redelivered: 0, continueFrom: null });
  });

  test('no events from before the endpoint existed', async () => {
    const endpoint = await fixture.endpoint(book);
    await earlier();
    const created = { ...(await read(endpoint)), createdAt: new Date() };
    expect((await redeliverSince(fixture.sql, book, created, HOUR_AGO())).redelivered).toBe(0);
    expect((await redeliverSince(fixture.sql, book, await read(endpoint), HOUR_AGO())).redelivered).toBe(1);
  });

  test('of many events one request takes a part, and returns where to continue', async () => {
    const endpoint = await fixture.endpoint(book);
    const EVENTS = 5_600;
    await fixture.sql`
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      SELECT ${book.organisationId}, 'test', gen_random_uuid(), 'payment.settled', 'x', n, '{}',
             now() - interval '50 minutes' + n * interval '10 ms'
      FROM generate_series(1, ${EVENTS}) AS n`;
    const first = await redeliverSince(fixture.sql, book, await read(endpoint), HOUR_AGO());
    expect(first).toEqual({ redelivered: 5_000, continueFrom: expect.any(Date) });
    const second = await redeliverSince(fixture.sql, book, await read(endpoint), first.continueFrom ?? new Date());
    expect(second).toEqual({ redelivered: EVENTS - 5_000, continueFrom: null });
  });

  test('the failed deliveries of an endpoint are listed with their attempts, and no others', async () => {
    const endpoint = await fixture.endpoint(book, {}, answerStatus(503, 'busy'));
    const other = await fixture.endpoint(book, {}, answerStatus(500));
    const failed = await send();
    await fail(failed);
    await send();
    const listed = await listDeliveries(fixture.sql, book, { failedAt: endpoint.id }, {}, { limit: 10, after: null });
    expect(listed).toMatchObject([
      { eventId: failed, endpointId: endpoint.id, status: 'failed', failureReason: 'retries_exhausted' },
    ]);
    expect(listed[0]?.attempts).toMatchObject([{ responseStatus: 503, responseBody: 'busy' }]);
    const stranger = { ...book, organisationId: newUuid() };
    expect(await listDeliveries(fixture.sql, stranger, { failedAt: other.id }, {}, { limit: 10, after: null })).toEqual(
      [],
    );
  });
});
