// Scheduled workflows besides the sweep: the verification of the ledger, which fails on a finding, and retention,
// which deletes expired rows only.
import { afterAll, expect, test } from '@jest/globals';
import { WorkflowFailedError } from '@temporalio/client';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { startTestFlows } from '../support/flows.ts';
import { asSuperuser } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows();

afterAll(() => flows.close());

test('ledger verification returns what it read, and fails with LEDGER_INTEGRITY_VIOLATION when a balance was changed', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 50_000 });
  expect(await flows.runMaintenance('ledgerVerification')).toMatchObject({
    postings: expect.any(Number),
    books: expect.any(Number),
  });

  const code = walletAccount(requireUuid('wallet', walletId));
  await flows.sql`UPDATE ledger.accounts SET balance = balance + 1 WHERE code = ${code}`;
  const failure = await flows.runMaintenance('ledgerVerification').then(
    () => null,
    (error: unknown) => error,
  );
  await flows.sql`UPDATE ledger.accounts SET balance = balance - 1 WHERE code = ${code}`;
  expect(failure).toBeInstanceOf(WorkflowFailedError);
  expect((failure as WorkflowFailedError).cause?.cause).toMatchObject({
    type: 'LEDGER_INTEGRITY_VIOLATION',
    message: expect.stringContaining('BALANCE_MISMATCH'),
  });
});

test('sealing seals the postings of the books that are old enough, and publishes the seals once', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 50_000 });
  const code = walletAccount(requireUuid('wallet', walletId));
  expect(await flows.runMaintenance('ledgerSealing')).toEqual({ seals: 0, published: 0 });
  await asSuperuser(
    flows.databaseUrl,
    (sql) => sql`
    UPDATE ledger.postings SET created_at = now() - interval '1 hour'
    WHERE credit_account_id = (SELECT id FROM ledger.accounts WHERE code = ${code})`,
  );
  expect(await flows.runMaintenance('ledgerSealing')).toEqual({ seals: 1, published: 1 });
  expect(await flows.runMaintenance('ledgerSealing')).toEqual({ seals: 0, published: 0 });
});

test('retention deletes idempotency keys after 7 days and webhook attempts after 90, in batches, of every organisation', async () => {
  const { organisationId } = flows.organisation;
  const another = newUuid();
  const addKeys = (days: number, count: number, owner = organisationId) => flows.sql`
    INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response, created_at)
    SELECT ${owner}, CASE n % 2 WHEN 0 THEN 'test' ELSE 'live' END, ${`${days}-`} || n, '\\x00', gen_random_uuid(), 201, '{}',
           now() - make_interval(days => ${days})
    FROM generate_series(1, ${count}::int) n`;
  const addAttempts = (days: number, count: number, owner = organisationId) => flows.sql`
    INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms)
    SELECT ${owner}, 'test', ${newUuid()}, ${newUuid()}, now() - make_interval(days => ${days}), 1
    FROM generate_series(1, ${count}::int)`;
  await addKeys(8, 1_500);
  await addKeys(8, 1_000, another);
  await addKeys(6, 3);
  await addAttempts(91, 1_100);
  await addAttempts(91, 100, another);
  await addAttempts(89, 4);
  expect(await flows.runMaintenance('retention')).toMatchObject({ idempotencyKeys: 2_500, webhookAttempts: 1_200 });
  expect(await flows.runMaintenance('retention')).toMatchObject({ idempotencyKeys: 0, webhookAttempts: 0 });
  expect(await flows.sql`SELECT count(*)::int AS kept FROM webhook_attempts`).toEqual([{ kept: 4 }]);
  expect(await flows.sql`SELECT count(*)::int AS kept FROM idempotency_keys WHERE key LIKE '6-%'`).toEqual([
    { kept: 3 },
  ]);
});

