// Claiming outbox messages: urgent ones apart from the others, and those of the organisations in turns.
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { Sql } from '../../src/database/pool.ts';
import { ALL_ORGANISATIONS, newUuid, type Uuid } from '../../src/ids.ts';
import type { Book, Environment } from '../../src/money.ts';
import { enqueue } from '../../src/resources/outbox.ts';
import { FLOW_TOPIC, type FlowMessage, SCHEDULED_TOPIC, toOutbox } from '../../src/workflows/flows.ts';
import * as workflows from '../../src/workflows/index.ts';
import type { FlowType } from '../../src/workflows/priority.ts';
import { openBooks } from '../ledger/books.ts';

const [URGENT, NOT_URGENT] = [1, 2] as const;

/** Sorted, as their turns come. */
let organisations: [Uuid, Uuid, Uuid];

const books = await openBooks();

afterAll(() => books.close());

beforeEach(async () => {
  await books.owner`DELETE FROM outbox`;
  organisations = [newUuid(), newUuid(), newUuid()].toSorted() as [Uuid, Uuid, Uuid];
});

interface Claimed {
  organisationId: Uuid;
  environment: Environment;
  message: { number: number };
  attempts: number;
}

interface More {
  urgent?: true;
  environment?: Environment;
  topic?: string;
  dueIn?: string;
}

/** Writes messages with the numbers from 1. */
const queue = (organisationId: Uuid, count: number, more: More = {}) => {
  const { urgent, environment = 'test', topic = 'flow', dueIn = '-1 s' } = more;
  return books.owner`
    INSERT INTO outbox (organisation_id, environment, topic, message, available_at)
    SELECT ${organisationId}, ${environment}, ${topic}, jsonb_build_object('number', n)
           || ${urgent === true ? '{"urgent":true}' : '{}'}::text::jsonb, now() + ${dueIn}::interval
    FROM generate_series(1, ${count}::int) AS n`;
};

const claim = async (
  room: number,
  {
    after = null,
    environment = 'test',
    priority = NOT_URGENT,
    topic = FLOW_TOPIC,
    sql = books.sql,
  }: { after?: Uuid | null; environment?: Environment; priority?: number; topic?: string; sql?: Sql } = {},
): Promise<Claimed[]> => [
  ...(await sql<Claimed[]>`
    SELECT organisation_id, environment, message, attempts
    FROM ledger.claim_messages(${topic}, ${priority}, ${after}, ${environment}, ${room}, 60)`),
];

/** The organisations of the messages as letters, in the order of their turns; capital ones for live messages. */
const ownersOf = (claimed: readonly Claimed[]): string =>
  claimed
    .map(({ organisationId, environment }) => {
      const letter = 'abc'.charAt(organisations.indexOf(organisationId));
      return environment === 'live' ? letter.toUpperCase() : letter;
    })
    .join('');

