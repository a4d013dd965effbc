// The /events routes over HTTP, by status. Actual deliveries are tested in test/webhooks/.
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import type { Environment } from '../../src/money.ts';
import { transferMovement } from '../../src/resources/transfers/movements.ts';
import type { Transfer } from '../../src/resources/transfers/queries.ts';
import { type AttemptOutcome, recordAttempt } from '../../src/webhooks/deliveries.ts';
import { readExamples } from '../../tools/openapi/examples.ts';
import { type Resource, startTestApi, type TestOrganisation } from '../support/api.ts';
import { creditPayment } from '../support/creditPayment.ts';
import { expectError } from '../support/refusals.ts';
import { uuidAt } from '../support/uuidAt.ts';

let organisation: TestOrganisation;

const api = await startTestApi();

afterAll(() => api.close());

beforeEach(async () => {
  organisation = await api.createOrganisation();
});

/** What an event of this type carries. */
const dataOf = (type: string) => (readExamples().events[type] as { data: Record<string, unknown> }).data;

/** Writes an event as a movement does. Returns its public id. */
async function emit(
  type = 'payment.settled',
  createdAt = new Date(),
  environment: Environment = 'test',
  resource = publicId('payment', newUuid()),
): Promise<string> {
  const id = newUuid();
  await api.dependencies.journal.post({
    book: { organisationId: organisation.organisationId, environment },
    events: [{ id, type, resource, data: dataOf(type), createdAt }],
  });
  return publicId('event', id);
}

const createEndpoint = async (more: object = {}): Promise<Resource> =>
  (await organisation.test.post('/webhook-endpoints', { url: 'https://example.com/hook', ...more })).data;

/** Writes the delivery of an event to an endpoint, as the dispatcher does, with one attempt per given status. */
async function deliver(eventId: string, endpointId: string, statuses: number[]): Promise<void> {
  const book = { organisationId: organisation.organisationId, environment: 'test' as const };
  const ids = { eventId: requireUuid('event', eventId), endpointId: requireUuid('webhookEndpoint', endpointId) };
  await api.sql`
    INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at)
    VALUES (${book.organisationId}, 'test', ${ids.eventId}, ${ids.endpointId}, 'pending', now())`;
  for (const [attempts, status] of statuses.entries()) {
    const answer = `answered ${status}`;
    const outcome: AttemptOutcome =
      status < 300 ? { status: 'delivered', answer } : { status: 'pending', answer, waitMs: 3_600_000 };
    const result = { attemptedAt: new Date(), durationMs: 12, responseStatus: status, responseBody: 'ok', error: null };
    await recordAttempt(api.sql, book, { ...ids, attempts, endpointIsFailing: attempts > 0 }, result, outcome);
  }
}

/** The endpoints to which the event is to be sent now. */
const dueAt = async (id: string): Promise<string[]> =>
  (await organisation.test.get(`/events/${id}/deliveries`)).items
    .filter((item) => item.status === 'pending' && item.nextAttemptAt === null)
    .map((item) => String(item.endpointId));

test('the deliveries of an event can be filtered by creation time', async () => {
  const eventId = await emit();
  await deliver(eventId, (await createEndpoint()).id, [500]);
  const path = `/events/${eventId}/deliveries`;
  const [delivery] = (await organisation.test.get(path)).items;
  const at = String(delivery?.createdAt);
  const after = new Date(Date.parse(at) + 1).toISOString();
  const listed = async (query: string) => (await organisation.test.get(`${path}?${query}`)).items;
  expect(await listed(`createdAtFrom=${at}&createdAtTo=${after}`)).toEqual([delivery]);
  expect(await listed(`createdAtFrom=${at}&createdAtTo=${at}`)).toEqual([]);
  expect(await listed('createdAtTo=2001-01-01T00:00:00Z')).toEqual([]);
  expect(await listed('createdAtFrom=2101-01-01T00:00:00Z')).toEqual([]);
});

