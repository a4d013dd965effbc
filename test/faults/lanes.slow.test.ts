// After a freeze of all workers, what each lane of the outbox has collected holds no other: payouts begin within
// seconds while payments that expire are due too, and events still wait.
import { afterAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { startReceiver } from '../webhooks/receiver.ts';

const PAYOUTS = 12;
const EVENTS = 1_500;
const PAYMENTS = 200;
const BEGINS_WITHIN_MS = 10_000;

const flows = await startTestFlows({ worker: false, settings: { WORKER_ROLES: 'flows,payouts,relay' } });
const receiver = await startReceiver((response) => {
  setTimeout(() => response.writeHead(200).end(), 500); // a slow one
});

afterAll(async () => {
  await flows.close();
  await receiver.close();
});

test('payouts begin within ten seconds after a freeze, whatever else waits', async () => {
  const { sql, organisation } = flows;
  const { organisationId } = organisation;
  await flows.test.post('/webhook-endpoints', { url: receiver.url });
  const sourceWalletId = await flows.createWallet(undefined, { balance: 100_000_000 });
  // Payments that have expired meanwhile and events of transfers, as after an hour of traffic.
  const targetWalletId = await flows.createWallet();
  for (let count = 0; count < PAYMENTS; count += 1) await flows.createPayment(targetWalletId, 100_000);
  await sql`UPDATE payments SET expires_at = now()`;
  await sql`UPDATE outbox SET available_at = now() WHERE message ->> 'workflow' = 'payment'`;
  await sql`
    WITH e AS (
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      SELECT ${organisationId}, 'test', gen_random_uuid(), 'transfer.completed', 'made up ' || n, 1, '{}', now()
      FROM generate_series(1, ${EVENTS}::int) AS n RETURNING id)
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT ${organisationId}, 'test', 'event', jsonb_build_object('eventId', id) FROM e`;
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
  const ids: string[] = [];
  for (let count = 0; count < PAYOUTS; count += 1) {
    const items = Array.from({ length: 3 }, () => ({ amount: 1_000, bankAccount }));
    ids.push((await flows.test.money('/payouts', { sourceWalletId, items }, newUuid())).data.id);
  }
  await flows.startWorkerAgain();
  await waitFor(
    'the flow of every payout to begin',
    async () => (await sql`SELECT FROM outbox WHERE message ->> 'workflow' = 'payout'`).length === 0,
    BEGINS_WITHIN_MS,
  );
  const [left] = await sql<{ deliveries: number }[]>`
    SELECT (SELECT count(*) FROM outbox WHERE topic = 'event')::int
           + (SELECT count(*) FROM webhook_deliveries WHERE status = 'pending')::int AS deliveries`;
  expect(left?.deliveries).toBeGreaterThan(0);
  await Promise.all(ids.map((id) => flows.untilStatus(`/payouts/${id}`, 'completed')));
}, 300_000);
