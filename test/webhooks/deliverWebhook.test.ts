// The delivery activity, called as Temporal calls it: on schedule, early, late and concurrently.

import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { shiftClock } from '../../dev/chaos/clock.mjs';
import { createWebhookActivities } from '../../src/activities/webhooks.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { endDelivery, openDeliveries } from '../../src/webhooks/deliveries.ts';
import type { WebhookActivities, WebhookDeliveryResult } from '../../src/workflows/webhookDelivery/messages.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus } from './receiver.ts';
import { startWorkbench, type TestEndpoint } from './webhookFixture.ts';

let book: Book;
let activities: WebhookActivities;

const fixture = await startWorkbench();

afterAll(() => fixture.close());

beforeEach(() => {
  book = { organisationId: newUuid(), environment: 'test' };
  const { sql, config, log } = fixture;
  activities = createWebhookActivities({ sql, keyring: config.keyring, config, log });
});

afterEach(() => fixture.closeReceivers());

const SILENT = new DefaultLogger('ERROR');

const deliver = (eventId: Uuid, { id }: Pick<TestEndpoint, 'id'>, attempt = 1): Promise<WebhookDeliveryResult> =>
  new MockActivityEnvironment({ attempt }, { logger: SILENT }).run((input) => activities.deliverWebhook(input), {
    ...book,
    eventId: publicId('event', eventId),
    endpointId: publicId('webhookEndpoint', id),
    eventType: 'payment.settled',
  });

/** Creates an event whose deliveries are open and not yet attempted. */
async function openEvent(): Promise<Uuid> {
  const eventId = await fixture.event(book);
  await openDeliveries(fixture.sql, book, eventId);
  return eventId;
}

/** Moves the next attempt of every delivery to now, or to this many minutes from now. */
const setNextAttempt = (minutes: number) => fixture.sql`
  UPDATE webhook_deliveries SET next_attempt_at = now() + make_interval(mins => ${minutes})
  WHERE organisation_id = ${book.organisationId}`;

test('each failed attempt sets the delay before the next one, and the last one ends the delivery', async () => {
  const target = await fixture.endpoint(book, {}, answerStatus(500));
  const eventId = await openEvent();
  for (const [count, gap] of [
    [1, 5_000],
    [2, 300_000],
  ] as const) {
    const started = Date.now();
    const failure = (await deliver(eventId, target).catch((error: unknown) => error)) as { nextRetryDelay: number };
    const tookMs = Date.now() - started;
    expect(failure).toMatchObject({
      type: 'WEBHOOK_UNDELIVERED',
      message: `attempt ${count} of 3: answered 500`,
      nonRetryable: false,
    });
    expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(gap * 0.9 - tookMs);
    expect(failure.nextRetryDelay).toBeLessThanOrEqual(gap * 1.1);
    await setNextAttempt(0);
  }
  const spent = { status: 'failed', reason: 'retries_exhausted', answer: 'answered 500' };
  expect(await deliver(eventId, target)).toEqual(spent);
  expect((await fixture.deliveries(book, eventId)).get(target.id)).toMatchObject({
    status: 'failed',
    attempts: [{}, {}, {}],
  });
  expect(target.received).toHaveLength(3);
});

test('an attempt before its scheduled time is not made', async () => {
  const target = await fixture.endpoint(book);
  const eventId = await openEvent();
  await setNextAttempt(60);
  const failure = (await deliver(eventId, target).catch((error: unknown) => error)) as { nextRetryDelay: number };
  expect(failure.nextRetryDelay).toBeGreaterThan(3_500_000);
  expect(target.received).toEqual([]);
});

test.each([300_000, -300_000])('a worker whose clock is off by %i ms keeps the schedule', async (offMs) => {
  const target = await fixture.endpoint(book, {}, answerStatus(500));
  const eventId = await openEvent();
  const restoreClock = shiftClock(offMs);
  try {
    await expect(deliver(eventId, target)).rejects.toMatchObject({ type: 'WEBHOOK_UNDELIVERED' });
  } finally {
    restoreClock();
  }
  // The next attempt is made by another worker, whose clock is right.
  const early = (await deliver(eventId, target).catch((error: unknown) => error)) as { nextRetryDelay: number };
  expect(early.nextRetryDelay).toBeLessThanOrEqual(5_500);
  expect(early.nextRetryDelay).toBeGreaterThan(1_000);
  expect(target.received).toHaveLength(1);
});

