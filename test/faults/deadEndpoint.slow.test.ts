// One endpoint that has not responded for three days, at 20 events a second, as its deliveries are then:
// it costs the others nothing, and has no more attempts in progress than the setting.
import { afterAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { claimDeliveries } from '../../src/webhooks/deliveries.ts';
import { waitFor } from '../support/waitFor.ts';
import { startWorkbench } from '../webhooks/webhookFixture.ts';

const fixture = await startWorkbench();

afterAll(() => fixture.close());

/** A tenth of three days: what is read must not depend on their number. */
const DELIVERIES = 518_400;
const RETRIES_AT_ONCE = 8;

test('a dead endpoint with the deliveries of days delays no attempt at another', async () => {
  const { sql } = fixture;
  const book: Book = { organisationId: newUuid(), environment: 'test' };
  const dead = await fixture.endpoint(book, {}, () => {});
  const good = await fixture.endpoint(book, { eventTypes: ['payment.settled'] }, (response, _received, count) => {
    response.writeHead(count === 1 ? 500 : 200).end();
  });
  await sql`
    INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
    SELECT ${book.organisationId}, 'test', md5(n::text)::uuid, 'transfer.completed', 'made up ' || n, 1, '{}',
           now() - n * interval '50 ms'
    FROM generate_series(1, ${DELIVERIES}) AS n`;
  // Half of them are due, those that were never attempted too; the others wait for hours.
  await sql`
    INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, attempts, next_attempt_at,
                                    attempted_at, created_at)
    SELECT ${book.organisationId}, 'test', md5(n::text)::uuid, ${dead.id}, 'pending', n % 4,
           now() + (n % 4 - 1.5) * interval '1 hour', CASE WHEN n % 4 > 0 THEN now() - interval '1 hour' END,
           now() - n * interval '50 ms'
    FROM generate_series(1, ${DELIVERIES}) AS n`;
  await sql`ANALYZE webhook_deliveries`;
  await fixture.failingFor(dead, '3 days');

  const claim = () => claimDeliveries(sql, { after: null, max: 100, atOnce: RETRIES_AT_ONCE });
  const started = performance.now();
  expect(await claim()).toHaveLength(RETRIES_AT_ONCE);
  expect(await claim()).toHaveLength(0);
  expect(performance.now() - started).toBeLessThan(1_000);
  await sql`UPDATE webhook_deliveries SET claimed_until = NULL WHERE claimed_until IS NOT NULL`;

  const dispatcher = fixture.dispatcher();
  dispatcher.retries.start();
  try {
    await dead.untilReceived(RETRIES_AT_ONCE);
    const eventId = await fixture.event(book);
    await dispatcher.dispatchEvent({ book, eventId });
    const delivery = await waitFor('the second attempt', async () => {
      const found = (await fixture.deliveries(book, eventId)).get(good.id);
      return found?.status === 'delivered' && found;
    });
    const [second, first] = delivery.attempts.map(({ attemptedAt }) => attemptedAt.getTime());
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(8_000);
    const [inProgress] = await sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ${dead.id} AND claimed_until > now()`;
    expect(inProgress?.count).toBeLessThanOrEqual(RETRIES_AT_ONCE);
  } finally {
    await dispatcher.retries.stop();
  }
}, 300_000);
