// The activity of the delivery flow, called as Temporal calls it: what it does when it comes early, late or in a crowd.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createWebhookActivities } from '../../src/activities/webhooks.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { endDelivery, openDeliveries, reopenDelivery } from '../../src/webhooks/deliveries.ts';
import { updateWebhookEndpoint } from '../../src/webhooks/endpoints.ts';
import type { WebhookActivities, WebhookDeliveryResult } from '../../src/workflows/webhookDelivery/messages.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus } from './receiver.ts';
import { startWorkbench, type TestEndpoint, type Workbench } from './webhookFixture.ts';

let workbench: Workbench;
let book: Book;
let activities: WebhookActivities;

beforeAll(async () => {
  workbench = await startWorkbench();
});

afterAll(async () => {
  await workbench.close();
});

beforeEach(() => {
  book = { organisationId: newUuid(), environment: 'test' };
  const { sql, config, log } = workbench;
  activities = createWebhookActivities({ sql, keyring: config.keyring, config, log });
});

afterEach(async () => {
  await workbench.closeReceivers();
});

const SILENT = new DefaultLogger('ERROR');

const deliver = (eventId: Uuid, { id }: Pick<TestEndpoint, 'id'>, attempt = 1): Promise<WebhookDeliveryResult> =>
  new MockActivityEnvironment({ attempt }, { logger: SILENT }).run((input) => activities.deliverWebhook(input), {
    ...book,
    eventId: publicId('event', eventId),
    endpointId: publicId('webhookEndpoint', id),
    eventType: 'payment.settled',
  });

/** An event whose deliveries are open and not tried yet. */
async function openEvent(): Promise<Uuid> {
  const eventId = await workbench.event(book);
  await openDeliveries(workbench.sql, book, eventId);
  return eventId;
}

/** Brings the next attempt of every delivery to now, or to another time. */
const setNextAttempt = (minutes: number) => workbench.sql`
  UPDATE webhook_deliveries SET next_attempt_at = now() + make_interval(mins => ${minutes})
  WHERE organisation_id = ${book.organisationId}`;

test('each failure names the gap before the next attempt, and the last one ends the delivery', async () => {
  const target = await workbench.endpoint(book, {}, answerStatus(500));
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
  expect((await workbench.deliveries(book, eventId)).get(target.id)).toMatchObject({
    status: 'failed',
    attempts: [{}, {}, {}],
  });
  expect(target.received).toHaveLength(3);
});

test('an attempt that comes before its time is not made', async () => {
  const target = await workbench.endpoint(book);
  const eventId = await openEvent();
  await setNextAttempt(60);
  const failure = (await deliver(eventId, target).catch((error: unknown) => error)) as { nextRetryDelay: number };
  expect(failure.nextRetryDelay).toBeGreaterThan(3_500_000);
  expect(target.received).toEqual([]);
});

test('a delivery that ended meanwhile is not sent again', async () => {
  const [taken, ended] = [await workbench.endpoint(book), await workbench.endpoint(book)];
  const eventId = await openEvent();
  await deliver(eventId, taken);
  expect(await deliver(eventId, taken)).toEqual({ status: 'delivered', answer: null });
  expect(taken.received).toHaveLength(1);
  await endDelivery(workbench.sql, book, { eventId, endpointId: ended.id }, 'endpoint_disabled');
  expect(await deliver(eventId, ended)).toEqual({ status: 'failed', reason: 'endpoint_disabled', answer: null });
  expect(ended.received).toEqual([]);
});

test('a success counts although another attempt failed at the same time, and the failure does not undo it', async () => {
  const answers: ((status: number) => void)[] = [];
  const target = await workbench.endpoint(book, {}, (response) => {
    answers.push((status) => void response.writeHead(status).end());
  });
  const eventId = await openEvent();
  const [first, second] = [deliver(eventId, target), deliver(eventId, target)];
  await target.untilReceived(2);
  answers[0]?.(200);
  const taken = await Promise.race([first, second]);
  answers[1]?.(500);
  await Promise.allSettled([first, second]);
  expect(taken.status).toBe('delivered');
  const delivery = (await workbench.deliveries(book, eventId)).get(target.id);
  expect(delivery).toMatchObject({ status: 'delivered', nextAttemptAt: null });
  expect(delivery?.attempts.map((attempt) => attempt.responseStatus)).toEqual([500, 200]);
});

test('two attempts that fail at the same time use up one gap of the schedule', async () => {
  const answers: (() => void)[] = [];
  const target = await workbench.endpoint(book, {}, (response) => {
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

test('one endpoint holds no more than eight of the worker at a time; the others ask again later and lose no attempt', async () => {
  const release: (() => void)[] = [];
  const target = await workbench.endpoint(book, {}, (response) => void release.push(() => void response.end()));
  const eventIds = await Promise.all(Array.from({ length: 9 }, openEvent));
  const held = eventIds.slice(0, 8).map((eventId) => deliver(eventId, target));
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
  expect((await workbench.deliveries(book, last as Uuid)).get(target.id)).toMatchObject({
    status: 'pending',
    attempts: [],
  });
  await waitFor('eight requests', () => release.length === 8);
  for (const each of release) each();
  await Promise.all(held);
});

test('a delivery whose attempts were in vain says so once its endpoint is closed, and is tried anew when it is opened again', async () => {
  const target = await workbench.endpoint(book, {}, answerStatus(500));
  const eventId = await openEvent();
  const row = { eventId, endpointId: target.id };
  const isLast = () => workbench.sql`
    UPDATE webhook_deliveries SET attempts = 2, next_attempt_at = now() WHERE organisation_id = ${book.organisationId}`;
  const setStatus = (status: 'enabled' | 'disabled') =>
    updateWebhookEndpoint(workbench.sql, book, target.id, { status });

  // The endpoint is closed while the last attempt is being made.
  target.answerWith(async (response) => {
    await setStatus('disabled');
    response.writeHead(500).end();
  });
  await isLast();
  expect(await deliver(eventId, target)).toEqual({
    status: 'failed',
    reason: 'endpoint_disabled',
    answer: 'answered 500',
  });
  expect((await workbench.deliveries(book, eventId)).get(target.id)).toMatchObject({
    failureReason: 'retries_exhausted',
  });
  expect(await deliver(eventId, target)).toMatchObject({ reason: 'endpoint_disabled' });
  await setStatus('enabled');
  expect(await deliver(eventId, target)).toMatchObject({ reason: 'retries_exhausted' });

  target.answerWith(answerStatus(500));
  await reopenDelivery(workbench.sql, book, row);
  await expect(deliver(eventId, target)).rejects.toThrow('attempt 1 of 3: answered 500');
  await reopenDelivery(workbench.sql, book, row); // a repeat changes nothing
  expect(await workbench.sql`SELECT attempts FROM webhook_deliveries WHERE event_id = ${eventId}`).toEqual([
    { attempts: 1 },
  ]);
});

test('a delivery that was never opened is a bug, and waits for its fix', async () => {
  const target = await workbench.endpoint(book);
  await expect(deliver(newUuid(), target)).rejects.toMatchObject({ type: 'INVARIANT_BROKEN', nonRetryable: false });
});