test('retention deletes events with their deliveries after 13 months, and what the sandbox bank has after 90 days', async () => {
  const { organisationId } = flows.organisation;
  const addEvents = (months: number, count: number) => flows.sql`
    WITH e AS (
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      SELECT ${organisationId}, 'test', gen_random_uuid(), 'wallet.credited', 'made up ' || ${months}::int || n, 1, '{}',
             now() - make_interval(months => ${months})
      FROM generate_series(1, ${count}::int) AS n RETURNING *)
    INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status)
    SELECT organisation_id, environment, id, gen_random_uuid(), 'delivered' FROM e`;
  await addEvents(14, 1_200);
  await addEvents(12, 2);
  await flows.sql`
    INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, received_at)
    SELECT ${organisationId}, 'aged ' || days, '0000000000', 1, now() - make_interval(days => days)
    FROM unnest(ARRAY[91, 89]) AS days`;
  await flows.sql`
    INSERT INTO sandbox_bank.statement_lines (organisation_id, kind, reference, amount, created_at)
    SELECT ${organisationId}, kind, 'aged ' || kind, amount, now() - interval '91 days'
    FROM (VALUES ('sent', 40), ('interest', 7)) AS l (kind, amount)`;
  const closing = async () => {
    const to = new Date();
    const period = { organisationId, from: new Date(to.getTime() - 1), to, cursor: null };
    return (await flows.dependencies.sandboxBank.statement(period)).closingBalance;
  };
  const before = await closing();
  expect(await flows.runMaintenance('retention')).toMatchObject({ events: 1_200, sandboxBank: 3 });
  expect(await closing()).toBe(before);
  expect(await flows.runMaintenance('retention')).toMatchObject({ events: 0, sandboxBank: 0 });
  const kept = await flows.sql`
    SELECT count(*)::int AS events, count(d.event_id)::int AS deliveries FROM events e
    LEFT JOIN webhook_deliveries d ON d.event_id = e.id WHERE e.resource LIKE 'made up%'`;
  expect(kept).toEqual([{ events: 2, deliveries: 2 }]);
  await expect(flows.dependencies.sql`DELETE FROM events`).rejects.toThrow(/append-only/);
});

test('retention keeps an old event that was attempted lately, and the later ones of its resource', async () => {
  const { organisationId } = flows.organisation;
  const resource = publicId('payment', newUuid());
  await flows.sql`
    WITH e AS (
      INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
      SELECT ${organisationId}, 'test', gen_random_uuid(), 'payment.reviewed', ${resource}, n, '{}',
             now() - interval '14 months' + n * interval '1 s'
      FROM generate_series(1, 5) AS n RETURNING *)
    INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms)
    SELECT organisation_id, environment, id, gen_random_uuid(), now() - interval '29 days', 1 FROM e WHERE sequence = 3`;
  expect(await flows.runMaintenance('retention')).toMatchObject({ events: 2 });
  const kept = await flows.sql`SELECT sequence FROM events WHERE resource = ${resource} ORDER BY sequence`;
  expect(kept.map(({ sequence }) => sequence)).toEqual([3, 4, 5]);
});

test('retention deletes the sends of transfers that have ended after 90 days, and keeps those that may be sent again', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 1_000_000 });
  const withdraw = async (accountNumber: string): Promise<string> => {
    const body = { amount: 1_000, accountNumber, bankCode: '058' };
    return String((await flows.test.money(`/wallets/${walletId}/withdraw`, body)).data.id);
  };
  const [old, recent, held] = [
    await withdraw('0123456789'),
    await withdraw('0123456789'),
    await withdraw('9999999003'),
  ];
  await Promise.all([old, recent].map((id) => flows.untilStatus(`/withdrawals/${id}`, 'completed')));
  const sends = async () => (await flows.sql`SELECT reference FROM transfer_sends`).map(({ reference }) => reference);
  await waitFor('the held one to be sent', async () => (await sends()).includes(held));
  await flows.sql`
    UPDATE transfer_sends SET sent_at = sent_at - interval '91 days' WHERE reference IN ${flows.sql([old, held])}`;
  expect(await flows.runMaintenance('retention')).toMatchObject({ transferSends: 1 });
  expect(new Set(await sends())).toEqual(new Set([recent, held]));
});

test('the application role cannot delete webhook attempts of the last month', async () => {
  const { organisationId } = flows.organisation;
  await flows.sql`
    INSERT INTO webhook_attempts (organisation_id, environment, event_id, endpoint_id, attempted_at, duration_ms)
    VALUES (${organisationId}, 'test', ${newUuid()}, ${newUuid()}, now() - interval '29 days', 1)`;
  await expect(flows.dependencies.sql`DELETE FROM webhook_attempts`).rejects.toThrow(/append-only/);
});