describe('200 responses', () => {
  test('GET /events/:id returns the envelope that webhooks carry', async () => {
    const createdAt = new Date('2026-01-02T03:04:05.678Z');
    const resourceId = publicId('payment', newUuid());
    const id = await emit('payment.settled', createdAt, 'test', resourceId);
    const { status, data } = await organisation.test.get(`/events/${id}`);
    expect(status).toBe(200);
    expect(data).toEqual({
      id,
      type: 'payment.settled',
      createdAt: createdAt.toISOString(),
      resourceId,
      sequence: 1,
      data: dataOf('payment.settled'),
    });
  });

  test('GET /events?resourceId= has the events of that resource alone, of a transfer too', async () => {
    const { test: client } = organisation;
    const [source, target] = [await api.createWallet(client, { balance: 1_000 }), await api.createWallet(client)];
    const transfers: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const body = { amount: 1, destinationWalletId: target };
      transfers.push((await client.money(`/wallets/${source}/transfer`, body)).data.id);
    }
    const bill = { method: 'virtual_wallet', baseAmount: 500, targetWalletId: target };
    const paymentId = (await client.money('/payments', bill)).data.id;
    await client.money(`/wallets/${source}/pay`, { paymentId });
    const refundId = (await client.money(`/payments/${paymentId}/refund`, { amount: 1 })).data.id;
    const typesOf = async (id: string) =>
      (await client.get(`/events?resourceId=${id}`)).items.map(({ type, data }) => [type, (data as Resource).id]);
    for (const id of transfers) expect(await typesOf(id)).toEqual([['transfer.completed', id]]);
    expect(await typesOf(paymentId)).toEqual([
      ['payment.completed', paymentId],
      ['payment.settled', paymentId],
    ]);
    expect(await typesOf(refundId)).toEqual([['refund.completed', refundId]]);
    expect(await typesOf(source)).toEqual([]);
    const other = await api.createOrganisation();
    expect((await other.test.get(`/events?resourceId=${paymentId}`)).items).toEqual([]);
    const { error } = await client.get('/events?resourceId=nonsense');
    expect([error.code, error.details.fields]).toEqual([
      'VALIDATION_FAILED',
      [expect.objectContaining({ field: 'resourceId', code: 'invalid_string' })],
    ]);
  });

  test('the event of a transfer is found when the clock of its process went back after its id was made', async () => {
    const { test: client, organisationId } = organisation;
    const [source, target] = [await api.createWallet(client, { balance: 10 }), await api.createWallet(client)];
    const createdAt = new Date();
    const transfer: Transfer = {
      id: uuidAt(createdAt.getTime() + 3_600_000),
      sourceWalletId: requireUuid('wallet', source),
      destinationWalletId: requireUuid('wallet', target),
      holdId: null,
      amount: 1,
      fee: 0,
      status: 'completed',
      description: null,
      reference: null,
      metadata: null,
      createdAt,
    };
    await api.dependencies.journal.post(transferMovement({ organisationId, environment: 'test' }, transfer));
    const { items } = await client.get(`/events?resourceId=${publicId('transfer', transfer.id)}`);
    expect(items.map(({ type }) => type)).toEqual(['transfer.completed']);
  });

  test('GET /events?resourceId= of a payment has the events of its review cases, which carry its reference', async () => {
    const { test: client } = organisation;
    const reference = 'order-7';
    const body = {
      method: 'bank_transfer',
      baseAmount: 1_000,
      targetWalletId: await api.createWallet(client),
      reference,
    };
    const { id } = (await client.money('/payments', body)).data;
    const book = { organisationId: organisation.organisationId, environment: 'test' } as const;
    await creditPayment(api, book, requireUuid('payment', id), 100);
    await client.post(`/simulations/payments/${id}/expire`);
    const { items } = await client.get(`/events?resourceId=${id}`);
    expect(items.map(({ type, data }) => [type, (data as Resource).reference])).toEqual([
      ['payment.in_review', reference],
      ['review_case.opened', reference],
      ['payment.expired', reference],
      ['payment.settled', reference], // of the part that came
    ]);
    const { items: cases } = await client.get(`/review-cases?paymentId=${id}`);
    expect(cases).toMatchObject([{ id: items[1]?.resourceId, reference }]);
  });

  describe('GET /events?order=asc', () => {
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const page = async (query: string) => {
      const { items, pagination } = await organisation.test.get(`/events?${query}`);
      return { ids: items.map(({ id }) => id), cursor: pagination.nextCursor };
    };

    test('lists events oldest first, and the last cursor has those that follow', async () => {
      const events = [];
      for (const minutes of [50, 40, 30, 20, 10]) events.push(await emit('payment.settled', minutesAgo(minutes)));
      const first = await page('order=asc&limit=2');
      const second = await page(`cursor=${first.cursor}`);
      const third = await page(`cursor=${second.cursor}`);
      expect([first.ids, second.ids, third]).toEqual([
        events.slice(0, 2),
        events.slice(2, 4),
        { ids: events.slice(4), cursor: null },
      ]);
      const later = await emit('payment.settled', minutesAgo(5));
      expect(await page(`cursor=${second.cursor}`)).toEqual({ ids: [...events.slice(4), later], cursor: null });
      expect((await page('order=desc')).ids).toEqual([later, ...events.toReversed()]);
      expect((await page('')).ids).toEqual([later, ...events.toReversed()]);
    });

    test('leaves out what is younger than two minutes: an event that is committed later may be older', async () => {
      const settled = await emit('payment.settled', minutesAgo(2.1));
      await emit('payment.settled', minutesAgo(1.9));
      expect((await page('order=asc')).ids).toEqual([settled]);
    });

    test('lists the events of a resource by their sequence, all of them, whatever their times', async () => {
      const resource = publicId('withdrawal', newUuid());
      const events = [];
      for (const minutes of [3, 5, 0])
        events.push(await emit('payment.settled', minutesAgo(minutes), 'test', resource));
      const first = await page(`resourceId=${resource}&order=asc&limit=2`);
      expect([first.ids, (await page(`cursor=${first.cursor}`)).ids]).toEqual([events.slice(0, 2), events.slice(2)]);
      const newest = await page(`resourceId=${resource}&limit=2`);
      expect([...newest.ids, ...(await page(`cursor=${newest.cursor}`)).ids]).toEqual(events.toReversed());
    });
  });

  test('GET /events/:id/deliveries returns one delivery per endpoint with its attempts, newest first', async () => {
    const id = await emit();
    const [delivered, pending] = [await createEndpoint(), await createEndpoint()];
    await deliver(id, delivered.id, [500, 200]);
    await deliver(id, pending.id, [503]);
    const { status, items, pagination } = await organisation.test.get(`/events/${id}/deliveries`);
    expect(status).toBe(200);
    const attempt = { attemptedAt: expect.any(String), durationMs: 12, responseBody: 'ok', error: null };
    const delivery = { eventId: id, failureReason: null, createdAt: expect.any(String) };
    expect(items).toEqual([
      {
        ...delivery,
        endpointId: pending.id,
        status: 'pending',
        nextAttemptAt: expect.any(String),
        deliveredAt: null,
        attempts: [{ ...attempt, responseStatus: 503 }],
      },
      {
        ...delivery,
        endpointId: delivered.id,
        status: 'delivered',
        nextAttemptAt: null,
        deliveredAt: expect.any(String),
        attempts: [
          { ...attempt, responseStatus: 200 },
          { ...attempt, responseStatus: 500 },
        ],
      },
    ]);
    expect(pagination).toEqual({ limit: 20, hasMore: false, nextCursor: null });

    const first = await organisation.test.get(`/events/${id}/deliveries?limit=1`);
    const second = await organisation.test.get(`/events/${id}/deliveries?cursor=${first.pagination.nextCursor}`);
    expect([...first.items, ...second.items].map((item) => item.endpointId)).toEqual([pending.id, delivered.id]);
    expect((await organisation.test.get(`/events/${await emit()}/deliveries`)).items).toEqual([]);
  });
});

