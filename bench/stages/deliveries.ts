// Webhook deliveries a second to an endpoint that responds: alone in its book, and beside one that is dead and gets the
// same events. Each turn commits events and waits until all of them were received.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { freePort } from '../../dev/freePort.ts';
import { createAuthorization, startBenchApi, startBenchTemporal, startBenchWorker } from '../api.ts';
import { analyse, type BenchBook, newTransfer, openBook, pickPair } from '../book.ts';
import { measureInterleaved, percentile, ratio, type Sample } from '../measure.ts';
import type { Stage } from '../stage.ts';

const WALLETS = 100;
const ALONE = 'deliveries to an endpoint that responds, alone';
const BESIDE_DEAD = 'deliveries to an endpoint that responds, beside a dead one';

export const deliveries: Stage = {
  name: 'deliveries',
  title:
    'Webhook deliveries from the commit of an event to its receiver; a dead endpoint has refused connections for an hour.',
  run: async (bench) => {
    const events = bench.quick ? 200 : 2_000;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const url = await bench.createDatabase('books');
    const books = await Promise.all(
      ['Alone', 'Beside a dead endpoint'].map((name) => openBook(url, { name, wallets: WALLETS })),
    );
    const receiver = await startReceiver();
    try {
      const [alone, beside] = books as [BenchBook, BenchBook];
      const allowed = { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox' };
      const api = await startBenchApi(bench.supervisor, alone, temporal, 'api', allowed);
      await startBenchWorker(bench.supervisor, api, temporal);
      const dead = `http://127.0.0.1:${await freePort()}/`;
      const authorization = await createAuthorization(beside);
      await addEndpoint(api.url, api.authorization, receiver.url);
      await addEndpoint(api.url, authorization, receiver.url);
      await addEndpoint(api.url, authorization, dead);
      for (const book of books) await deliver(book, receiver, events);
      await beside.sql`UPDATE webhook_endpoints SET failing_since = now() - interval '1 hour' WHERE url = ${dead}`;
      await analyse(url);
      const measured = await measureInterleaved(
        [
          { name: ALONE, unit: 'deliveries/s', measure: () => deliver(alone, receiver, events) },
          { name: BESIDE_DEAD, unit: 'deliveries/s', measure: () => deliver(beside, receiver, events) },
        ],
        bench.quick ? 1 : 9,
        bench.say,
      );
      return {
        measured,
        goals: [{ text: 'beside a dead endpoint ÷ alone', atLeast: 0.9, got: ratio(measured, BESIDE_DEAD, ALONE) }],
        plots: [],
        notes: [],
      };
    } finally {
      receiver.close();
      await Promise.all(books.map((book) => book.close()));
    }
  },
};

interface Receiver {
  url: string;
  /** Resolves when this many more requests have come, with the time of each. */
  next: (count: number) => Promise<number[]>;
  close: () => void;
}

async function startReceiver(): Promise<Receiver> {
  let receive = (): void => {};
  const server = createServer((incoming, response) => {
    incoming.resume().once('end', () => {
      response.end();
      receive();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: (count) =>
      new Promise((resolve) => {
        const times: number[] = [];
        receive = () => {
          times.push(performance.now());
          if (times.length === count) resolve(times);
        };
      }),
    close: () => server.close(),
  };
}

async function addEndpoint(apiUrl: string, authorization: string, url: string): Promise<void> {
  const { statusCode, body } = await request(`${apiUrl}/webhook-endpoints`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ url, eventTypes: ['transfer.completed'] }),
  });
  const text = await body.text();
  if (statusCode !== 201) throw new Error(`an endpoint was not registered: ${statusCode} ${text}`);
}

/** Commits transfers at once, each with an event, and counts from then on. */
async function deliver(book: BenchBook, receiver: Receiver, events: number): Promise<Sample> {
  const received = receiver.next(events);
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: events }, () => {
      const { source, destination } = pickPair(book, 'uniform');
      return book.journal.post(newTransfer(book.book, source, destination));
    }),
  );
  const times = await received;
  return {
    value: events / (((times.at(-1) ?? Number.NaN) - startedAt) / 1_000),
    details: { 'first half, s': (percentile(times, 0.5) - startedAt) / 1_000 },
  };
}