test('a delivery that has ended is not sent again', async () => {
  const [delivered, ended] = [await fixture.endpoint(book), await fixture.endpoint(book)];
  const eventId = await openEvent();
  await deliver(eventId, delivered);
  expect(await deliver(eventId, delivered)).toEqual({ status: 'delivered', answer: null });
  expect(delivered.received).toHaveLength(1);
  await endDelivery(fixture.sql, book, { eventId, endpointId: ended.id }, 'endpoint_disabled');
  expect(await deliver(eventId, ended)).toEqual({ status: 'failed', reason: 'endpoint_disabled', answer: null });
  expect(ended.received).toEqual([]);
});

test('of two concurrent attempts, a success counts and a failure does not undo it', async () => {
  const answers: ((status: number) => void)[] = [];
  const target = await fixture.endpoint(book, {}, (response) => {
    answers.push((status) => void response.writeHead(status).end());
  });
  const eventId = await openEvent();
  const [first, second] = [deliver(eventId, target), deliver(eventId, target)];
  await target.untilReceived(2);
  answers[0]?.(200);
  const earlier = await Promise.race([first, second]);
  answers[1]?.(500);
  await Promise.allSettled([first, second]);
  expect(earlier.status).toBe('delivered');
  const delivery = (await fixture.deliveries(book, eventId)).get(target.id);
  expect(delivery).toMatchObject({ status: 'delivered', nextAttemptAt: null });
  expect(delivery?.attempts.map((attempt) => attempt.responseStatus)).toEqual([500, 200]);
});

test('two concurrent failed attempts use one gap of the schedule', async () => {
  const answers: (() => void)[] = [];
  const target = await fixture.endpoint(book, {}, (response) => {
    answers.push(() => void response.writeHead(500).end());
  });
  const eventId = await openEvent();
  const both = [deliver(eventId, target), deliver(eventId, target)];
  await target.untilReceived(2);
  for (const answer of answers) answer();
  await Promise.allSettled(both);
  target.answerWith(answerStatus(500));
  await setNextAttempt(0);
  await expect(deliver(eventId, target)).rejects.toThrow('attempt 2 of 3: answered 500');
});

test('one endpoint has at most eight concurrent requests per worker; further ones are rescheduled without losing an attempt', async () => {
  const release: (() => void)[] = [];
  const target = await fixture.endpoint(book, {}, (response) => void release.push(() => void response.end()));
  const eventIds = await Promise.all(Array.from({ length: 9 }, openEvent));
  const sending = eventIds.slice(0, 8).map((eventId) => deliver(eventId, target));
  await target.untilReceived(8);
  const [last] = eventIds.slice(8);
  for (const [attempt, gap] of [
    [1, 5_000],
    [3, 15_000],
    [50, 60_000],
  ] as const) {
    const failure = (await deliver(last as Uuid, target, attempt).catch((error: unknown) => error)) as {
      nextRetryDelay: number;
    };
    expect(failure.nextRetryDelay).toBeGreaterThanOrEqual(gap * 0.9);
    expect(failure.nextRetryDelay).toBeLessThanOrEqual(gap * 1.1);
  }
  expect((await fixture.deliveries(book, last as Uuid)).get(target.id)).toMatchObject({
    status: 'pending',
    attempts: [],
  });
  await waitFor('eight requests', () => release.length === 8);
  for (const each of release) each();
  await Promise.all(sending);
});

test('a delivery that was never opened is INVARIANT_BROKEN, which is retried until it is fixed', async () => {
  const target = await fixture.endpoint(book);
  await expect(deliver(newUuid(), target)).rejects.toMatchObject({ type: 'INVARIANT_BROKEN', nonRetryable: false });
});