describe('202 responses', () => {
  test('redeliver makes the deliveries due', async () => {
    const id = await emit();
    const [received, subscribed, unsubscribed] = [
      await createEndpoint({ eventTypes: ['payout.failed'] }),
      await createEndpoint({ eventTypes: ['payment.settled'] }),
      await createEndpoint({ eventTypes: ['payout.failed'] }),
    ];
    await createEndpoint({ status: 'disabled' });
    await deliver(id, received.id, [200]);
    const { status, data } = await organisation.test.post(`/events/${id}/redeliver`);
    expect([status, data.eventId]).toEqual([202, id]);
    expect(data.endpointIds).toEqual([received.id, subscribed.id].toSorted());
    expect((await dueAt(id)).toSorted()).toEqual([received.id, subscribed.id].toSorted());

    const only = await organisation.test.post(`/events/${id}/redeliver`, { endpointId: unsubscribed.id });
    expect(only.data).toEqual({ eventId: id, endpointIds: [unsubscribed.id] });
    expect(await dueAt(id)).toContain(unsubscribed.id);
  });

  test('redeliver without a matching endpoint returns no endpoint ids', async () => {
    const id = await emit();
    const { status, data } = await organisation.test.post(`/events/${id}/redeliver`, {});
    expect([status, data.endpointIds, await dueAt(id)]).toEqual([202, [], []]);
  });
});

describe('400 responses', () => {
  test.each([{ endpointId: 1 }, { endpoint: 'x' }, [], 'text'])(
    'redeliver with the body %j is 400 VALIDATION_FAILED',
    async (body) => {
      const answer = await organisation.test.post(`/events/${await emit()}/redeliver`, JSON.stringify(body));
      expectError(answer, 400, 'VALIDATION_FAILED');
    },
  );
});

describe('404 responses', () => {
  test("redeliver to an endpoint that is unknown or another organisation's is WEBHOOK_ENDPOINT_NOT_FOUND", async () => {
    const id = await emit();
    const other = await api.createOrganisation();
    const { data: foreign } = await other.test.post('/webhook-endpoints', { url: 'https://example.com/' });
    for (const endpointId of ['nonsense', 'svc_01k00000000000000000000000_whe', foreign.id]) {
      const { status, error } = await organisation.test.post(`/events/${id}/redeliver`, { endpointId });
      expect([status, error.code, error.details.id]).toEqual([404, 'WEBHOOK_ENDPOINT_NOT_FOUND', endpointId]);
    }
    expect(await dueAt(id)).toEqual([]);
  });
});

describe('422 responses', () => {
  test('redeliver to a disabled endpoint is WEBHOOK_ENDPOINT_DISABLED', async () => {
    const endpoint = await createEndpoint({ status: 'disabled' });
    const answer = await organisation.test.post(`/events/${await emit()}/redeliver`, { endpointId: endpoint.id });
    expectError(answer, 422, 'WEBHOOK_ENDPOINT_DISABLED', { endpointId: endpoint.id });
  });
});
