// The relay under a burst of one organisation. Only Temporal's client is replaced, by one that records the calls.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { shiftClock } from '../../dev/chaos/clock.mjs';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { createRelay } from '../../src/outbox/relay.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type FlowMessage, toOutbox } from '../../src/workflows/flows.ts';
import { type Books, openBooks } from '../ledger/books.ts';
import { waitFor } from '../support/waitFor.ts';

/** More than the relay handles at a time, by far. */
const BURST = 3_000;

let books: Books;
let asyncCommitSql: Sql;

beforeAll(async () => {
  books = await openBooks();
  asyncCommitSql = connect(books.url, { connectionsMax: 4, synchronousCommit: 'off' });
});

afterAll(async () => {
  await asyncCommitSql.end();
  await books.close();
});

const payment = (organisationId: Uuid, id: string, more: Partial<FlowMessage> = {}): FlowMessage => ({
  workflow: 'payment',
  id,
  summary: 'a payment',
  state: 'pending',
  input: { organisationId, environment: 'test' },
  ...more,
});

const credited = (organisationId: Uuid, id: string, creditId: Uuid): FlowMessage =>
  payment(organisationId, id, {
    signal: { name: 'creditReceived', payload: { inboundCreditId: publicId('inboundCredit', creditId) } },
  });

const post = (organisationId: Uuid, messages: FlowMessage[]) =>
  books.journal.post({
    book: { organisationId, environment: 'test' },
    outbox: messages.map((message) => toOutbox(message)),
  });

/** A relay, and the ids of the flows that it has started or signalled. */
function openRelay() {
  const handled: string[] = [];
  const record = async (_type: string, { workflowId }: { workflowId: string }): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    handled.push(workflowId);
  };
  const relay = createRelay({
    asyncCommitSql,
    client: { workflow: { start: record, signalWithStart: record } } as unknown as Client,
    taskQueue: 'tests',
    dispatchEvent: () => Promise.resolve(),
    log: createLog('worker', 'silent'),
  });
  relay.start();
  return { relay, handled };
}

const untilOutboxEmpty = () =>
  waitFor('the outbox to be empty', async () => (await asyncCommitSql`SELECT FROM outbox`).length === 0);

test('a backlog of items, expiries and events, as after a freeze, holds up no payout', async () => {
  const organisationId = newUuid();
  const of = (workflow: 'payout' | 'payoutItem', number: number): FlowMessage => ({
    ...payment(organisationId, `${workflow} ${number}`),
    workflow,
  });
  await post(
    organisationId,
    Array.from({ length: BURST }, (_, number) => [
      of('payoutItem', number),
      payment(organisationId, `p ${number}`),
    ]).flat(),
  );
  await asyncCommitSql`
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT ${organisationId}, 'test', 'event', '{}' FROM generate_series(1, ${BURST})`;
  await post(
    organisationId,
    Array.from({ length: 12 }, (_, number) => of('payout', number)),
  );
  const { relay, handled } = openRelay();
  await waitFor('the relay to handle all messages', () => handled.length === 2 * BURST + 12);
  await untilOutboxEmpty();
  await relay.stop();
  const last = handled.findLastIndex((id) => id.startsWith('payout '));
  expect(last).toBeLessThan(200);
});

test("one organisation's burst of starts delays neither a credit nor a start of another", async () => {
  const [large, small] = [newUuid(), newUuid()];
  await post(
    large,
    Array.from({ length: BURST }, (_, number) => payment(large, `burst ${number}`)),
  );
  await post(small, [payment(small, 'start'), credited(small, 'credit', newUuid())]);

  const { relay, handled } = openRelay();
  await waitFor('the relay to handle all messages', () => handled.length === BURST + 2);
  await untilOutboxEmpty();
  await relay.stop();
  // Without classes and turns they would come last, as they were committed last.
  expect(handled.indexOf('credit')).toBeLessThan(100);
  expect(handled.indexOf('start')).toBeLessThan(100);
  expect(new Set(handled).size).toBe(BURST + 2);
});

test('a message for later is handled when the clock of the database says so, although that of the process is off', async () => {
  const organisationId = newUuid();
  const later = toOutbox(payment(organisationId, 'later'), new Date(Date.now() + 1_500));
  await books.journal.post({ book: { organisationId, environment: 'test' }, outbox: [later] });
  await post(organisationId, [payment(organisationId, 'at once')]);
  const restoreClock = shiftClock(300_000);
  try {
    const { relay, handled } = openRelay();
    await waitFor('the first message', () => handled.length === 1);
    await untilOutboxEmpty();
    await relay.stop();
    expect(handled).toEqual(['at once', 'later']);
  } finally {
    restoreClock();
  }
});