test('messages are claimed oldest first, once, and again when the lease has ended', async () => {
  const [a] = organisations;
  await queue(a, 3);
  await queue(a, 1, { dueIn: '60 s' });
  await queue(a, 1, { topic: 'event' });
  const numbers = (claimed: readonly Claimed[]) => new Set(claimed.map(({ message }) => message.number));
  expect(numbers(await claim(2))).toEqual(new Set([1, 2]));
  expect(numbers(await claim(2))).toEqual(new Set([3]));
  expect(await claim(2)).toEqual([]);
  // A millisecond ago, because the column rounds to milliseconds: up, half of the time.
  await books.owner`UPDATE outbox SET available_at = now() - interval '1 ms' WHERE attempts > 0`;
  expect((await claim(10)).map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
});

const SIGNAL = { name: 'any', payload: null };
const FLOWS = (Object.keys(workflows) as FlowType[]).flatMap((workflow) =>
  [{}, { signal: SIGNAL }, { allowRestart: true as const }, { signal: SIGNAL, allowRestart: true as const }].map(
    (more): [string, FlowMessage] => [
      [workflow, ...Object.keys(more)].join(' '),
      { workflow, id: newUuid(), summary: '', state: '', input: { environment: 'test' }, ...more },
    ],
  ),
);

test.each(FLOWS)(
  'a message that is delayed is claimed when it is due, whatever its class: %s',
  async (_name, message) => {
    const [a] = organisations;
    const book: Book = { organisationId: a, environment: 'test' };
    const claimAll = async () =>
      (
        await Promise.all(
          [FLOW_TOPIC, SCHEDULED_TOPIC].flatMap((topic) =>
            [URGENT, NOT_URGENT].map((priority) => claim(10, { priority, topic })),
          ),
        )
      ).flat();
    await enqueue(books.sql, book, toOutbox(message, new Date(Date.now() + 60_000)));
    await books.journal.post({ book, outbox: [toOutbox(message, new Date(Date.now() + 60_000))] });
    expect(await claimAll()).toEqual([]);
    await books.owner`UPDATE outbox SET available_at = now() - interval '1 ms'`;
    expect(await claimAll()).toHaveLength(2);
  },
);

test('organisations share a claim equally, and one with fewer messages leaves its room to the next', async () => {
  const [a, b, c] = organisations;
  await queue(a, 1);
  await queue(b, 100);
  await queue(c, 100);
  expect(ownersOf(await claim(9))).toBe('abbbbcccc');
});

test('organisations take turns: the next claim begins behind the one that had the last turn', async () => {
  const [a, b, c] = organisations;
  for (const organisation of organisations) await queue(organisation, 10);
  expect(ownersOf(await claim(2))).toBe('ab');
  expect(ownersOf(await claim(2, { after: b }))).toBe('ca');
  expect(ownersOf(await claim(2, { after: a }))).toBe('bc');
  expect(ownersOf(await claim(1, { after: c }))).toBe('a');
});

test('a turn in one environment hides no message of the other, wherever the search begins', async () => {
  const [a, b, c] = organisations;
  await queue(b, 2);
  expect(ownersOf(await claim(1, { after: c, environment: 'live' }))).toBe('b');
  expect(ownersOf(await claim(1, { after: c }))).toBe('b');
  await queue(a, 1, { environment: 'live' });
  expect(ownersOf(await claim(1, { after: c, environment: 'live' }))).toBe('A');
  expect(await claim(1, { after: b, environment: 'live' })).toEqual([]);
});

test('a message that belongs to no organisation has its turn too', async () => {
  const [a] = organisations;
  await queue(a, 2);
  await queue(ALL_ORGANISATIONS, 1);
  expect((await claim(2)).map(({ organisationId }) => organisationId)).toEqual([ALL_ORGANISATIONS, a]);
  await queue(ALL_ORGANISATIONS, 1);
  expect((await claim(2, { after: a })).map(({ organisationId }) => organisationId)).toEqual([ALL_ORGANISATIONS, a]);
});

test('urgent messages are claimed apart from the others', async () => {
  const [a, b] = organisations;
  await queue(a, 5);
  await queue(b, 1, { urgent: true });
  expect(ownersOf(await claim(5, { priority: URGENT }))).toBe('b');
  expect(ownersOf(await claim(5))).toBe('aaaaa');
});

test('sandbox messages get the room that live ones leave, also those of the same organisation', async () => {
  const [a, b, c] = organisations;
  await queue(a, 100);
  await queue(b, 100);
  for (const organisation of [a, c]) await queue(organisation, 3, { environment: 'live' });
  expect(ownersOf(await claim(4))).toBe('AACC');
  // The turns of one environment do not depend on those of the other.
  expect(ownersOf(await claim(4, { after: a, environment: 'live' }))).toBe('CAab');
  expect(ownersOf(await claim(3, { after: a }))).toBe('bba');
});

test('concurrent relays claim different messages', async () => {
  const [a] = organisations;
  await queue(a, 40);
  const others = Array.from({ length: 4 }, () => books.anotherPool());
  const claims = await Promise.all(others.map((sql) => claim(10, { sql })));
  const numbers = claims.flat().map(({ message }) => message.number);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.length).toBeGreaterThan(0);
});

// A plan made while the table was empty stays cached, whether vacuum could give its pages back or not.
test.each(['true', 'false'])(
  'a claim reads only what it takes, also after the table was empty, TRUNCATE %s',
  async (truncate) => {
    const [a, b, c] = organisations;
    const one = await books.anotherPool().reserve();
    const read = async (): Promise<number> => {
      await one`SELECT pg_stat_force_next_flush()`;
      const [row] = await books.owner<{ rows: number }[]>`
      SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_all_tables WHERE relid = 'outbox'::regclass`;
      return row?.rows ?? Number.NaN;
    };
    await queue(a, 5_000);
    await books.owner`DELETE FROM outbox`;
    await books.owner.unsafe(`VACUUM (ANALYZE, TRUNCATE ${truncate}) outbox`);
    for (let run = 0; run < 8; run += 1) await claim(1, { sql: one });
    await queue(a, 5_000);
    await queue(b, 5_000, { topic: 'event' });
    await queue(b, 5_000, { dueIn: '60 s' });
    await queue(c, 5_000, { environment: 'live', dueIn: '60 s' });
    await queue(c, 1);
    const before = await read();
    expect(ownersOf(await claim(4, { sql: one }))).toBe('aac');
    expect((await read()) - before).toBeLessThan(40);
    one.release();
  },
);
