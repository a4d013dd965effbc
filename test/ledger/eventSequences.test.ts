// The sequence of events: it rises by one with every event of a resource, in the order of its changes, also
// with concurrent writers. A receiver that applies only higher sequences ends in the true state.

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import type { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult } from '../../src/ledger/movement.ts';
import { type EventType, insertTestEvent, newEvent, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { insertWallet } from '../../src/resources/wallets/queries.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { insertWebhookEndpoint } from '../../src/webhooks/endpoints.ts';
import { uuidAt } from '../support/uuidAt.ts';
import { type Books, move, openBooks, paymentRow, RAIL, setAccount } from './books.ts';
import './seed.ts';

let books: Books;
let processes: Journal[];
/** One for all runs: a book has at most twenty. */
let endpoint: Uuid;

beforeAll(async () => {
  books = await openBooks();
  processes = [books.journal, books.anotherJournal(), books.anotherJournal()];
  endpoint = await newEndpoint();
});

afterAll(() => books.close());

interface Stored {
  type: string;
  resource: string;
  sequence: number;
  data: Record<string, unknown>;
}

test('the next event of a resource whose events were deleted follows all that it had', async () => {
  const resource = publicId('payment', '01700000-0000-7000-8000-000000000000'); // of 2020
  for (const type of ['payment.recalled', 'payment.reviewed'] as const) {
    await books.journal.post({ book: books.book, events: [newEvent(type, resource, {})] });
  }
  const [first, second] = (await eventsOf(resource)).map(({ sequence }) => sequence);
  expect([first, second]).toEqual([first, Number(first) + 1]);
  expect(first).toBeGreaterThan(6_000_000);
});

test('what a resource begins with rises by each time after which its events may have been deleted', async () => {
  const KEPT_DAYS = 366;
  const before = async (days: number): Promise<unknown> => {
    const id = uuidAt(Date.now() - days * 86_400_000);
    const [row] = await books.owner`SELECT ledger.sequence_before(${publicId('payment', id)}) AS sequence`;
    return row?.sequence;
  };
  for (const times of [0, 1, 2, 3, 20]) {
    expect(await before(times * KEPT_DAYS + 0.01)).toBe(times * 1_000_000);
    expect(await before((times + 1) * KEPT_DAYS - 0.01)).toBe(times * 1_000_000);
  }
  expect(await before(-1)).toBe(0);
});

const eventsOf = (resource: string) => books.sql<Stored[]>`
  SELECT type, resource, sequence, data FROM events
  WHERE organisation_id = ${books.book.organisationId} AND resource = ${resource} ORDER BY sequence`;

async function newWallet(): Promise<Uuid> {
  const id = newUuid();
  const fields = {
    kind: 'end_user',
    email: 'a@b.example',
    fullName: null,
    phone: null,
    externalReference: null,
  } as const;
  await insertWallet(books.sql, books.book, { id, ...fields, createdAt: new Date() });
  await setAccount(books, walletAccount(id), { verified: true });
  return id;
}

async function newPayment(): Promise<Uuid> {
  const id = newUuid();
  expect(await books.journal.post({ book: books.book, rows: { payments: [paymentRow(id)] } })).toEqual({
    outcome: 'posted',
  });
  return id;
}

async function newEndpoint(): Promise<Uuid> {
  const id = newUuid();
  const fields = { url: 'https://example.test', description: null, eventTypes: null, status: 'enabled' } as const;
  await insertWebhookEndpoint(books.sql, books.book, { id, ...fields, createdAt: new Date() }, 'sealed');
  return id;
}

/** Moves money of `from` with an event about the wallet, which is not always one of the accounts. */
function walletMovement(type: EventType, walletId: Uuid, from: AccountCode, to: AccountCode): Movement {
  const id = publicId('wallet', walletId);
  const made = move(books.book, from, to, 1, { rules: 'credit_exempt' });
  return { ...made, events: [newEvent(type, id, { walletId: id, amount: 1 })] };
}

/** The statement has locked the wallet, also one that no posting names: so it is no conflict. */
async function posted(journal: Journal, movement: Movement): Promise<void> {
  expect(await journal.post(movement)).toEqual({ outcome: 'posted' });
}

/** Adds to what a payment received, with the events of a credit; reads again after a conflict, as activities do. */
async function credit(journal: Journal, id: Uuid, completes: boolean): Promise<void> {
  const resource = publicId('payment', id);
  for (let result: PostResult = { outcome: 'conflict', constraint: null }; result.outcome === 'conflict'; ) {
    const [row] = await books.sql<{ version: number; amountReceived: number }[]>`
      SELECT version, amount_received FROM payments
      WHERE organisation_id = ${books.book.organisationId} AND id = ${id}`;
    if (row === undefined) throw new Error('the payment is gone');
    const amountReceived = row.amountReceived + 1;
    const types: EventType[] = completes ? ['payment.settled', 'payment.completed'] : ['payment.settled'];
    result = await journal.post({
      book: books.book,
      rows: { payments: [paymentRow(id, { version: row.version + 1, amountReceived })] },
      events: types.map((type) => newEvent(type, resource, { amountReceived })),
    });
  }
}

const KINDS = ['credit', 'nothing taken', 'freeze', 'unfreeze', 'part', 'last part', 'test event'] as const;

const action = fc.record({ kind: fc.constantFrom(...KINDS), process: fc.nat(2), which: fc.nat(1) });

/** An order of arrival in which each event comes once or more. */
function arrivals<Each>(events: readonly Each[], keys: readonly number[]): Each[] {
  const repeated = [...events, ...events.filter((_, index) => (keys[index % keys.length] ?? 0) % 2 === 0)];
  return repeated
    .map((event, index) => ({ event, key: (keys[index % keys.length] ?? 0) * ((index % 7) + 1) }))
    .toSorted((one, other) => (one.key % 1009) - (other.key % 1009))
    .map(({ event }) => event);
}

test('a receiver that applies only higher sequences ends in the true state, in any order of arrival', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 5, maxLength: 60 }),
      fc.array(fc.nat(1_000_000), { minLength: 20, maxLength: 40 }),
      async (actions, keys) => {
        const wallets = await Promise.all([newWallet(), newWallet()]);
        const payments = await Promise.all([newPayment(), newPayment()]);
        const ofEndpoint = publicId('webhookEndpoint', endpoint);
        const before = await eventsOf(ofEndpoint);
        const setStatus = (walletId: Uuid, status: 'frozen' | 'active') =>
          setWalletStatus(books.owner, books.book.organisationId, walletId, status, {
            proof: OWNER_PROOF,
            reason: 'a test',
          });
        const run = {
          credit: (journal, walletId) =>
            posted(journal, walletMovement('wallet.credited', walletId, RAIL, walletAccount(walletId))),
          'nothing taken': (journal, walletId) =>
            posted(journal, walletMovement('wallet.debited', walletId, RAIL, 'receivable:bank')),
          freeze: (_journal, walletId) => setStatus(walletId, 'frozen'),
          unfreeze: (_journal, walletId) => setStatus(walletId, 'active'),
          part: (journal, _walletId, paymentId) => credit(journal, paymentId, false),
          'last part': (journal, _walletId, paymentId) => credit(journal, paymentId, true),
          'test event': () =>
            insertTestEvent(books.sql, books.book, endpoint, {
              id: newUuid(),
              type: TEST_EVENT_TYPE,
              resource: ofEndpoint,
              data: {},
              createdAt: new Date(),
            }),
        } satisfies Record<
          (typeof KINDS)[number],
          (journal: Journal, walletId: Uuid, paymentId: Uuid) => Promise<unknown>
        >;
        await Promise.all(
          actions.map(({ kind, process, which }) =>
            run[kind](processes[process] as Journal, wallets[which] as Uuid, payments[which] as Uuid),
          ),
        );
        const received = async (resource: string) => {
          const events = await eventsOf(resource);
          expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
          let state: Stored | null = null;
          for (const event of arrivals(events, keys)) if (event.sequence > (state?.sequence ?? 0)) state = event;
          return state?.data;
        };
        for (const id of wallets) {
          const state = await received(publicId('wallet', id));
          const [account] = await books.sql`SELECT status FROM ledger.accounts WHERE code = ${walletAccount(id)}`;
          expect(state?.status ?? 'active').toBe(account?.status);
        }
        for (const id of payments) {
          const state = await received(publicId('payment', id));
          const [row] = await books.sql`SELECT amount_received FROM payments WHERE id = ${id}`;
          expect(state?.amountReceived ?? 0).toBe(row?.amountReceived);
        }
        const tests = actions.filter(({ kind }) => kind === 'test event').length;
        await received(ofEndpoint);
        expect(await eventsOf(ofEndpoint)).toHaveLength(before.length + tests);
      },
    ),
    { numRuns: 15, endOnFailure: true }, // a race does not shrink
  );
}, 120_000);

test('a movement that has not locked the resource of its event is a conflict, and is posted when it is repeated', async () => {
  const resource = publicId('payment', newUuid());
  const post = async (journal: Journal): Promise<void> => {
    const movement: Movement = { book: books.book, events: [newEvent('payment.settled', resource, {})] };
    while ((await journal.post(movement)).outcome === 'conflict');
  };
  await Promise.all(Array.from({ length: 30 }, (_, index) => post(processes[index % 3] as Journal)));
  expect((await eventsOf(resource)).map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 30 }, (_, index) => index + 1),
  );
});

test('the events of transfers have the sequence 1, each of another resource', async () => {
  const resources = [1, 2, 3].map(() => publicId('transfer', newUuid()));
  const outcomes = await Promise.all(
    resources.map((resource) =>
      books.journal.post({ book: books.book, events: [newEvent('transfer.completed', resource, {})] }),
    ),
  );
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['posted', 'posted', 'posted']);
  for (const resource of resources) expect((await eventsOf(resource)).map(({ sequence }) => sequence)).toEqual([1]);
});
